"""Run the fuzz target of the Python package, fuzz/python_entries.py, on random inputs with a fixed seed; inputs of
libFuzzer are as large as files of users."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "fuzz" / "python_entries.py"
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


def test_libfuzzer_uses_long_inputs_from_the_start():
    """By default it lengthens inputs slowly, and kept those of csv and command_line near 100 bytes."""
    script = (ROOT / "tools/fuzz").read_text()
    assert '"-len_control=0"' in script
    limit = int(re.search(r"^MAX_BYTES = (\d+)$", script, re.MULTILINE)[1])
    for name in ("csv", "command_line"):
        sizes = sorted(file.stat().st_size for file in (ROOT / "fuzz/corpus" / name).iterdir())
        assert sizes[-4] > limit / 3 and sizes[-1] <= limit, (name, sizes)
