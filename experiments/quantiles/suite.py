"""The jobs: conformalized quantile regression and widthwise on one split, around the same fitted quantile models."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from deel.puncc.api.prediction import DualPredictor
from deel.puncc.regression import CQR
from lightgbm import LGBMRegressor
from mapie.regression import ConformalizedQuantileRegressor
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from widthwise import Localizer, Predictor, evaluate_intervals

from .. import data
from ..field.protocol import clip, split_rows
from ..records import Record, processor_seconds
from ..runner import SplitJob

Floats = NDArray[np.float64]

# The number of splits by data set: less where a split takes minutes.
SPLITS = {"facebook_1": 1, "casp": 1, "homes": 2, "bike": 3, "community": 3, "concrete": 5, "energy": 5}
QUICK_DATASETS = ("concrete", "energy")
LEVEL = 0.9
PROBABILITIES = (0.05, 0.95)
MEDIAN = 0.5  # MAPIE asks for its model
FOLDS = 5
MAX_FIT_ROWS = 12_000  # to save time
GOALS = {"even": "even", "evenness 0.85": 0.85, "narrow": "narrow"}


def jobs(quick: bool) -> list[SplitJob]:
    if quick:
        return [SplitJob(name, 0) for name in QUICK_DATASETS]
    return [SplitJob(name, split) for name, splits in SPLITS.items() for split in range(splits)]


def model(X: Floats, y: Floats, probability: float, seed: int) -> LGBMRegressor:
    """LightGBM with its defaults, as in the examples of MAPIE."""
    regressor = LGBMRegressor(objective="quantile", alpha=probability, n_jobs=1, verbose=-1, random_state=seed)
    return regressor.fit(X, y)


class Part(NamedTuple):
    """Rows with the quantiles of the fitted models; those of the fitting rows are out of fold."""

    X: Floats
    y: Floats
    quantiles: Floats


class Split:
    """The rows of the comparison's split of the same number, and the quantile models."""

    def __init__(self, dataset: data.Dataset, number: int) -> None:
        fit, cal, test = split_rows(len(dataset.y), number)
        fit = fit[:MAX_FIT_ROWS]
        X, y = dataset.X, dataset.y / np.abs(dataset.y[fit]).mean()
        self.seed = number
        self.models = [model(X[fit], y[fit], probability, number) for probability in (*PROBABILITIES, MEDIAN)]
        out_of_fold = np.empty((len(fit), 2))
        for others, held in KFold(FOLDS, shuffle=True, random_state=number).split(fit):
            for side, probability in enumerate(PROBABILITIES):
                fold = model(X[fit[others]], y[fit[others]], probability, number)
                out_of_fold[held, side] = fold.predict(X[fit[held]])
        self.fit = Part(X[fit], y[fit], out_of_fold)
        self.cal, self.test = (
            Part(X[rows], y[rows], np.column_stack([one.predict(X[rows]) for one in self.models[:2]]))
            for rows in (cal, test)
        )


def mapie(split: Split) -> Floats:
    """MAPIE, with separately corrected sides, its default."""
    regressor = ConformalizedQuantileRegressor(split.models, confidence_level=LEVEL, prefit=True)
    regressor.conformalize(split.cal.X, split.cal.y)
    return regressor.predict_interval(split.test.X)[1][:, :, 0]


def puncc(split: Split) -> Floats:
    """puncc, with one correction of both sides."""
    regressor = CQR(DualPredictor(split.models[:2], is_trained=[True, True]), train=False)
    regressor.fit(X_calib=split.cal.X, y_calib=split.cal.y)
    return np.stack(regressor.predict(split.test.X, alpha=round(1 - LEVEL, 10))[1:], axis=1)


PEERS = {"mapie cqr": mapie, "puncc cqr": puncc}


def methods(split: Split) -> Iterator[tuple[str, Floats, float]]:
    """The name, the intervals and the seconds of every method, without those of the quantile models."""
    for name, peer in PEERS.items():
        start = processor_seconds()
        yield name, peer(split), processor_seconds() - start
    for name, goal in GOALS.items():
        start = processor_seconds()
        localizer = Localizer(goal=goal, confidence_level=LEVEL, random_state=split.seed, n_jobs=1)
        localizer.fit(split.fit.X, split.fit.y, y_pred_cv=split.fit.quantiles)
        predictor = Predictor(localizer, localizer.calibrate(*split.cal))
        intervals = predictor.predict_interval(split.test.X, split.test.quantiles)[1][:, :, 0]
        yield name, intervals, processor_seconds() - start


def work(job: SplitJob) -> list[Record]:
    """Measure every method. Intervals are clipped to the range of y in the fitting rows, as in the comparison."""
    warnings.simplefilter("ignore")  # MAPIE and LightGBM warn about names of columns
    split = Split(data.load(job.dataset), job.split)
    found: list[Record] = []
    for name, intervals, seconds in methods(split):
        about = evaluate_intervals(
            clip(intervals, split.fit.y),
            split.test.y,
            confidence_level=LEVEL,
            calibration_rows=len(split.cal.y),
            X=split.test.X,
            y_pred=split.test.quantiles.mean(axis=1),
            conditional=True,
        )["levels"][0]
        gaps = {gap["kind"]: gap["mean"] for gap in about["gaps"] if gap["kind"] in ("prediction", "width")}
        found.append(
            {
                "dataset": job.dataset,
                "method": name,
                "split": job.split,
                "width": about["mean_width"],
                "coverage": about["coverage"]["share"],
                "worst_slab": about["worst_slab"]["coverage"]["share"] if about["worst_slab"] else np.nan,
                "gap_by_width": gaps.get("width", np.nan),
                "gap_by_prediction": gaps.get("prediction", np.nan),
                "ert": about["ert"]["l1"]["value"] if about["ert"] else np.nan,
                "interval_score": about["interval_score"],
                "seconds": round(seconds, 2),
            }
        )
    return found
