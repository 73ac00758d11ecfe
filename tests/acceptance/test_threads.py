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
    """Compare the CPU time of two simultaneous fits with that of a single fit.

    Threads that spin while they wait take 5 to 50 times as much. CPU time hardly depends on other load.
    """
    alone = fits.run(10_000, [1])
    together = fits.run(10_000, [0, 0])
    print(f"\none thread: {alone.cpu:.1f} s of CPU; two fits by default: {together.cpu:.1f} s")
    assert together.cpu < 2 * 2 * alone.cpu


@pytest.mark.skipif("WIDTHWISE_FULL" not in os.environ, reason="several minutes; set WIDTHWISE_FULL=1")
@pytest.mark.parametrize("rows", bench.ROWS)
def test_the_default_is_near_the_best(fits, rows):
    """Compare medians of wall time of alternating runs."""
    ratios = bench.compare(fits, rows)
    assert ratios["default over best"] < 1.2
    assert ratios["two at once over one"] < 2.3
