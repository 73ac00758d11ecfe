"""Peers in an environment of their own, because they need other versions of packages than the others.

The environment is made from requirements-apart.txt when it is first needed. Arrays are exchanged as files.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...runner import BUILD
from ..protocol import LEVELS, Floats, Split

ENVIRONMENT = BUILD / "apart"
REQUIREMENTS = Path(__file__).parents[2] / "requirements-apart.txt"
PROGRAM = Path(__file__).with_name("apart_program.py")


def apart(method: str) -> Callable[[Split], Floats]:
    """The peer with this name in apart_program.py."""

    def peer(split: Split) -> Floats:
        python = environment()
        with tempfile.TemporaryDirectory() as folder:
            given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
            np.savez(
                given,
                X_fit=split.X_fit,
                y_fit=split.y_fit,
                f_fit=split.oof,
                X_cal=split.X_cal,
                y_cal=split.y_cal,
                f_cal=split.f_cal,
                X_test=split.X_test,
                f_test=split.f_test,
                levels=np.array(LEVELS),
                seed=np.array(split.seed),
            )
            run(str(python), str(PROGRAM), method, str(given), str(found))
            intervals: Floats = np.load(found)["intervals"]
            return intervals

    return peer


def environment() -> Path:
    """The interpreter of the environment."""
    python, complete = ENVIRONMENT / "bin/python", ENVIRONMENT / "complete"
    ENVIRONMENT.mkdir(parents=True, exist_ok=True)
    with (ENVIRONMENT.parent / "apart.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several workers may need it at once
        if not complete.exists():
            run(sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT))
            run(str(python), "-m", "pip", "install", "--quiet", "--requirement", str(REQUIREMENTS))
            complete.touch()
    return python


def run(*command: str) -> None:
    """Run a program; an error has the last line that it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
        raise RuntimeError(f"exit code {done.returncode}: {lines[-1]}")
