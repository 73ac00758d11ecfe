"""CPU time of WidthwiseRegressor relative to one fit of its estimator, by number of rows.

    python bench/estimator.py [--rows 10000 100000 1000000] [--columns 10]

The estimator is LightGBM with its defaults (100 trees), on one thread.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from lightgbm import LGBMRegressor

from widthwise import WidthwiseRegressor

REPEATS = 3  # of the estimator alone


def cpu_seconds(model, X, y):
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--columns", type=int, default=10)
    options = parser.parse_args()
    print("| rows | the estimator alone, once | `WidthwiseRegressor` | relative |\n|---|---|---|---|")
    for rows in options.rows:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, options.columns))
        y = X[:, 0] + np.sin(X[:, 1]) * X[:, 2] + np.exp(0.5 * X[:, 3]) * rng.normal(size=rows)
        estimator = LGBMRegressor(n_jobs=1, verbose=-1)
        one = min(cpu_seconds(estimator, X, y) for _ in range(REPEATS))
        whole = cpu_seconds(WidthwiseRegressor(estimator, random_state=0, n_jobs=1), X, y)
        print(f"| {rows:,} | {one:.2f} s | {whole:.2f} s | {whole / one:.1f} |", flush=True)


if __name__ == "__main__":
    main()
