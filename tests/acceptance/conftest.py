"""What the acceptance tests share: the program under test, the data sets, and a way to run commands."""

import pytest
from programs import required_path, run_program


@pytest.fixture(scope="session")
def program():
    """The command line program."""
    return required_path("WIDTHWISE_PROGRAM")


@pytest.fixture(scope="session")
def serve():
    """The example that serves intervals with widthwise::core alone."""
    return required_path("WIDTHWISE_SERVE")


@pytest.fixture(scope="session")
def run():
    """Run a command of the program; the answer of --json is parsed."""
    return run_program
