"""The default number of training threads suits the table and the machine."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import threads as bench  # noqa: E402


@pytest.fixture(scope="module")
def fits(program, tmp_path_factory):
    return bench.Program(program, tmp_path_factory.mktemp("threads"))


def test_threads_that_wait_do_not_use_the_processors(fits):
    assert bench.cost_of_waiting(fits) < 2


@pytest.mark.skipif("WIDTHWISE_FULL" not in os.environ, reason="several minutes; set WIDTHWISE_FULL=1")
@pytest.mark.parametrize("rows", bench.ROWS)
def test_the_default_is_near_the_best(fits, rows):
    """Compare medians of wall time of alternating runs."""
    ratios = bench.compare(fits, rows)
    assert ratios["default over best"] < 1.2
    assert ratios["two at once over one"] < 2.3
