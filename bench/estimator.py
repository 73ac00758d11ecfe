"""CPU time of WidthwiseRegressor with and without the comparison of goals, relative to one fit of its estimator.

    python bench/estimator.py [--rows 1000000] [--columns 10]

The estimator is LightGBM with its defaults, on one thread. WidthwiseRegressor fits it six times: five folds and the
deployed model.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from lightgbm import LGBMRegressor

from widthwise import WidthwiseRegressor


def cpu_seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=10)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(options.rows, options.columns))
    y = X[:, 0] + np.sin(X[:, 1]) * X[:, 2] + np.exp(0.5 * X[:, 3]) * rng.normal(size=options.rows)
    estimator = LGBMRegressor(n_jobs=1, verbose=-1)

    one = cpu_seconds(lambda: estimator.fit(X, y))
    print(f"{options.rows:,} rows x {options.columns}")
    print(f"one fit of the estimator       {one:6.1f} s")
    for compare in (False, True):
        model = WidthwiseRegressor(estimator, compare=compare, random_state=0, n_jobs=1)
        seconds = cpu_seconds(lambda model=model: model.fit(X, y))
        print(f"WidthwiseRegressor, compare={compare!s:5} {seconds:6.1f} s   ({seconds / one:.1f} times)")


if __name__ == "__main__":
    main()
