"""puncc: locally adaptive conformal prediction."""

from __future__ import annotations

import numpy as np
from deel.puncc.api.prediction import MeanVarPredictor
from deel.puncc.regression import LocallyAdaptiveCP

from ..protocol import LEVELS, Floats, Split
from .scores import error_model


def puncc_adaptive(split: Split) -> Floats:
    """puncc's locally adaptive conformal prediction around the base model and a model of its out-of-fold errors.

    Both models are fitted before: puncc would fit the second to in-sample errors of the first.
    """
    predictor = MeanVarPredictor([split.base, error_model(split)], is_trained=[True, True])
    puncc = LocallyAdaptiveCP(predictor, train=False)
    puncc.fit(X_calib=split.X_cal, y_calib=split.y_cal)
    bounds = [puncc.predict(split.X_test, alpha=round(1 - level, 10))[1:] for level in LEVELS]
    return np.stack([np.stack(pair, axis=1) for pair in bounds], axis=2)
