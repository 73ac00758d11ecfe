"""The paper's network for losses that the package does not train by itself: the error fit, and the authors' losses.

The recipe is that of `localizer="paper-net"`: five hidden layers of 100, Adam at 1e-4, batches of 16. A fifth of the
rows selects the epoch with the narrowest intervals, and the net is retrained on all rows for that many epochs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from widthwise import Localizer
from widthwise.torch import ErrorLoss, WidthLoss

from .protocol import Floats, Rows

LAYERS, WIDTH, BATCH, LEARNING_RATE, EPOCHS, PATIENCE, HOLD_OUT = 5, 100, 16, 1e-4, 60, 20, 0.2

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # outputs (n, 1), residuals (n,) -> loss


class Net(torch.nn.Module):
    """Map x and f(x) to g, initially near `start`; with `normalised`, to g(x) / g(0) as in the authors' code."""

    def __init__(self, inputs: int, start: float = 0, normalised: bool = False) -> None:
        super().__init__()
        sizes = [inputs, *[WIDTH] * LAYERS]
        hidden = [
            part
            for before, after in itertools.pairwise(sizes)
            for part in (torch.nn.Linear(before, after), torch.nn.ReLU())
        ]
        self.layers = torch.nn.Sequential(*hidden, torch.nn.Linear(WIDTH, 1))
        with torch.no_grad():
            self.layers[-1].bias += start
        self.normalised = normalised

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        g = self.layers(x)
        return g / self.layers(torch.zeros_like(x[:1])) if self.normalised else g


class Recipe(NamedTuple):
    """What an ablation varies."""

    epochs: int = EPOCHS
    prediction: bool = True  # f(x) is an input
    scaling: str = "deviation"
    bound: float = math.inf  # of scaled inputs
    start: float = 0
    normalised: bool = False


PAPER = Recipe()

# Centre and scale of the inputs, from the columns of the training rows.
SCALINGS: dict[str, Callable[[Floats], tuple[Floats, Floats]]] = {
    "deviation": lambda columns: (columns.mean(axis=0), columns.std(axis=0)),
    "range": lambda columns: (columns.min(axis=0), np.ptp(columns, axis=0)),
    "none": lambda columns: (np.zeros(columns.shape[1]), np.ones(columns.shape[1])),
}


class FittedNet:
    """A trained net with the transform that uses its outputs."""

    def __init__(self, net: Net, width: WidthLoss, centre: Floats, scale: Floats, recipe: Recipe) -> None:
        self._net, self._width, self._centre, self._scale, self._recipe = net, width, centre, scale, recipe

    def parameters(self, rows: Rows) -> torch.Tensor:
        with torch.no_grad():
            return self._net(_scaled(_columns(rows, self._recipe), self._centre, self._scale, self._recipe))

    def scores(self, rows: Rows) -> Floats:
        return self._width.scores(self.parameters(rows), rows.residuals).numpy()

    def half_widths(self, rows: Rows, scores: Floats) -> Floats:
        return self._width.half_widths(self.parameters(rows), scores)[1].numpy()

    def localizer(self, rows: Rows) -> Localizer:
        """The net as a localizer of the package, for inputs without a bound; `rows` trained it."""
        return Localizer.from_torch(
            self._net.layers, self._width, rows.X, rows.y, rows.f, centre=self._centre, scale=self._scale
        )


def _columns(rows: Rows, recipe: Recipe) -> Floats:
    return np.column_stack([rows.X, rows.f]) if recipe.prediction else rows.X


def _scaled(columns: Floats, centre: Floats, scale: Floats, recipe: Recipe) -> torch.Tensor:
    return torch.tensor(np.clip((columns - centre) / scale, -recipe.bound, recipe.bound), dtype=torch.float32)


def fit(rows: Rows, loss: Loss, transform: str, seed: int, recipe: Recipe = PAPER) -> FittedNet:
    """Train with any loss; the narrowest intervals on the hold-out select the number of epochs."""
    columns = _columns(rows, recipe)
    centre, scale = SCALINGS[recipe.scaling](columns)
    scale[scale == 0] = 1
    width = WidthLoss(0.0, transform, unit=float(rows.residuals.mean()))
    x = _scaled(columns, centre, scale, recipe)
    residuals = torch.tensor(rows.residuals / width.unit, dtype=torch.float32)
    random = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(x), generator=random)
    hold, train = order[: int(HOLD_OUT * len(x))], order[int(HOLD_OUT * len(x)) :]

    def epochs(chosen: torch.Tensor, count: int, after: Callable[[Net], bool]) -> Net:
        torch.manual_seed(seed)
        net = Net(x.shape[1], recipe.start, recipe.normalised)
        optimiser = torch.optim.Adam(net.parameters(), LEARNING_RATE, fused=True)
        for _ in range(count):
            shuffled = chosen[torch.randperm(len(chosen), generator=random)]
            for batch in shuffled.split(BATCH):
                optimiser.zero_grad()
                loss(net(x[batch]), residuals[batch]).backward()
                optimiser.step()
            if not after(net):
                break
        return net

    sizes: list[float] = []

    def watch(net: Net) -> bool:
        with torch.no_grad():
            sizes.append(float(width(net(x[hold]), rows.residuals[hold])))
        return len(sizes) - 1 - int(np.argmin(sizes)) < PATIENCE

    epochs(train, recipe.epochs, watch)
    net = epochs(order, int(np.argmin(sizes)) + 1, lambda net: True)
    return FittedNet(net, width, centre, scale, recipe)


def fit_errors(rows: Rows, seed: int) -> Localizer:
    """The row `erc (error fit)`: g^2 is fitted to the squared error, so that A / (g^2 + gamma) is about constant.

    Residuals are scaled to about 1, and g starts near 1. At g = 0, g^2 has no slope, and training would not start.
    """
    return fit(rows, ErrorLoss(), "erc", seed, Recipe(start=1)).localizer(rows)
