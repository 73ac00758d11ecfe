"""crepes: normalised and Mondrian conformal regressors."""

from __future__ import annotations

import numpy as np
from crepes import ConformalRegressor
from crepes.extras import DifficultyEstimator, MondrianCategorizer
from joblib import parallel_config

from ..protocol import LEVELS, Floats, Split
from .scores import error_model


def crepes_intervals(split: Split, difficulty: DifficultyEstimator, bins: MondrianCategorizer | None = None) -> Floats:
    """Calibrate crepes with normalisation by difficulty, or with bins of difficulty."""

    def about(X: Floats) -> dict[str, Floats]:
        return {"bins": bins.apply(X)} if bins else {"sigmas": difficulty.apply(X)}

    regressor = ConformalRegressor().fit(split.y_cal - split.f_cal, **about(split.X_cal))
    told = about(split.X_test)
    return np.stack([regressor.predict_int(split.f_test, confidence=level, **told) for level in LEVELS], axis=2)


def crepes_neighbours(split: Split) -> Floats:
    """crepes with its defaults: normalised by the mean out-of-fold error of the 25 nearest fitting rows.

    crepes scales every column to [0, 1] before it searches neighbours, so that their units do not matter.
    """
    with parallel_config(backend="sequential"):  # crepes uses all cores by default
        difficulty = DifficultyEstimator().fit(split.X_fit, residuals=split.y_fit - split.oof)
        return crepes_intervals(split, difficulty)


def crepes_residual(split: Split) -> Floats:
    """crepes, normalised by a model of out-of-fold errors in units of their mean, because crepes adds 0.01.

    An example of its documentation scales the estimates to [0, 1]. The smallest ones then become a hundredth of the
    largest, and intervals are wider than those of one width on small data sets (NOTES.md).
    """
    errors, unit = error_model(split), np.abs(split.y_fit - split.oof).mean()
    difficulty = DifficultyEstimator().fit(split.X_fit, f=lambda X: errors.predict(X) / unit)
    return crepes_intervals(split, difficulty)


def crepes_mondrian(split: Split) -> Floats:
    """crepes with constant width in each of ten difficulty bins, made from the calibration rows as documented.

    There are fewer bins if they would hold less than 50 rows.
    """
    np.random.seed(split.seed)  # crepes breaks ties with it
    difficulty = DifficultyEstimator().fit(split.X_fit, f=error_model(split).predict, scaler=True)
    number = max(1, min(10, len(split.y_cal) // 50))
    return crepes_intervals(split, difficulty, MondrianCategorizer().fit(split.X_cal, de=difficulty, no_bins=number))
