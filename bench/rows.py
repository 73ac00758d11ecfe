"""Rows and predictors for the benchmarks from Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from widthwise import Localizer, Predictor

FIT_ROWS = 5000
CALIBRATION_ROWS = 10_000


class Rows:
    """Rows whose first feature is the prediction, and whose errors grow with the second."""

    def __init__(self, rows: int, features: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(rows, features))
        self.f = np.ascontiguousarray(self.X[:, 0])
        self.y = self.f + np.exp(0.5 * self.X[:, 1]) * rng.normal(size=rows)


def predictor(transform: str, features: int, **options: Any) -> Predictor:
    """A predictor with a transform, trained and calibrated on rows of its own."""
    fit, calibration = Rows(FIT_ROWS, features, 1), Rows(CALIBRATION_ROWS, features, 2)
    localizer = Localizer(score_transform=transform, random_state=0, n_jobs=1, **options)
    localizer.fit(fit.X, fit.y, y_pred_cv=fit.f)
    return Predictor(localizer, localizer.calibrate(calibration.X, calibration.y, calibration.f))
