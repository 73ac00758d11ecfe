"""What the loss of the base model costs, and what it does for the width of the intervals around it.

    python -m bench.base_models             # some minutes on one core
    python -m bench.base_models bike        # some data sets
    python -m bench.base_models casp --splits 1 --losses trees quarter    # the losses whose name contains a word

Intervals are made and measured on parts of the fitting rows of the comparison's first splits, so that no test row of
the comparison takes part. Processor time of the base model's six fits (five folds and one) and mean widths at 90%, both relative
to squared error, geometric means over the data sets and splits.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

# Libraries read this when they are loaded.
os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive", OPENBLAS_NUM_THREADS="1")

import numpy as np  # noqa: E402
from sklearn.base import BaseEstimator, RegressorMixin, clone  # noqa: E402
from sklearn.model_selection import KFold, cross_val_predict  # noqa: E402
from xgboost import XGBRegressor  # noqa: E402

from experiments.field.datasets import load  # noqa: E402
from experiments.field.protocol import FOLDS, Floats, base_model, split_rows  # noqa: E402
from widthwise import Localizer, Predictor  # noqa: E402

DATASETS = ("bike", "homes", "casp", "concrete")
SPLITS = 3
GOALS = {"narrow": "narrow", "default": 0.85}


def of_loss(loss: str, **settings: Any) -> XGBRegressor:
    return base_model(seed=0).set_params(objective=f"reg:{loss}", **settings)


class SquaredFirst(RegressorMixin, BaseEstimator):
    """Trees for squared errors, followed by a share of trees for absolute errors."""

    def __init__(self, share: float = 0.25) -> None:
        self.share = share

    def fit(self, X: Floats, y: Floats) -> SquaredFirst:
        trees = base_model(seed=0).n_estimators
        last = round(self.share * trees)
        first = of_loss("squarederror", n_estimators=trees - last).fit(X, y)
        self.model_ = of_loss("absoluteerror", n_estimators=last).fit(X, y, xgb_model=first)
        return self

    def predict(self, X: Floats) -> Floats:
        return self.model_.predict(X)


CANDIDATES: dict[str, BaseEstimator] = {
    "squared error": of_loss("squarederror"),
    "absolute error (base `trees`)": of_loss("absoluteerror"),
    "absolute error, 200 steps of 0.1": of_loss("absoluteerror", n_estimators=200, learning_rate=0.1),
    "absolute error, 133 steps of 0.15": of_loss("absoluteerror", n_estimators=133, learning_rate=0.15),
    "quantile of 0.5": of_loss("quantileerror", quantile_alpha=0.5),
    "pseudo-Huber, slope 0.1": of_loss("pseudohubererror", huber_slope=0.1),
    "squared error, last quarter absolute": SquaredFirst(0.25),
    "squared error, last tenth absolute": SquaredFirst(0.1),
}


def measure(candidate: BaseEstimator, X: Floats, y: Floats, number: int) -> dict[str, float]:
    """Seconds of the base model, and mean widths of the goals."""
    fit, cal, test = split_rows(len(y), number)
    start = time.process_time()
    oof = cross_val_predict(clone(candidate), X[fit], y[fit], cv=KFold(FOLDS, shuffle=True, random_state=number))
    base = clone(candidate).fit(X[fit], y[fit])
    found = {"time": time.process_time() - start}
    f_cal, f_test = (base.predict(X[rows]).astype(float) for rows in (cal, test))
    for name, goal in GOALS.items():
        localizer = Localizer(goal=goal, random_state=number, n_jobs=1, compare=False)
        localizer.fit(X[fit], y[fit], y_pred_cv=oof.astype(float))
        predictor = Predictor(localizer, localizer.calibrate(X[cal], y[cal], f_cal))
        bounds = predictor.predict_interval(X[test], f_test, confidence_level=0.9)[1][:, :, 0]
        bounds = np.clip(bounds, y[fit].min(), y[fit].max())
        found[name] = float(np.mean(bounds[:, 1] - bounds[:, 0]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.base_models", description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", help=f"by default {', '.join(DATASETS)}")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--losses", nargs="*", default=[""], help="words; squared error is always there")
    arguments = parser.parse_args()
    chosen = {
        name: candidate
        for name, candidate in CANDIDATES.items()
        if name == "squared error" or any(word in name for word in arguments.losses)
    }
    found: dict[str, list[dict[str, float]]] = {name: [] for name in chosen}
    for dataset in arguments.datasets or DATASETS:
        data = load(dataset)
        for number in range(arguments.splits):
            rows, _, _ = split_rows(len(data.y), number)
            X, y = data.X[rows], data.y[rows] / np.abs(data.y[rows]).mean()
            for name, candidate in chosen.items():
                found[name].append(measure(candidate, X, y, number))
    print("| loss of the base model | time | narrow: width | default: width |\n|---|---|---|---|")
    for name, records in found.items():
        ratios = [
            np.exp(
                np.mean(
                    [np.log(mine[key] / its[key]) for mine, its in zip(records, found["squared error"], strict=True)]
                )
            )
            for key in ("time", *GOALS)
        ]
        print(f"| {name} | " + " | ".join(f"{ratio:.3f}" for ratio in ratios) + " |")


if __name__ == "__main__":
    main()
