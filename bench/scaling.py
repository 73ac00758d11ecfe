"""How time grows with rows, levels, groups and trees: a curve and its slope each.

    make bench-scaling                              # all curves, an hour on one core
    python -m bench.scaling predict levels          # some of them again; the others stay in the picture
    python -m bench.scaling --largest 100000        # no size above this

Writes docs/pictures/scaling.png and scaling.json next to it, and prints the table of docs/performance.md. A slope of 1
on logarithmic axes means that the time is proportional to the size. It is fitted to the sizes whose time exceeds ten
times the smallest one, where fixed costs do not matter, or taken from the last two sizes.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# Libraries read this when they are loaded.
os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive", OPENBLAS_NUM_THREADS="1")

import matplotlib  # noqa: E402
import numpy as np  # noqa: E402
import xgboost  # noqa: E402

from widthwise import Calibration, Localizer, Predictor  # noqa: E402
from widthwise.xgboost import WidthObjective, training_matrix  # noqa: E402

from .rows import CALIBRATION_ROWS, FIT_ROWS, Rows  # noqa: E402

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "scaling.png"
REPEATS = 3
BLOCK = 1_000_000

# The sizes of a curve, and the seconds of one run at each of them.
Curve = Iterator[tuple[int, float]]


def seconds(work: Callable[[], object]) -> float:
    """Processor time of the shortest of several runs; of one run, if that takes long."""
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < 20:
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def sizes(first: int, last: int, largest: int) -> Iterator[int]:
    """Powers of ten."""
    size = first
    while size <= min(last, largest):
        yield size
        size *= 10


def with_trees(count: int = 50) -> Predictor:
    """A predictor whose localizer has this many trees of depth 4."""
    fit, calibration = Rows(FIT_ROWS, 2, 1), Rows(CALIBRATION_ROWS, 2, 2)
    objective = WidthObjective("even")
    settings = {"max_depth": 4, "eta": 0.05, "seed": 0, **objective.params}
    booster = xgboost.train(settings, training_matrix(fit.X, fit.y, fit.f), count, obj=objective)
    localizer = Localizer.from_booster(booster, objective, fit.X, fit.y, fit.f)
    return Predictor(localizer, localizer.calibrate(calibration.X, calibration.y, calibration.f))


def predict(largest: int) -> Curve:
    """predict_interval, rows"""
    model = with_trees()
    for n in sizes(1000, 10**8, largest):
        rows = Rows(n, 2, 3)
        yield n, seconds(lambda rows=rows: model.predict_interval(rows.X, rows.f, confidence_level=0.9))


def calibrate(largest: int) -> Curve:
    """calibrate, rows"""
    for n in sizes(1000, 10**8, largest):
        scores = np.random.default_rng(0).random(min(n, BLOCK))

        def work(n: int = n, scores: np.ndarray = scores) -> float:
            calibration = Calibration()
            for first in range(0, n, BLOCK):
                calibration.add(scores, first_row=first)
            return calibration.quantile(0.9)

        yield n, seconds(work)


def fit(largest: int) -> Curve:
    """fit of the localizer in 50 rounds, rows"""
    options = {"max_rounds": 50, "patience": 50}  # by default, more rows also take more rounds
    for n in sizes(1000, 10**7, largest):
        rows = Rows(n, 8, 3)
        localizer = Localizer(random_state=0, n_jobs=1, localizer_options=options)
        yield n, seconds(lambda rows=rows, localizer=localizer: localizer.fit(rows.X, rows.y, y_pred_cv=rows.f))


def levels(largest: int) -> Curve:
    """predict_interval of 100,000 rows, levels"""
    model, rows = with_trees(), Rows(100_000, 2, 3)
    for k in sizes(1, 1000, largest):
        wanted = list(np.linspace(0.01, 0.99, k)) if k > 1 else [0.9]
        yield k, seconds(lambda wanted=wanted: model.predict_interval(rows.X, rows.f, confidence_level=wanted))


def groups(largest: int) -> Curve:
    """calibrate and predict 1,000,000 rows, groups"""
    n = min(1_000_000, largest)
    few, rows = Rows(200, 2, 1), Rows(n, 2, 3)
    localizer = Localizer(score_transform="identity", random_state=0).fit(few.X, few.y, y_pred_cv=few.f)
    scores = np.abs(rows.y - rows.f)
    for count in sizes(1, 10**6, largest):
        labels = np.random.default_rng(0).integers(0, count, n)

        def work(labels: np.ndarray = labels) -> object:
            calibration = Calibration().add(scores, groups=labels)
            return Predictor(localizer, calibration).predict_interval(
                rows.X, rows.f, confidence_level=0.5, groups=labels
            )

        yield count, seconds(work)


def trees(largest: int) -> Curve:
    """predict_interval of 20,000 rows, trees"""
    rows = Rows(20_000, 2, 3)
    for count in sizes(10, 10_000, largest):
        model = with_trees(count)
        yield count, seconds(lambda model=model: model.predict_interval(rows.X, rows.f, confidence_level=0.9))


CURVES = {curve.__name__: curve for curve in (predict, calibrate, fit, levels, groups, trees)}


def slope_of(points: list[tuple[int, float]]) -> float:
    least = 10 * min(seconds for _, seconds in points)
    upper = [point for point in points if point[1] >= least]
    upper = upper if len(upper) > 1 else points[-2:]
    size, time_ = np.log(np.array(upper)).T
    return float(np.polyfit(size, time_, 1)[0])


def draw(curves: dict[str, list[tuple[int, float]]], file: Path) -> None:
    figure, axes = pyplot.subplots(2, 3, figsize=(11, 6.5), layout="constrained")
    for axis, (name, points) in zip(axes.flat, curves.items(), strict=False):
        axis.loglog(*zip(*points, strict=True), marker="o", color="#1f5fa8")
        task, _, unit = (CURVES[name].__doc__ or "").rpartition(", ")
        axis.set(title=task, xlabel=unit, ylabel="seconds of one core")
        axis.annotate(f"slope {slope_of(points):.2f}", (0.05, 0.88), xycoords="axes fraction")
        axis.grid(alpha=0.3)
    for axis in list(axes.flat)[len(curves) :]:
        axis.remove()
    figure.savefig(file, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("curves", nargs="*", choices=[*CURVES, []], help="only these curves")
    parser.add_argument("--largest", type=int, default=10**8, help="no size above this")
    parser.add_argument("--output", type=Path, default=PICTURE)
    options = parser.parse_args()
    numbers = options.output.with_suffix(".json")
    measured = json.loads(numbers.read_text()) if options.curves and numbers.exists() else {}
    print("| time | sizes | seconds at the smallest and the largest | slope |\n|---|---|---|---|")
    for name in options.curves or CURVES:
        points = measured[name] = list(CURVES[name](options.largest))
        (first, start), (last, end) = points[0], points[-1]
        print(
            f"| {CURVES[name].__doc__} | {first:,} to {last:,} | {start:.2g}, {end:.3g} | {slope_of(points):.2f} |",
            flush=True,
        )
        numbers.write_text(json.dumps(measured) + "\n")
        draw({name: measured[name] for name in CURVES if name in measured}, options.output)


if __name__ == "__main__":
    main()
