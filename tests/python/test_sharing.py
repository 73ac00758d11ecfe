"""Every object of the package may be shared between threads; each call is atomic."""

import os
import subprocess
import sys
from pathlib import Path

import races

REPEATS = 50 if os.environ.get("WIDTHWISE_FULL") else 2


def test_threads_share_every_object():
    done = subprocess.run(
        [sys.executable, str(Path(races.__file__)), str(REPEATS)],
        capture_output=True,
        text=True,
        timeout=3000,
        check=False,
    )
    raced = done.stdout.split()
    assert done.returncode == 0, f"exit {done.returncode} in the race {raced[-1]}\n{done.stderr}"
    assert raced == [race.__name__ for race in races.RACES]
