"""What the acceptance tests share: the program under test, the data sets, and a way to run commands."""

import json
import os
import subprocess
from pathlib import Path

import pytest


def required_path(variable):
    value = os.environ.get(variable)
    if not value:
        pytest.fail(f"{variable} is not set; run these tests with ctest, which sets it")
    return Path(value)


@pytest.fixture(scope="session")
def program():
    """The command line program."""
    return required_path("WIDTHWISE_PROGRAM")


@pytest.fixture(scope="session")
def serve():
    """The example that serves intervals with widthwise::core alone."""
    return required_path("WIDTHWISE_SERVE")


@pytest.fixture(scope="session")
def run(program):
    """Run a command of the program; the answer of --json is parsed."""

    def command(*arguments):
        words = [str(program), *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=1800)
        assert done.returncode == 0, f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr}"
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    return command
