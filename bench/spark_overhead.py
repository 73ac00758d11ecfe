"""What intervals cost in Spark: Parquet in and out through widthwise.spark, against Parquet in and out.

python bench/spark_overhead.py [ROWS] [REPEATS]

Both read the same file and write every row; the first adds prediction and bounds. They take turns, so that a busy machine slows
down both; what is printed is the median ratio, with the least and the most. `Arrow alone` sends the rows through a
Python function that returns them as they are: what Spark itself takes for that.
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
    with pq.ParquetWriter(path, pa.schema([(f"x{j}", pa.float64()) for j in range(FEATURES)])) as writer:
        for first in range(0, rows, 500_000):
            X = rng.normal(size=(min(500_000, rows - first), FEATURES))
            writer.write_table(pa.table({f"x{j}": X[:, j] for j in range(FEATURES)}))


def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, FEATURES))
    y = X[:, 0] + np.exp(X[:, 1] / 2) * rng.normal(size=len(X))
    return widthwise.WidthwiseRegressor(random_state=0, n_jobs=1).fit(X, y)


def seconds(action, out):
    shutil.rmtree(out, ignore_errors=True)
    start = time.perf_counter()
    action().write.parquet(str(out))
    return time.perf_counter() - start


def main(rows, repeats, folder):
    source, out = str(folder / "rows.parquet"), folder / "out"
    write_rows(source, rows)
    model = fitted()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    tasks = {
        "Parquet in and out": lambda: spark.read.parquet(source),
        "Arrow alone": lambda: spark.read.parquet(source).mapInArrow(
            lambda batches: batches, spark.read.parquet(source).schema
        ),
        "intervals": lambda: widthwise.spark.predict_interval(spark.read.parquet(source), model),
    }
    taken = {name: [] for name in tasks}
    for turn in range(repeats + 1):
        for name, task in tasks.items():
            value = seconds(task, out)
            if turn:  # the first turn starts Java's compiler and the Python workers
                taken[name].append(value)
    spark.stop()
    plain = taken["Parquet in and out"]
    for name, values in taken.items():
        ratios = sorted(value / base for value, base in zip(values, plain, strict=True))
        print(
            f"{name:20} {statistics.median(values):6.2f} s  ratio {statistics.median(ratios):.2f}"
            f"  ({ratios[0]:.2f} to {ratios[-1]:.2f}), {rows:,} rows, {len(values)} turns"
        )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        numbers = [int(argument) for argument in sys.argv[1:]]
        main(*(numbers + [2_000_000, 9][len(numbers) :]), Path(folder))
