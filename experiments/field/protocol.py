"""The inputs and the measurements of every method of the comparison: the same rows, base model, levels and metrics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, cross_val_predict
from xgboost import XGBRegressor

from widthwise import crps, evaluate_intervals

from ..data import Dataset
from ..records import Record

Floats = NDArray[np.float64]

LEVELS = (0.68, 0.9, 0.95)
# The lower and the upper quantile of the central interval of each level: 0.16, 0.84, 0.05, 0.95, ...
QUANTILES = [round(side, 10) for level in LEVELS for side in ((1 - level) / 2, (1 + level) / 2)]
SLAB_LEVEL = 0.9  # searching a thousand directions takes as long as fitting some methods
SPLITS = 20
FOLDS = 5


@dataclass(frozen=True)
class Split:
    """Fitting, calibration and test rows, with the predictions of the base model."""

    X_fit: Floats
    y_fit: Floats
    oof: Floats  # out-of-fold predictions of the fitting rows
    X_cal: Floats
    y_cal: Floats
    f_cal: Floats
    X_test: Floats
    y_test: Floats
    f_test: Floats
    base: XGBRegressor  # fitted on all fitting rows
    seed: int


def base_model(seed: int) -> XGBRegressor:
    """Boosted trees for the median, around which symmetric intervals are narrowest."""
    return XGBRegressor(
        objective="reg:absoluteerror",
        n_estimators=400,
        learning_rate=0.05,
        max_depth=6,
        min_child_weight=5,
        subsample=0.8,
        colsample_bytree=0.8,
        n_jobs=1,
        random_state=seed,
    )


def split_rows(rows: int, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Split the rows at random: 60% fit, 20% calibrate, 20% test."""
    order = np.random.default_rng(number).permutation(rows)
    test, rest = order[: rows // 5], order[rows // 5 :]
    return rest[len(rest) // 4 :], rest[: len(rest) // 4], test


def make_split(data: Dataset, number: int) -> Split:
    """Split the rows as `split_rows` does; y is divided by its mean size on the fitting rows."""
    fit, cal, test = split_rows(len(data.y), number)
    X, y = data.X, data.y / np.abs(data.y[fit]).mean()
    folds = KFold(FOLDS, shuffle=True, random_state=number)
    oof = cross_val_predict(base_model(number), X[fit], y[fit], cv=folds)
    base = base_model(number).fit(X[fit], y[fit])
    return Split(
        X_fit=X[fit],
        y_fit=y[fit],
        oof=oof.astype(float),
        X_cal=X[cal],
        y_cal=y[cal],
        f_cal=base.predict(X[cal]).astype(float),
        X_test=X[test],
        y_test=y[test],
        f_test=base.predict(X[test]).astype(float),
        base=base,
        seed=number,
    )


def clip(intervals: Floats, y_fit: Floats) -> Floats:
    """Intervals, with the bounds along axis 1, clipped to the range of y in the fitting rows."""
    clipped = np.clip(intervals, y_fit.min(), y_fit.max())
    # Crossing quantiles give an empty interval.
    return np.where(clipped[:, :1] > clipped[:, 1:], clipped.mean(axis=1, keepdims=True), clipped)


def measure(split: Split, intervals: Floats, conditional: bool = True) -> list[Record]:
    """One record per level. Intervals of every method are clipped to the range of y in the fitting rows.

    ``empty`` and ``infinite`` are shares of the intervals before they are clipped. The CRPS of all levels together is in
    the record of the level of the slab. The ERT and the gap by prediction are measured with the worst slab; its classifier gets the features and the prediction of the base
    model for every method. Without ``conditional``, the ERT is NaN, which saves most of the time.
    """
    clipped = clip(intervals, split.y_fit)
    records = []
    for j, level in enumerate(LEVELS):
        lower, upper = clipped[:, 0, j], clipped[:, 1, j]
        in_detail = level == SLAB_LEVEL
        about = evaluate_intervals(
            clipped[:, :, j],
            split.y_test,
            confidence_level=level,
            calibration_rows=len(split.y_cal),
            X=split.X_test if in_detail else None,
            y_pred=split.f_test if in_detail else None,
            conditional=in_detail and conditional,
        )["levels"][0]
        by_prediction = [gap["mean"] for gap in about["gaps"] if gap["kind"] == "prediction"]
        ert = about["ert"]["l1"] if about["ert"] else {"value": np.nan, "standard_error": np.nan}
        records.append(
            {
                "alpha": round(1 - level, 10),
                "width": about["mean_width"],
                "coverage": about["coverage"]["share"],
                "worst_slab": about["worst_slab"]["coverage"]["share"] if about["worst_slab"] else np.nan,
                "gap": decile_gap(
                    upper - lower, split.f_test, (lower <= split.y_test) & (split.y_test <= upper), level
                ),
                "gap_by_prediction": by_prediction[0] if by_prediction else np.nan,
                "ert": ert["value"],
                "ert_error": ert["standard_error"],
                "interval_score": about["interval_score"],
                "crps": crps_of(clipped, split.y_test) if in_detail else np.nan,
                "empty": float((intervals[:, 0, j] >= intervals[:, 1, j]).mean()),
                "infinite": float(np.isinf(intervals[:, :, j]).any(axis=1).mean()),
            }
        )
    return records


def crps_of(intervals: Floats, y: Floats) -> float:
    """The CRPS of the distribution whose quantiles are the bounds of intervals (rows, 2, levels), as widthwise.crps has it.

    Bounds are sorted, because intervals of quantile regressions may not be nested.
    """
    quantiles = np.sort(intervals.reshape(len(y), -1), axis=1)
    return crps(quantiles, y, sorted(QUANTILES))


def decile_gap(widths: Floats, predictions: Floats, covered: NDArray[np.bool_], level: float, parts: int = 10) -> float:
    """The mean absolute difference between coverage and level over tenths of the rows by width.

    Rows of equal width are ordered by their prediction; otherwise constant width would have only one bin.
    """
    order = np.lexsort((predictions, np.round(widths, 9)))
    return float(np.mean([abs(covered[part].mean() - level) for part in np.array_split(order, parts)]))
