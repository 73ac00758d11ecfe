"""Whole programs: a fit with its base model, one prediction of a new process, and an evaluation."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, cross_val_predict
from xgboost import XGBRegressor

from experiments.field import protocol
from widthwise import WidthwiseRegressor, evaluate_intervals

from ..rows import Rows, predictor
from .predictions import LEVEL, Floats, mapie
from .task import Other, Sizes, Task


def base_model(objective: str) -> XGBRegressor:
    """The base model of widthwise, as an estimator."""
    return protocol.base_model(seed=0).set_params(objective=objective)


def casp(sizes: Sizes) -> tuple[Floats, Floats]:
    """The data set casp beside the repository, or simulated rows of its shape."""
    file = Path(os.environ.get("WIDTHWISE_DATA", "../shared/data")) / "casp.csv"
    if sizes.quick or not file.exists():
        rows = Rows(sizes.rows(45_730), 9, 1)
        return rows.X, rows.y
    table = np.loadtxt(file, delimiter=",", skiprows=1)  # the outcome is the last column
    return np.ascontiguousarray(table[:, :-1]), table[:, -1]


def whole_fit(sizes: Sizes, goal: Any, aim: float) -> Task:
    X, y = casp(sizes)

    def base_fits(objective: str) -> Callable[[], None]:
        def work() -> None:
            rows = np.random.default_rng(0).permutation(len(y))[len(y) // 4 :]
            cross_val_predict(base_model(objective), X[rows], y[rows], cv=KFold(5))
            base_model(objective).fit(X[rows], y[rows])

        return work

    return Task(
        f"whole fit, casp, {'default' if goal is None else goal}, without comparison",
        lambda: WidthwiseRegressor(**({} if goal is None else {"goal": goal}), n_jobs=1, random_state=0).fit(X, y),
        {
            "six fits of its base model, absolute error": Other(base_fits("reg:absoluteerror"), aim),
            "six fits of its base model, squared error": Other(base_fits("reg:squarederror")),
        },
        repeats=1,
    )


def whole_fit_default(sizes: Sizes) -> Task:
    return whole_fit(sizes, None, 1.1)


def whole_fit_narrow(sizes: Sizes) -> Task:
    return whole_fit(sizes, "narrow", 1.5)


def cold_start(sizes: Sizes) -> Task:
    """One row predicted by a new process, its model read from a file."""
    folder = Path(tempfile.mkdtemp())
    rows = Rows(1, 10, 3)
    predictor("exp", 10, goal="even").save(folder / "model.widthwise")
    with (folder / "mapie.pickle").open("wb") as file:
        pickle.dump(mapie("absolute", 10, [LEVEL]), file)
    names = [f"x{j}" for j in range(10)]
    numbers = ",".join(f"{value!r}" for value in [*rows.X[0].tolist(), float(rows.f[0])])
    (folder / "row.csv").write_text(",".join([*names, "y_pred"]) + "\n" + numbers + "\n")
    program = os.environ.get("WIDTHWISE_PROGRAM") or shutil.which("widthwise") or "widthwise"
    script = (
        f"import pickle, numpy; m = pickle.load(open({str(folder / 'mapie.pickle')!r}, 'rb')); "
        f"print(m.predict_interval(numpy.loadtxt({str(folder / 'row.csv')!r}, delimiter=',', skiprows=1)[None, :10]))"
    )

    def of_command(*command: str) -> Callable[[], str]:
        return lambda: subprocess.run(command, check=True, capture_output=True, text=True).stdout

    paths = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])}
    os.environ.update(paths)  # the pickle names a class of this benchmark
    return Task(
        "one row, new process, `widthwise predict`",
        of_command(program, "predict", str(folder / "model.widthwise"), str(folder / "row.csv"), "--output", "-"),
        {"Python, unpickle, MAPIE": Other(of_command(sys.executable, "-c", script), 1 / 20)},
        repeats=5,
        wall=True,
    )


def two_threads(sizes: Sizes) -> Task:
    """Batch prediction by two threads, each with half of the rows: Python's lock is released."""
    from concurrent.futures import ThreadPoolExecutor

    rows = Rows(sizes.rows(1_000_000), 10, 3)
    ours = predictor("exp", 10, goal="even")
    half = len(rows.f) // 2
    parts = [slice(0, half), slice(half, None)]
    pool = ThreadPoolExecutor(2)

    def predict(part: slice) -> Floats:
        return ours.predict_interval(rows.X[part], rows.f[part], confidence_level=LEVEL)[1]

    return Task(
        "1e6 rows by two threads, learnt widths",
        lambda: list(pool.map(predict, parts)),
        {"one thread": Other(lambda: [predict(part) for part in parts], 1 / 1.8)},
        lambda mine, found: np.testing.assert_array_equal(mine[0], found["one thread"][0]),
        repeats=5,
        wall=True,
    )


def worst_slab(sizes: Sizes) -> Task:
    """An evaluation, which searches the worst slab on half of the rows in 1,000 directions and does more, and the
    published search in 10 directions with numpy, where only every fiftieth row begins a slab."""
    n, directions = sizes.rows(100_000), 10
    rng = np.random.default_rng(0)
    rows = Rows(n, 10, 1)
    intervals = np.column_stack([rows.f - 1.6, rows.f + 1.6])
    covered = (np.abs(rows.y - rows.f) <= 1.6)[: n // 2]

    def with_numpy() -> float:
        worst, least = 1.0, len(covered) // 10
        for _ in range(directions):
            direction = rng.normal(size=10)
            order = np.argsort(rows.X[: n // 2] @ (direction / np.linalg.norm(direction)))
            sums = np.concatenate([[0], np.cumsum(covered[order])])
            counts = np.arange(least, len(covered) + 1)
            for first in range(0, len(covered) - least, 50):
                inside = counts[: len(covered) - first - least + 1]
                worst = min(worst, float(((sums[first + inside] - sums[first]) / inside).min()))
        return worst

    def check(mine: Any, found: dict[str, Any]) -> None:
        # Other directions and the measurement on the other half; the error is largest for the largest second feature.
        slab = mine["levels"][0]["worst_slab"]["coverage"]["share"]
        assert slab < covered.mean() and next(iter(found.values())) < covered.mean()

    return Task(
        "evaluation with the worst slab, 1e5 rows, 1,000 directions",
        lambda: evaluate_intervals(intervals, rows.y, confidence_level=LEVEL, calibration_rows=1000, X=rows.X),
        {"the published search with numpy, 10 directions": Other(with_numpy, 2)},
        check,
        repeats=3,
    )


MAKERS = [whole_fit_default, whole_fit_narrow, cold_start, two_threads, worst_slab]
