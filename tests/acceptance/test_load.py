"""A service under load: 16 threads, hot reloads, bit-identical results, constant memory.

Runs for seconds by default, for ten minutes with WIDTHWISE_FULL=1, or for WIDTHWISE_LOAD_SECONDS.
"""

import json
import os
import subprocess

import pyarrow.parquet
from programs import required_path
from test_serving import table

SECONDS = float(os.environ.get("WIDTHWISE_LOAD_SECONDS") or (600 if os.environ.get("WIDTHWISE_FULL") else 2))
THREADS = 16


def test_hot_reloads_under_load_give_the_same_bits_in_flat_memory(run, tmp_path):
    models = []
    for seed in (1, 2):
        pyarrow.parquet.write_table(table(800, seed).drop_columns("f"), tmp_path / f"{seed}.parquet")
        models.append(tmp_path / f"{seed}.safetensors")
        run("fit", tmp_path / f"{seed}.parquet", "--target", "y", "--base", "trees", "-o", models[-1])
    load = required_path("WIDTHWISE_LOAD")
    done = subprocess.run(
        [load, *models, str(SECONDS / 2), str(THREADS)],
        capture_output=True,
        text=True,
        timeout=SECONDS + 600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    print(f"{THREADS} threads, {SECONDS / 2:g} s: {found}")
    assert found["wrong"] == 0
    assert found["requests"] > 1000
    assert found["reloads"] >= 5
    # At most two models are in memory at a time, regardless of the number of reloads.
    assert found["end_kb"] < found["early_kb"] + 20_000
