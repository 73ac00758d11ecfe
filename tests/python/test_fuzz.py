"""Run the fuzz target of the Python package, fuzz/python_entries.py, on random inputs with a fixed seed."""

import os
import subprocess
import sys
from pathlib import Path

TARGET = Path(__file__).parents[2] / "fuzz" / "python_entries.py"
INPUTS = 100_000 if os.environ.get("WIDTHWISE_FULL") else 1000


def test_odd_inputs_give_a_result_or_a_clear_error(tmp_path):
    done = subprocess.run(
        [sys.executable, "-B", "-X", "faulthandler", str(TARGET), "--replay", str(INPUTS)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr}"
