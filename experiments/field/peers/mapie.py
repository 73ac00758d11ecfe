"""MAPIE: constant width, residual-normalised scores and conformalized quantile regression."""

from __future__ import annotations

import numpy as np
from lightgbm import LGBMRegressor
from mapie.conformity_scores import ResidualNormalisedScore
from mapie.regression import ConformalizedQuantileRegressor, SplitConformalRegressor
from sklearn.compose import TransformedTargetRegressor

from ..protocol import LEVELS, Floats, Split
from .scores import stopped_trees


def mapie_absolute(split: Split) -> Floats:
    """MAPIE's split conformal regressor around the fitted base model: constant width."""
    mapie = SplitConformalRegressor(split.base, LEVELS, conformity_score="absolute", prefit=True)
    mapie.conformalize(split.X_cal, split.y_cal)
    return mapie.predict_interval(split.X_test)[1]


def mapie_residual(split: Split) -> Floats:
    """MAPIE's residual-normalised score. Its residual model is fitted beforehand, on the log of out-of-fold errors.

    MAPIE would fit it on a quarter of the calibration rows. Errors are clipped from below at a thousandth of their
    mean, because the log would exaggerate smaller ones.
    """
    errors = np.abs(split.y_fit - split.oof)
    errors = np.maximum(errors, 1e-3 * errors.mean())
    trees = stopped_trees(split.X_fit, np.log(errors), split.seed, "squared_error")
    residual_model = TransformedTargetRegressor(trees, func=np.log, inverse_func=np.exp, check_inverse=False)
    residual_model.fit(split.X_fit, errors)
    score = ResidualNormalisedScore(residual_estimator=residual_model, prefit=True)
    mapie = SplitConformalRegressor(split.base, LEVELS, conformity_score=score, prefit=True)
    mapie.conformalize(split.X_cal, split.y_cal)
    return mapie.predict_interval(split.X_test)[1]


def mapie_cqr(split: Split) -> Floats:
    """MAPIE's conformalized quantile regressor with LightGBM, as in its examples, with separately corrected sides."""

    def fitted(quantile: float) -> LGBMRegressor:
        model = LGBMRegressor(objective="quantile", alpha=quantile, n_jobs=1, verbose=-1, random_state=split.seed)
        return model.fit(split.X_fit, split.y_fit)

    median = fitted(0.5)
    intervals = []
    for level in LEVELS:
        models = [fitted((1 - level) / 2), fitted((1 + level) / 2), median]
        mapie = ConformalizedQuantileRegressor(models, confidence_level=level, prefit=True)
        mapie.conformalize(split.X_cal, split.y_cal)
        intervals.append(mapie.predict_interval(split.X_test)[1])
    return np.concatenate(intervals, axis=2)
