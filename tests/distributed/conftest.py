"""Shared fixtures of tests with several processes. WIDTHWISE_PROGRAM and WIDTHWISE_PROBE name the programs."""

import subprocess
from pathlib import Path

import pytest
from workers import Apart, Here, write_table


@pytest.fixture(params=["one address", "an address each"])
def network(request):
    if request.param == "one address":
        yield Here()
        return
    try:
        apart = Apart(4)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no network namespaces here: {getattr(error, 'stderr', None) or error}")
    yield apart
    apart.close()


@pytest.fixture
def table(tmp_path) -> Path:
    """Rows with predictions; the errors grow with `a`."""
    return write_table(tmp_path / "rows.parquet", 4000)
