"""The methods of the table: each trains on the localizer's rows and computes scores and half-widths of test rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from widthwise import Localizer

from .. import program
from ..averaging import MeanLocalizer
from . import nets
from .protocol import Fitted, Floats, Rows

# The paper trains with steps of 16 rows; on all rows of the large sets this would dominate the time of the suite.
PAPER_NET_ROWS = 4000
MIXTURE_ROWS = 2000  # runs a root-finder for every pair of a step


class Fixed:
    """Constant width."""

    def scores(self, rows: Rows) -> Floats:
        return rows.residuals

    def half_widths(self, rows: Rows, scores: Floats) -> Floats:
        return np.broadcast_to(scores, (len(rows.y), len(scores)))


class Localized:
    """A one-sided localizer of the package, or a mean of several. Its inputs are x and f(x)."""

    def __init__(self, localizer: Localizer | MeanLocalizer) -> None:
        self.localizer = localizer

    def scores(self, rows: Rows) -> Floats:
        return self.localizer.scores(rows.X, rows.y, rows.f)

    def half_widths(self, rows: Rows, scores: Floats) -> Floats:
        return self.localizer.half_widths(rows.X, rows.f, scores)[1]


def fit_net(rows: Rows, transform: str, net: str, seed: int) -> Localized:
    """Train a net on l_all, the mean width over all levels."""
    goal = "0" if transform in ("erc", "linear", "exp", "sigma") else "narrow"
    options = (
        "--score-transform",
        transform,
        "--goal",
        goal,
        "--level-window",
        "all",
        "--one-sided",
        "--localizer",
        net,
    )
    return Localized(program.fit(rows.X, rows.y, rows.f, *options, seed=seed))


def fit_trees(rows: Rows, transform: str, seed: int) -> Localized:
    """Train trees on l_all."""
    localizer = Localizer(
        goal="narrow",
        score_transform=transform,
        level_window="all",
        two_sided=False,
        random_state=seed,
        n_jobs=1,
        compare=False,
    )
    return Localized(localizer.fit(rows.X, rows.y, rows.f))


Method = Callable[[Rows, int], Fitted]


def _paper_net(transform: str, max_rows: int = PAPER_NET_ROWS) -> Method:
    return lambda rows, seed: fit_net(rows.first(max_rows), transform, "paper-net", seed)


def _net(transform: str) -> Method:
    return lambda rows, seed: fit_net(rows, transform, "net", seed)


def _trees(transform: str) -> Method:
    return lambda rows, seed: fit_trees(rows, transform, seed)


PAPER: dict[str, Method] = {
    "erc (error fit)": lambda rows, seed: nets.fit_errors(rows.first(PAPER_NET_ROWS), seed),
    **{transform: _paper_net(transform) for transform in ("erc", "linear", "exp", "sigma")},
    "fixed": lambda rows, seed: Fixed(),
}
FUTURE: dict[str, Method] = {"mixture": _paper_net("mixture", MIXTURE_ROWS)}
OURS: dict[str, Method] = {
    **{f"{transform}, net": _net(transform) for transform in ("density", "affine")},
    **{f"{transform}, trees": _trees(transform) for transform in ("density", "affine")},
}
METHODS = PAPER | FUTURE | OURS

# The mean of two methods, without further training.
MEAN = "affine, trees and net"
MEAN_OF = ("affine, trees", "affine, net")


def mean_of(fitted: list[Localized], rows: Rows) -> Localized:
    """The mean of the localizers fitted on these rows."""
    return Localized(MeanLocalizer([one.localizer for one in fitted], rows.X, rows.y, rows.f))


# Methods that do not need the program; the quick form has only these, because building the program takes long.
WITHOUT_PROGRAM = ("erc (error fit)", "fixed", "density, trees", "affine, trees")


def seed_of(method: str, run: int) -> int:
    """A separate seed per method: with one seed, linear, exp and sigma would give identical results."""
    return run * len(METHODS) + list(METHODS).index(method)
