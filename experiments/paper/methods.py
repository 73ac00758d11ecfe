"""The methods of the table: each trains on the localizer's rows and computes scores and half-widths of test rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from widthwise import Localizer

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
    """A symmetric localizer of the package, or a mean of several. Its inputs are x and f(x)."""

    def __init__(self, localizer: Localizer | MeanLocalizer) -> None:
        self.localizer = localizer

    def scores(self, rows: Rows) -> Floats:
        return self.localizer.scores(rows.X, rows.y, rows.f)

    def half_widths(self, rows: Rows, scores: Floats) -> Floats:
        return self.localizer.half_widths(rows.X, rows.f, scores)[1]


SCALES = ("erc", "linear", "exp", "sigma")  # transforms that only rescale, for which any goal exists


def fit_localizer(rows: Rows, transform: str, localizer: str, seed: int) -> Localized:
    """Train trees or a net on l_all, the mean width over all levels."""
    trained = Localizer(
        goal=0.0 if transform in SCALES else "narrow",
        score_transform=transform,
        level_window="all",
        two_sided=False,
        localizer=localizer,
        random_state=seed,
        n_jobs=1,
    )
    return Localized(trained.fit(rows.X, rows.y, rows.f))


Method = Callable[[Rows, int], Fitted]


def _trained(transform: str, localizer: str, max_rows: int | None = None) -> Method:
    return lambda rows, seed: fit_localizer(rows.first(max_rows), transform, localizer, seed)


PAPER: dict[str, Method] = {
    "erc (error fit)": lambda rows, seed: Localized(nets.fit_errors(rows.first(PAPER_NET_ROWS), seed)),
    **{transform: _trained(transform, "paper-net", PAPER_NET_ROWS) for transform in SCALES},
    "fixed": lambda rows, seed: Fixed(),
}
FUTURE: dict[str, Method] = {"mixture": _trained("mixture", "paper-net", MIXTURE_ROWS)}
OURS: dict[str, Method] = {
    f"{transform}, {localizer}": _trained(transform, localizer)
    for localizer in ("net", "trees")
    for transform in ("density", "affine")
}
METHODS = PAPER | FUTURE | OURS

# The mean of two methods, without further training.
MEAN = "affine, trees and net"
MEAN_OF = ("affine, trees", "affine, net")


def mean_of(fitted: list[Localized], rows: Rows) -> Localized:
    """The mean of the localizers fitted on these rows."""
    return Localized(MeanLocalizer([one.localizer for one in fitted], rows.X, rows.y, rows.f))


# Methods of the quick form: the paper's, and those that train in seconds.
QUICK = (*PAPER, "density, trees", "affine, trees")


def seed_of(method: str, run: int) -> int:
    """A separate seed per method: with one seed, linear, exp and sigma would give identical results."""
    return run * len(METHODS) + list(METHODS).index(method)
