"""Measure the cost of intervals in Spark: Parquet through widthwise.spark, compared with Parquet alone.

python bench/spark_overhead.py [ROWS] [REPEATS]

All tasks read Parquet and write the same columns of every row: features, prediction and bounds. `Parquet in and out`
reads all of them from the file. `Arrow alone` passes them through a Python function that returns them unchanged, which
measures the cost of Spark itself. The tasks run alternately, so that other load affects all of them. The output is the
median ratio with its minimum and maximum.
"""

import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import widthwise
import widthwise.spark

FEATURES = 10


def write_rows(path, rows):
    rng = np.random.default_rng(1)
    names = [f"x{j}" for j in range(FEATURES)]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in [*names, "y_pred"]])) as writer:
        for first in range(0, rows, 250_000):
            X = rng.normal(size=(min(250_000, rows - first), FEATURES))
            columns = {name: X[:, j] for j, name in enumerate(names)}
            writer.write_table(pa.table({**columns, "y_pred": X[:, 0]}))


def training_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, FEATURES))
    return X, X[:, 0] + np.exp(X[:, 1] / 2) * rng.normal(size=len(X))


def around_predictions():
    """A model that computes intervals around a column of predictions."""
    X, y = training_rows()
    fit, fresh = slice(None, 15_000), slice(15_000, None)
    localizer = widthwise.Localizer(random_state=0, n_jobs=1).fit(X[fit], y[fit], X[fit, 0])
    return widthwise.Predictor(localizer, localizer.calibrate(X[fresh], y[fresh], X[fresh, 0]))


def with_predictions():
    """A model that also computes the predictions."""
    return widthwise.WidthwiseRegressor(random_state=0, n_jobs=1).fit(*training_rows()).predictor_


def seconds(frame, out):
    shutil.rmtree(out, ignore_errors=True)
    start = time.perf_counter()
    frame.write.parquet(str(out))
    return time.perf_counter() - start


def unchanged(frame):
    # Spark interprets a dot in a name as a field of a struct.
    plain = frame.toDF(*[f"c{j}" for j in range(len(frame.columns))])
    return plain.mapInArrow(lambda batches: batches, plain.schema)


def main(rows, repeats, folder):
    source, scored, out = str(folder / "rows.parquet"), str(folder / "scored.parquet"), folder / "out"
    write_rows(source, rows)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    around, both = around_predictions(), with_predictions()

    def intervals(model):
        return widthwise.spark.predict_interval(spark.read.parquet(source), model)

    intervals(around).write.parquet(scored)
    tasks = {
        "Parquet in and out": lambda: spark.read.parquet(scored),
        "Arrow alone": lambda: unchanged(spark.read.parquet(scored)),
        "intervals": lambda: intervals(around),
        "predictions and intervals": lambda: intervals(both),
    }
    taken = {name: [] for name in tasks}
    for turn in range(repeats + 1):
        for name, task in tasks.items():
            value = seconds(task(), out)
            if turn:  # the first run starts Java's compiler and the Python workers
                taken[name].append(value)
    spark.stop()
    plain = taken["Parquet in and out"]
    for name, values in taken.items():
        ratios = sorted(value / base for value, base in zip(values, plain, strict=True))
        print(
            f"{name:25} {statistics.median(values):6.2f} s  ratio {statistics.median(ratios):.2f}"
            f"  ({ratios[0]:.2f} to {ratios[-1]:.2f}), {rows:,} rows, {len(values)} turns"
        )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        numbers = [int(argument) for argument in sys.argv[1:]]
        main(*(numbers + [2_000_000, 9][len(numbers) :]), Path(folder))
