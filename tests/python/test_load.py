"""Mixed load from eight threads: bit-identical results, constant memory.

Runs for seconds by default, for an hour with WIDTHWISE_FULL=1, or for WIDTHWISE_LOAD_SECONDS.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

SECONDS = float(os.environ.get("WIDTHWISE_LOAD_SECONDS") or (3600 if os.environ.get("WIDTHWISE_FULL") else 2))
THREADS = 8


def test_mixed_load_gives_the_same_bits_in_flat_memory():
    done = subprocess.run(
        [sys.executable, "-B", str(Path(__file__).parent / "load.py"), str(SECONDS), str(THREADS)],
        capture_output=True,
        text=True,
        timeout=SECONDS + 600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(f"{THREADS} threads, {SECONDS:g} s: {found}")
    assert found["wrong"] == 0
    assert found["calls"] > 10
    # The objects have bounded size; the rest is memory of the allocator and of Python.
    assert found["end_kb"] < found["half_time_kb"] + 30_000
