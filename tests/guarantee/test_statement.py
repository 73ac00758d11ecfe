"""The guarantee has the same wording wherever it is claimed, with both conditions: exchangeable, marginal."""

import inspect
import subprocess
from pathlib import Path

import pytest
from adapters import program

import widthwise

ROOT = Path(__file__).parents[2]

STATEMENT = (
    "If new rows are exchangeable with the calibration rows, a 90% interval contains the outcome with probability at "
    "least 90%, on average over calibration sets and new rows (marginal coverage). This holds for any model and any "
    "data distribution, at any sample size. It does not say that coverage is 90% for every kind of row; `evaluate` and "
    "the report measure that."
)

DOCUMENTS = ["README.md", "docs/command-line.md", "docs/mathematics.md", "docs/python.md", "docs/training.md"]


def words_of(text):
    """The words of a text, without line breaks, Markdown quote marks, and quotes around names of commands."""
    lines = (line.removeprefix("> ") for line in text.splitlines())
    return " ".join(" ".join(lines).replace("`", "").replace("'", "").split())


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_state_the_guarantee(document):
    assert words_of(STATEMENT) in words_of((ROOT / document).read_text())


@pytest.mark.parametrize("thing", [widthwise, widthwise.WidthwiseRegressor], ids=lambda thing: thing.__name__)
def test_docstrings_state_the_guarantee(thing):
    assert words_of(STATEMENT) in words_of(inspect.getdoc(thing))


def test_the_main_help_states_the_guarantee():
    shown = subprocess.run([program(), "--help"], capture_output=True, text=True, check=True).stdout
    assert words_of(STATEMENT) in words_of(shown)
