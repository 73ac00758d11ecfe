"""What the tests of the Python package share: models, and programs to run.

The package tested is the one installed. WIDTHWISE_PROGRAM names a command line to compare with; by default the one that
the package installs.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from examples import N_JOBS, Rows
from widthwise import WidthwiseRegressor


@pytest.fixture(scope="session")
def rows():
    return Rows(3000)


@pytest.fixture(scope="session")
def fresh():
    return Rows(2000, seed=1)


@pytest.fixture(scope="session")
def model(rows):
    """With XGBoost's trees as the base model."""
    return WidthwiseRegressor(random_state=0, n_jobs=N_JOBS).fit(rows.X, rows.y)


@pytest.fixture(scope="session")
def program():
    """The command `widthwise`."""
    named = os.environ.get("WIDTHWISE_PROGRAM")
    found = named or shutil.which("widthwise", path=str(Path(sys.executable).parent))
    if not found:
        pytest.skip("there is no command widthwise beside this Python, and WIDTHWISE_PROGRAM is not set")

    def run(*arguments, **options):
        return subprocess.run(
            [found, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False, **options
        )

    return run


@pytest.fixture
def run_python(tmp_path):
    """Run a script in a Python of its own, away from the source tree."""

    def run(script, *arguments, timeout=300, **options):
        file = tmp_path / "script.py"
        file.write_text(script)
        return subprocess.run(
            [sys.executable, str(file), *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            **options,
        )

    return run
