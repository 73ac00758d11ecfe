"""Cross-calibration compared with split calibration on few rows of real tables, and its time and memory at scale.

    python bench/cross.py tables /path/to/data [--splits 20]    # the table of docs/few-rows.md
    python bench/cross.py scale [--rows 100000]

`tables` reads concrete.csv, energy.csv, homes.csv, bike.csv and more/star.csv. Every split draws 300 rows to fit (all
methods get the same rows) and tests with the others.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

from widthwise import WidthwiseRegressor

TABLES = {"concrete": "strength", "energy": "cooling_load", "more/star": None, "homes": "price", "bike": "count"}
METHODS = {
    "split": {},
    "cross": {"calibration": "cross", "cv": 10},
}


def read(folder, name, target):
    """Features and outcomes of a table; the last column is the target if none is named."""
    frame = pd.read_csv(Path(folder) / f"{name}.csv")
    target = target or frame.columns[-1]
    return frame.drop(columns=target).select_dtypes("number").to_numpy(float), frame[target].to_numpy(float)


def measure(X, y, rows, seed, options):
    """Mean width and coverage at level 0.9 of a fit to some rows, on the others."""
    order = np.random.default_rng(seed).permutation(len(y))
    fit, test = order[:rows], order[rows : rows + 2000]
    estimator = RandomForestRegressor(40, min_samples_leaf=3, random_state=seed, n_jobs=1)
    model = WidthwiseRegressor(estimator, random_state=seed, n_jobs=1, **options)
    _, bounds = model.fit(X[fit], y[fit]).predict_interval(X[test], 0.9)
    lower, upper = bounds[:, 0, 0], bounds[:, 1, 0]
    return np.mean(upper - lower), np.mean((lower <= y[test]) & (y[test] <= upper))


def compare(folder, splits, rows, transform):
    print(f"{rows} rows to fit, {splits} splits, transform {transform}")
    print("| table | split: width | coverage | cross: width | coverage | width |\n|---|---|---|---|---|---|")
    for name, target in TABLES.items():
        X, y = read(folder, name, target)
        found = {
            method: np.mean(
                [measure(X, y, rows, seed, options | {"score_transform": transform}) for seed in range(splits)], axis=0
            )
            for method, options in METHODS.items()
        }
        (split, at_split), (cross, at_cross) = found["split"], found["cross"]
        print(
            f"| {name.rpartition('/')[2]} | {split:.4g} | {at_split:.3f} | {cross:.4g} | {at_cross:.3f} "
            f"| {100 * (cross / split - 1):+.1f}% |",
            flush=True,
        )


def scale(rows):
    """Time and memory of many calibration rows and many rows to predict, with one estimator for all folds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 10))
    y = X[:, 0] + (1 + np.abs(X[:, 1])) * rng.normal(size=rows)
    model = WidthwiseRegressor(calibration="cross", cv=5, random_state=0, base_options={"rounds": 50}, goal="even")
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    model.predict_interval(rng.normal(size=(rows, 10)))
    done = time.perf_counter()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{rows} rows: fit {fitted - start:.1f} s, predict {done - fitted:.1f} s, {memory:.2f} GB at most")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["tables", "scale"])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--fit-rows", type=int, default=300)
    parser.add_argument("--transform", default="auto")
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.task == "scale":
        scale(options.rows)
    else:
        compare(options.folder, options.splits, options.fit_rows, options.transform)


if __name__ == "__main__":
    main()
