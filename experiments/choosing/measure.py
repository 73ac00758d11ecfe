"""The figures of docs/choosing.md that are in no suite."""

from __future__ import annotations

from typing import Any

import numpy as np

from widthwise import Localizer, Predictor, evaluate_intervals

from .. import data
from ..field.protocol import make_split
from ..records import Record, mean, standard_error

LEVEL, CONFIDENCE = 0.9, 0.95
SIZES = (50, 100, 200, 500, 1000, 2000)
CALIBRATIONS = 200
RUNS = 20
TEST_ROWS = 2000


def guarantee() -> list[Record]:
    """How much wider intervals of house sales are with the training-conditional guarantee, by calibration rows."""
    split = make_split(data.load("homes"), 0)
    localizer = Localizer(random_state=0, n_jobs=1)
    localizer.fit(split.X_fit, split.y_fit, y_pred_cv=split.oof)
    X = np.concatenate([split.X_cal, split.X_test])
    y = np.concatenate([split.y_cal, split.y_test])
    f = np.concatenate([split.f_cal, split.f_test])
    rng = np.random.default_rng(0)
    found = []
    for rows in (*SIZES, 5000):
        widths: dict[Any, list[float]] = {"marginal": [], CONFIDENCE: []}
        for _ in range(CALIBRATIONS):
            order = rng.permutation(len(y))
            cal, new = order[:rows], order[rows : rows + TEST_ROWS]
            predictor = Predictor(localizer, localizer.calibrate(X[cal], y[cal], f[cal]))
            for kind, measured in widths.items():
                _, intervals = predictor.with_guarantee(kind).predict_interval(X[new], f[new], confidence_level=LEVEL)
                measured.append(float(np.diff(intervals, axis=1).mean()))
        found.append({"rows": rows, "widening": mean(widths[CONFIDENCE]) / mean(widths["marginal"]) - 1})
    return found


def learnt_widths() -> list[Record]:
    """The interval score of the default divided by that of one width, by rows, for equal and for unequal errors."""
    found = []
    for spread in (0, 1):
        for rows in SIZES:
            ratios = [score_ratio(np.random.default_rng([rows, run]), rows, spread) for run in range(RUNS)]
            found.append(
                {"spread": spread, "rows": rows, "score": mean(ratios), "standard_error": standard_error(ratios)}
            )
    return found


def score_ratio(rng: np.random.Generator, rows: int, spread: float) -> float:
    """One run around a correct base model. A quarter of the rows calibrates.

    The log of the standard deviation of the errors is `spread` times the first of five features in [-1, 1].
    """
    X = rng.uniform(-1, 1, (rows + TEST_ROWS, 5))
    y = np.exp(spread * X[:, 0]) * rng.standard_normal(len(X))
    f = np.zeros(len(X))
    fit, cal, new = np.split(np.arange(len(X)), [rows - rows // 4, rows])
    scores = []
    for transform in ("auto", "identity"):
        localizer = Localizer(score_transform=transform, random_state=0, n_jobs=1)
        localizer.fit(X[fit], y[fit], y_pred_cv=f[fit])
        predictor = Predictor(localizer, localizer.calibrate(X[cal], y[cal], f[cal]))
        _, intervals = predictor.predict_interval(X[new], f[new], confidence_level=LEVEL)
        about = evaluate_intervals(intervals[:, :, 0], y[new], confidence_level=LEVEL, calibration_rows=len(cal))
        scores.append(about["levels"][0]["interval_score"])
    return float(scores[0] / scores[1])
