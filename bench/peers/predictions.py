"""Intervals and p-values of rows, with the base model's predictions given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from crepes import ConformalRegressor
from mapie.conformity_scores import ResidualNormalisedScore
from mapie.regression import SplitConformalRegressor
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from xgboost import XGBRegressor

from widthwise import Calibration, Localizer, Predictor

from ..rows import CALIBRATION_ROWS, Rows, predictor
from .task import Other, Sizes, Task

Floats = NDArray[np.float64]
LEVEL = 0.9


class FirstColumn(RegressorMixin, BaseEstimator):
    """A base model that costs nothing: its prediction is the first feature."""

    fitted_ = True

    def fit(self, X: Floats, y: Floats) -> FirstColumn:  # noqa: ARG002
        return self

    def predict(self, X: Floats) -> Floats:
        return X[:, 0]


def mapie(score: Any, features: int, levels: list[float]) -> SplitConformalRegressor:
    cal = Rows(CALIBRATION_ROWS, features, 2)
    return SplitConformalRegressor(FirstColumn(), levels, conformity_score=score, prefit=True).conformalize(
        cal.X, cal.y
    )


def crepes(features: int) -> ConformalRegressor:
    cal = Rows(CALIBRATION_ROWS, features, 2)
    return ConformalRegressor().fit(cal.y - cal.f)


def fill(f: Floats, levels: int) -> Callable[[], Floats]:
    """The least that any method must do: write the bounds."""

    def work() -> Floats:
        out = np.empty((len(f), 2, levels))
        np.subtract(f[:, None], 1.0, out=out[:, 0])
        np.add(f[:, None], 1.0, out=out[:, 1])
        return out

    return work


def constant_width(sizes: Sizes) -> Task:
    rows = Rows(sizes.rows(1_000_000), 10, 3)
    ours, theirs, other = predictor("identity", 10), mapie("absolute", 10, [LEVEL]), crepes(10)

    def check(mine: Any, found: dict[str, Any]) -> None:
        np.testing.assert_allclose(mine[1], found["MAPIE"][1], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mine[1][:, :, 0], found["crepes"], rtol=1e-9, atol=1e-12)

    return Task(
        "constant width, 1e6 rows, 1 level",
        lambda: ours.predict_interval(rows.X, rows.f, confidence_level=LEVEL),
        {
            "crepes": Other(lambda: other.predict_int(rows.f, confidence=LEVEL), 1),
            "MAPIE": Other(lambda: theirs.predict_interval(rows.X)),
            "filling the output": Other(fill(rows.f, 1)),
        },
        check,
    )


def constant_width_levels(sizes: Sizes) -> Task:
    levels = [round(float(level), 2) for level in np.linspace(0.5, 0.95, 10)]
    rows = Rows(sizes.rows(1_000_000), 10, 3)
    ours, theirs = predictor("identity", 10), mapie("absolute", 10, levels)
    return Task(
        "constant width, 1e6 rows, 10 levels",
        lambda: ours.predict_interval(rows.X, rows.f, confidence_level=levels),
        {
            "filling the output": Other(fill(rows.f, 10), 1.5),
            "MAPIE": Other(lambda: theirs.predict_interval(rows.X)),
        },
        lambda mine, found: np.testing.assert_allclose(mine[1], found["MAPIE"][1], rtol=1e-9, atol=1e-12),
    )


def learnt_width(sizes: Sizes) -> Task:
    rows, fit = Rows(sizes.rows(200_000), 10, 3), Rows(5000, 10, 1)
    ours = predictor("exp", 10, goal="even")
    residuals = XGBRegressor(n_estimators=300, max_depth=4, n_jobs=1).fit(fit.X, np.log(np.abs(fit.y - fit.f)))
    exponential = ExpOf(residuals)
    theirs = mapie(ResidualNormalisedScore(residual_estimator=exponential, prefit=True), 10, [LEVEL])
    return Task(
        "learnt widths, 200,000 rows of 10 features, 1 level",
        lambda: ours.predict_interval(rows.X, rows.f, confidence_level=LEVEL),
        {"MAPIE, residual-normalised, 300 trees of XGBoost": Other(lambda: theirs.predict_interval(rows.X), 1 / 30)},
        check=lambda mine, found: similar_coverage(rows, mine[1], next(iter(found.values()))[1]),
        repeats=5,
    )


class ExpOf(RegressorMixin, BaseEstimator):
    """The exponential of a fitted model of log sizes."""

    fitted_ = True

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Floats, y: Floats) -> ExpOf:  # noqa: ARG002
        return self

    def predict(self, X: Floats) -> Floats:
        return np.exp(self.model.predict(X)).astype(float)


def similar_coverage(rows: Rows, *intervals: Floats) -> None:
    """Different models give different intervals; all cover."""
    for bounds in intervals:
        covered = (bounds[:, 0, 0] <= rows.y) & (rows.y <= bounds[:, 1, 0])
        assert abs(covered.mean() - LEVEL) < 0.03, covered.mean()


def groups(sizes: Sizes) -> Task:
    """Calibrate with all rows and predict as many. The scores are absolute residuals in both."""
    n, count = sizes.rows(1_000_000), 1000 if not sizes.quick else 10
    rng = np.random.default_rng(0)
    of_row, of_new = rng.integers(0, count, (2, n))
    f, f_new = rng.normal(size=(2, n))
    residuals = (1 + of_row / count) * rng.normal(size=n)
    x_new = rng.normal(size=(n, 1))
    few = np.arange(200.0)
    localizer = Localizer(score_transform="identity").fit(few[:, None], few + rng.normal(size=200), few)
    scores = np.abs(residuals) / localizer._model.unit

    def ours() -> Floats:
        calibration = Calibration().add(scores, groups=of_row)
        return Predictor(localizer, calibration).predict_interval(x_new, f_new, confidence_level=LEVEL, groups=of_new)[
            1
        ]

    def theirs() -> Floats:
        return ConformalRegressor().fit(residuals, bins=of_row).predict_int(f_new, bins=of_new, confidence=LEVEL)

    def check(mine: Floats, found: dict[str, Floats]) -> None:
        # crepes computes ranks in floating point, so some of its groups have the next smaller score.
        assert np.isclose(mine[:, :, 0], found["crepes"], rtol=1e-9, atol=1e-12).mean() > 0.8, "the intervals differ"

    return Task(f"groups, 1e6 rows, {count:,} groups", ours, {"crepes": Other(theirs, 0.1)}, check, repeats=5)


def p_values(sizes: Sizes) -> Task:
    cal, new = Rows(sizes.rows(100_000), 2, 2), Rows(sizes.rows(5000), 2, 3)
    localizer = Localizer(score_transform="identity", random_state=0).fit(
        cal.X[:500], cal.y[:500], y_pred_cv=cal.f[:500]
    )
    ours = Predictor(localizer, localizer.calibrate(cal.X[500:], cal.y[500:], cal.f[500:]))
    theirs = ConformalRegressor().fit((cal.y - cal.f)[500:])
    return Task(
        "p-values, 5,000 rows against 1e5",
        lambda: ours.predict_p(new.X, new.y, new.f),
        {"crepes": Other(lambda: theirs.predict_p(new.f, new.y, smoothing=False), 1 / 1000)},
        lambda mine, found: np.testing.assert_allclose(mine, np.ravel(found["crepes"]), atol=1e-9),
        repeats=5,
    )


def one_row(sizes: Sizes) -> Task:
    row = Rows(1, 10, 3)
    ours, theirs, other = predictor("exp", 10, goal="even"), mapie("absolute", 10, [LEVEL]), crepes(10)
    return Task(
        "one row from Python, learnt width",
        lambda: ours.predict_interval(row.X, row.f, confidence_level=LEVEL),
        {
            "crepes, constant width": Other(lambda: other.predict_int(row.f, confidence=LEVEL)),
            "MAPIE, constant width": Other(lambda: theirs.predict_interval(row.X)),
        },
        calls=20 if sizes.quick else 500,
    )


def two_sided(sizes: Sizes) -> Task:
    rows = Rows(sizes.rows(1_000_000), 10, 3)
    ours = predictor("affine", 10, goal="narrow", two_sided=True)
    table, given = ours._inputs(rows.X, rows.f)
    return Task(
        "affine, two-sided, 1e6 rows of 10 features",
        lambda: ours.predict_interval(rows.X, rows.f, confidence_level=LEVEL),
        {"its trees alone": Other(lambda: ours._model.parameters(table, given), 1.15)},
        repeats=5,
    )


MAKERS = [constant_width, constant_width_levels, learnt_width, groups, p_values, one_row, two_sided]
