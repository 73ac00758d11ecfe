"""What the tests of the Python package share: rows whose noise depends on them, and models of those rows.

The package tested is the one installed. WIDTHWISE_PROGRAM names a command line to compare with; by default the one that the
package installs.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from widthwise import WidthwiseRegressor

# A busy machine makes XGBoost's threads wait for each other for ever; one thread never waits.
N_JOBS = 1


class Rows:
    """n rows of three features, some values missing, with errors that grow with the first."""

    def __init__(self, n, seed=0):
        rng = np.random.default_rng(seed)
        self.X = rng.uniform(0, 4, (n, 3))
        self.y_pred = 2 * self.X[:, 0] - self.X[:, 1]
        self.scale = 0.1 + 0.5 * self.X[:, 0]
        self.y = self.y_pred + self.scale * rng.normal(size=n)
        self.X[rng.random((n, 3)) < 0.02] = np.nan

    def frame(self):
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame(self.X, columns=["size", "age", "noise"])


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
