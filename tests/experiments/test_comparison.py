"""docs/other-libraries.md shows the table and the picture of the results, and its claims agree with them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results"


def tables_of(text):
    """The tables of a Markdown text: consecutive lines that begin with a bar, with single blanks."""
    table, tables = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            table.append(" ".join(line.split()))
        elif table:
            tables.append("\n".join(table))
            table = []
    return tables


@pytest.mark.skipif(not (RESULTS / "field.md").exists(), reason="the comparison was not run yet")
def test_the_page_has_the_table_and_the_picture_of_the_results():
    comparison = (ROOT / "docs/other-libraries.md").read_text(encoding="utf-8")
    page = (RESULTS / "field.md").read_text(encoding="utf-8")
    in_short = page[page.index("## In short") :]
    assert tables_of(in_short)[0] in tables_of(comparison)
    assert "experiments/results/field.png" in comparison


@pytest.mark.skipif(not (RESULTS / "field.md").exists(), reason="the comparison was not run yet")
def test_the_comparison_says_what_narrow_is_narrower_than():
    """No other method is narrower than narrow on any data set; where one is as narrow, or another goal of ours narrower,
    the page says so."""
    comparison = " ".join((ROOT / "docs/other-libraries.md").read_text(encoding="utf-8").split())
    page = (RESULTS / "field.md").read_text(encoding="utf-8")
    table = tables_of(page[page.index("## The goals and all peers at 90%") :])[0].splitlines()
    names, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table if "---" not in line]
    widths = {row[0]: dict(zip(names[1:], (cell.split(" /")[0] for cell in row[1:]), strict=True)) for row in rows}
    narrow = widths.pop("narrow")
    goals = {name: widths.pop(name) for name in ("even", "evenness 0.85", "evenness 0.5")}
    words = {6: "six", 7: "seven", 16: "sixteen"}
    narrower = 0
    ran = []  # methods, by data set
    for data_set, width in narrow.items():
        others = {name: float(peer[data_set]) for name, peer in widths.items() if peer[data_set]}
        ran.append(len(others))
        as_narrow = [name for name, other in others.items() if other <= float(width)]
        narrower += not as_narrow
        for name in as_narrow:
            assert others[name] == float(width)
            assert f"on {data_set} {name} is as narrow: {width}" in comparison.lower()
        for name, goal in goals.items():
            if float(goal[data_set]) < float(width):
                assert f"On {data_set} our own {name} is narrower still: {goal[data_set]}." in comparison
    sets = "every data set" if narrower == len(narrow) else f"{words[narrower]} of the {words[len(narrow)]} data sets"
    for text in (comparison, " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())):
        assert f"narrower than each of the {min(ran)} to {max(ran)} methods that ran, on {sets}" in text
        assert f"{words[len(widths)]} other methods" in text
