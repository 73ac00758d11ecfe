"""Shared fixtures of the acceptance tests: the program under test, the data sets, and running commands."""

import pytest
from programs import required_path, run_program


@pytest.fixture(scope="session")
def program():
    """The command line program."""
    return required_path("WIDTHWISE_PROGRAM")


@pytest.fixture(scope="session")
def serve():
    """The example that serves intervals with only widthwise::core."""
    return required_path("WIDTHWISE_SERVE")


@pytest.fixture(scope="session")
def run():
    """Run a command of the program; parse the output of --json."""
    return run_program
