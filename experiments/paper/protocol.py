"""The paper's protocol: splits, point prediction, and measurement of intervals.

40% of the rows fit the point prediction (nearest neighbours on at most 1000 of them), 40% train the localizer, 20%
test. X is standardised and y is divided by mean |y|, both computed on the first part. Sizes are half-widths. Each test
row is calibrated with all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsRegressor

from widthwise import evaluate_intervals

Floats = NDArray[np.float64]
FitModel = Callable[[Floats, Floats], Any]  # X, y -> a model with predict

ALPHAS = ("0.05", "0.1", "0.32")  # decimals, so that ranks are exact
LEVELS = [float(alpha) for alpha in ALPHAS]  # as in the records
NEIGHBOURS = (2, 4, 8, 16, 32)
MODEL_ROWS = 1000


class Rows(NamedTuple):
    """Rows with outcomes and the predictions of a model that has not seen them."""

    X: Floats
    y: Floats
    f: Floats

    @property
    def residuals(self) -> Floats:
        return np.abs(self.y - self.f)

    def first(self, count: int | None) -> Rows:
        return Rows(self.X[:count], self.y[:count], self.f[:count])


@dataclass(frozen=True)
class Parts:
    """The data of one run."""

    localizer: Rows
    test: Rows
    test_rows: NDArray[np.int64]  # their numbers in the data set
    model: Any  # the point prediction


def split(X: Floats, y: Floats, run: int, fit_model: FitModel | None = None) -> Parts:
    """Split, scale and predict; all random choices depend only on the number of the run."""
    order = np.random.default_rng(run).permutation(len(X))
    proper, localizer, test = np.split(order, [int(0.4 * len(X)), int(0.8 * len(X))])
    deviations = X[proper].std(axis=0)
    X = (X - X[proper].mean(axis=0)) / np.where(deviations == 0, 1, deviations)
    y = y / np.abs(y[proper]).mean()

    proper = proper[:MODEL_ROWS]
    model = (fit_model or nearest_neighbours)(X[proper], y[proper])
    parts = [Rows(X[rows], y[rows], model.predict(X[rows]).astype(float)) for rows in (localizer, test)]
    return Parts(*parts, test, model)


def nearest_neighbours(X: Floats, y: Floats) -> KNeighborsRegressor:
    """The paper's point prediction."""
    return KNeighborsRegressor(choose_neighbours(X, y)).fit(X, y)


def choose_neighbours(X: Floats, y: Floats) -> int:
    """The number of neighbours with the smallest squared error on the last fifth of the rows."""
    cut = int(0.8 * len(X))

    def error(neighbours: int) -> float:
        model = KNeighborsRegressor(neighbours).fit(X[:cut], y[:cut])
        return float(np.mean((model.predict(X[cut:]) - y[cut:]) ** 2))

    return min((count for count in NEIGHBOURS if count <= cut), key=error)


def rank(rows: int, alpha: str) -> int:
    """The rank of the conformal quantile, ceil((rows + 1)(1 - alpha)), computed exactly."""
    return math.ceil((rows + 1) * (1 - Fraction(alpha)))


class Fitted(Protocol):
    """A fitted method."""

    def scores(self, rows: Rows) -> Floats:
        """Scores of rows with outcomes, of shape (n,)."""
        ...

    def half_widths(self, rows: Rows, scores: Floats) -> Floats:
        """The half-width of each row for each of m scores, of shape (n, m)."""
        ...


class Measured(NamedTuple):
    size: float
    coverage: float


def kth_of_the_others(scores: Floats, k: int) -> tuple[Floats, NDArray[np.bool_]]:
    """The two possible values of the k-th smallest score of the other rows, and which rows have the second.

    The value is the k-th smallest of all scores, or the next one for rows that are themselves among the first k.
    """
    ordered = np.append(np.sort(scores), math.inf)
    return ordered[k - 1 : k + 1], scores <= ordered[k - 1]


class Evaluation:
    """Measures a fitted method on test rows."""

    def __init__(self, fitted: Fitted, test: Rows) -> None:
        self._fitted = fitted
        self._test = test
        self._scores = fitted.scores(test)

    def half_widths(self, alpha: str) -> Floats:
        """The half-width of each row when calibrated with all others, in O(n log n)."""
        pair, is_next = kth_of_the_others(self._scores, rank(len(self._scores) - 1, alpha))
        both = self._fitted.half_widths(self._test, pair)
        return np.where(is_next, both[:, 1], both[:, 0])

    def leave_one_out(self, alpha: str) -> Measured:
        """Mean half-width and coverage when each row is calibrated with all others."""
        mine = self.half_widths(alpha)
        return Measured(float(mine.mean()), float((self._test.residuals <= mine).mean()))

    def worst_slab(self, alpha: str) -> float:
        """Coverage in the worst slab, found on one half of the rows and measured on the other; NaN for few rows."""
        level, mine = float(1 - Fraction(alpha)), self.half_widths(alpha)
        intervals = np.stack([self._test.f - mine, self._test.f + mine], axis=1)
        found = evaluate_intervals(
            intervals, self._test.y, confidence_level=level, calibration_rows=len(mine) - 1, X=self._test.X
        )
        slab = found["levels"][0]["worst_slab"]
        return slab["coverage"]["share"] if slab else math.nan

    def coverage_of_halves(self, alpha: str) -> float:
        """Mean coverage of both halves, each calibrated with the other."""
        half = np.arange(len(self._scores)) < len(self._scores) // 2
        covered = np.empty(len(self._scores), dtype=bool)
        for calibrating in (half, ~half):
            ordered = np.append(np.sort(self._scores[calibrating]), math.inf)
            k = min(rank(len(ordered) - 1, alpha), len(ordered))
            theirs = self._fitted.half_widths(self._test, ordered[k - 1 : k])[:, 0]
            covered[~calibrating] = (self._test.residuals <= theirs)[~calibrating]
        return float(covered.mean())
