"""The README shows the table of the results, not a memory of it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results"


def tables_of(text):
    """Tables of Markdown: runs of lines that begin with a bar, with single blanks."""
    table, tables = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            table.append(" ".join(line.split()))
        elif table:
            tables.append("\n".join(table))
            table = []
    return tables


@pytest.mark.skipif(not (RESULTS / "field.md").exists(), reason="the field was not run yet")
def test_the_readme_has_the_table_and_the_picture_of_the_field():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    page = (RESULTS / "field.md").read_text(encoding="utf-8")
    in_short = page[page.index("## In short") :]
    assert tables_of(in_short)[0] in tables_of(readme)
    assert "experiments/results/field.png" in readme
