"""What the loss of the base model costs, and what it does for the intervals around it.

    python -m bench.base_models             # some minutes on one core
    python -m bench.base_models bike        # some data sets
    WIDTHWISE_XGBOOST=/path/to/libxgboost.so python -m bench.base_models --bases trees quantiles    # another version

Intervals are made and measured on parts of the fitting rows of the comparison's first splits, so that no test row of
the comparison takes part. Processor time of the base model's six fits (five folds and one), mean widths and interval
scores of the default goal at 90%, all relative to trees for absolute errors by XGBoost: geometric means over the splits.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

# Libraries read this when they are loaded.
os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive", OPENBLAS_NUM_THREADS="1")

import numpy as np  # noqa: E402

from experiments.field.datasets import load  # noqa: E402
from experiments.field.protocol import Floats, base_model, split_rows  # noqa: E402
from widthwise import WidthwiseRegressor, interval_score  # noqa: E402

DATASETS = ("bike", "casp", "community", "concrete", "energy", "facebook_1", "homes")
SPLITS = 3
MOST_ROWS = 6000  # of a fit
REFERENCE = "absolute errors (XGBoost)"


def regressor(number: int, base: dict[str, Any], **settings: Any) -> WidthwiseRegressor:
    return WidthwiseRegressor(**base, random_state=number, n_jobs=1, **settings)


CANDIDATES: dict[str, dict[str, Any]] = {
    REFERENCE: {"estimator": base_model(seed=0)},
    "squared errors (XGBoost)": {"estimator": base_model(seed=0).set_params(objective="reg:squarederror")},
    "trees": {},
    "trees, smoothing=0.1": {"base_options": {"smoothing": 0.1}},
    "trees, smoothing=100": {"base_options": {"smoothing": 100}},
    "quantiles": {"base": "quantiles"},
}


def measure(base: dict[str, Any], X: Floats, y: Floats, number: int) -> dict[str, float]:
    """Seconds of the base model, and width and interval score of the default."""
    order = np.random.default_rng(number).permutation(len(y))
    fit, test = order[: min(MOST_ROWS, len(y) * 2 // 3)], order[len(y) * 2 // 3 :]
    start = time.process_time()
    regressor(number, base, score_transform="identity").fit(X[fit], y[fit])
    found = {"time": time.process_time() - start}
    _, intervals = regressor(number, base).fit(X[fit], y[fit]).predict_interval(X[test])
    found["width"] = float(np.mean(intervals[:, 1, 0] - intervals[:, 0, 0]))
    found["interval score"] = float(interval_score(intervals, y[test], 0.9))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.base_models", description=__doc__.splitlines()[0])
    parser.add_argument("datasets", nargs="*", help=f"by default {', '.join(DATASETS)}")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--bases", nargs="*", choices=CANDIDATES, default=CANDIDATES, help="by default all")
    arguments = parser.parse_args()
    candidates = {name: base for name, base in CANDIDATES.items() if name in {REFERENCE, *arguments.bases}}
    print("| data set | base model | time | width | interval score |\n|---|---|---|---|---|")
    for dataset in arguments.datasets or DATASETS:
        data = load(dataset)
        found: dict[str, list[dict[str, float]]] = {name: [] for name in candidates}
        for number in range(arguments.splits):
            rows, _, _ = split_rows(len(data.y), number)
            for name, base in candidates.items():
                found[name].append(measure(base, data.X[rows], data.y[rows], number))
        for name, records in found.items():
            pairs = list(zip(records, found[REFERENCE], strict=True))
            ratios = [float(np.exp(np.mean([np.log(a[key] / b[key]) for a, b in pairs]))) for key in records[0]]
            print(f"| {dataset} | {name} | " + " | ".join(f"{ratio:.3f}" for ratio in ratios) + " |", flush=True)


if __name__ == "__main__":
    main()
