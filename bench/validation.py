"""Time the validation of Arrow columns per million values, and the rejection of large model files.

python bench/validation.py
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from widthwise import Predictor, _core, _tables

ROWS = 1_000_000
REPEATS = 9


def best(action: object) -> float:
    """The shortest time in milliseconds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def columns() -> None:
    random = np.random.default_rng(0)
    labels = np.array([f"label-{i}" for i in range(500)], dtype=object)
    text = pa.array(labels[random.integers(0, 500, ROWS)])
    kinds = {
        "double": pa.array(random.normal(size=ROWS)),
        "double, 10% missing": pa.array(np.where(random.random(ROWS) < 0.1, np.nan, 1), from_pandas=True),
        "text": text,
        "large text": text.cast(pa.large_string()),
        "string views": text.cast(pa.string_view()),
        "dictionary": text.dictionary_encode(),
    }
    print("| 1e6 values | pyarrow validates | C++ checks | labels read |\n|---|---|---|---|")
    for name, column in kinds.items():
        table = pa.table({"x": column})
        validated = best(lambda table=table: _tables.validated(table, "X"))
        checked = best(lambda table=table: _core.Table.from_stream(table.__arrow_c_stream__()))
        borrowed = _core.Table.from_stream(table.__arrow_c_stream__())
        read = (
            f"{best(lambda borrowed=borrowed: borrowed.labels(0, 1000)):.0f} ms" if borrowed.kind(0) == "text" else ""
        )
        print(f"| {name} | {validated:.3f} ms | {checked:.3f} ms | {read} |")


def files() -> None:
    golden = Path(__file__).parents[1] / "tests/golden/model-trees.safetensors"
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.safetensors"
        for name, content in {
            "model with a hole of 8 GB": golden.read_bytes(),
            "header of 84 MB": (84_000_000).to_bytes(8, "little") + b"{",
        }.items():
            large.write_bytes(content)
            os.truncate(large, 8 << 30)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            start = time.perf_counter()
            try:
                Predictor.load(large)
            except ValueError as error:
                seconds = time.perf_counter() - start
                memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
                print(f"{name}: {1e3 * seconds:.1f} ms, {memory / 1024:.1f} MB: {str(error)[len(str(large)) + 2 :]}")


if __name__ == "__main__":
    columns()
    files()
