"""Conformal steps that several peers share: models of the error, scaled and quantile scores."""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from widthwise import Calibration

from ..protocol import LEVELS, Floats, Split

MAX_ROUNDS = 400


def stopped_trees(
    X: Floats, y: Floats, seed: int, loss: Literal["poisson", "squared_error"]
) -> HistGradientBoostingRegressor:
    """Boosted trees, not fitted yet, with the number of rounds at which training stops on a fifth of the rows.

    scikit-learn's defaults do not stop early below 10,000 rows, where 100 rounds overfit errors.
    """
    model = HistGradientBoostingRegressor(loss=loss, learning_rate=0.05, max_depth=5, random_state=seed)
    model.set_params(max_iter=MAX_ROUNDS, early_stopping=True, validation_fraction=0.2)
    rounds = model.fit(X, y).n_iter_
    return model.set_params(max_iter=rounds, early_stopping=False)


def error_model(split: Split) -> HistGradientBoostingRegressor:
    """A model of absolute errors, fitted on out-of-fold errors; the Poisson loss keeps them positive."""
    errors = np.abs(split.y_fit - split.oof)
    return stopped_trees(split.X_fit, errors, split.seed, "poisson").fit(split.X_fit, errors)


def conformalized_quantiles(cal: Floats, y_cal: Floats, test: Floats) -> Floats:
    """Correct quantiles (rows, 2 levels) with the score of conformalized quantile regression, level by level."""
    intervals = []
    for j, level in enumerate(LEVELS):
        lower, upper = cal[:, 2 * j], cal[:, 2 * j + 1]
        correction = Calibration().add(np.maximum(lower - y_cal, y_cal - upper)).quantile(level)
        intervals.append(np.stack([test[:, 2 * j] - correction, test[:, 2 * j + 1] + correction], axis=1))
    return np.stack(intervals, axis=2)


def scaled_intervals(split: Split, cal: tuple[Floats, Floats], test: tuple[Floats, Floats]) -> Floats:
    """Intervals with the score |y - mean| / scale; `cal` and `test` are means and scales."""
    calibration = Calibration().add(np.abs(split.y_cal - cal[0]) / cal[1])
    widths = test[1][:, None] * np.array([calibration.quantile(level) for level in LEVELS])
    return np.stack([test[0][:, None] - widths, test[0][:, None] + widths], axis=1)
