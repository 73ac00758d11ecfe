"""Shared fixtures of tests on real data."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder():
    """The folder of data sets."""
    value = os.environ.get("WIDTHWISE_DATA")
    if not value:
        pytest.skip("set WIDTHWISE_DATA to the folder of datasets.json to test on real data")
    return Path(value)
