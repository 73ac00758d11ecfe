"""Time of group-conditional calibration and prediction, compared with crepes in the same process.

    python bench/groups.py [--rows 1000000] [--groups 1000] [--repeats 5]

Both calibrate with all rows and then predict as many: crepes with ConformalRegressor(bins=), widthwise with
Calibration.add(groups=) and Predictor.predict_interval(groups=). The scores are absolute residuals in both, so the
intervals are the same.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from crepes import ConformalRegressor

from widthwise import Calibration, Localizer, Predictor


def best(repeats, work):
    """The shortest time of several runs, and the result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    n = options.rows
    groups, new_groups = rng.integers(0, options.groups, (2, n))
    y_pred, new_pred = rng.normal(size=(2, n))
    y = y_pred + (1 + groups / options.groups) * rng.normal(size=n)

    rows = np.arange(200.0)
    localizer = Localizer(score_transform="identity").fit(rows[:, None], rows + rng.normal(size=200), rows)
    unit = localizer._model.unit
    new_x = rng.normal(size=(n, 1))

    def ours():
        calibration = Calibration().add(np.abs(y - y_pred) / unit, groups=groups)
        return Predictor(localizer, calibration).predict_interval(new_x, new_pred, groups=new_groups)[1][:, :, 0]

    def theirs():
        regressor = ConformalRegressor().fit(y - y_pred, bins=groups)
        return regressor.predict_int(new_pred, bins=new_groups, confidence=0.9)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        our_time, our_intervals = best(options.repeats, ours)
        their_time, their_intervals = best(options.repeats, theirs)
    # crepes computes ranks in floating point, so some of its groups have the next smaller score.
    assert np.isclose(our_intervals, their_intervals, rtol=1e-9).mean() > 0.8, "the intervals differ"
    print(f"{n:,} rows, {options.groups:,} groups")
    print(f"widthwise  {our_time:.3f} s")
    print(f"crepes     {their_time:.3f} s   ({their_time / our_time:.1f} times as long)")


if __name__ == "__main__":
    main()
