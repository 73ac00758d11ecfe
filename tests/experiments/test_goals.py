"""What README says of the default is what its records say."""

from pathlib import Path

from experiments import records
from experiments.field.datasets import DEVELOPED, by_slab
from experiments.goals.report import DEFAULT, values, write
from experiments.records import RESULTS

README = Path(__file__).parents[2] / "README.md"


def table_of_goals():
    table = {}
    for record in records.read(RESULTS / "goals.csv.gz"):
        key = (record["dataset"], record["method"], round(1 - record["alpha"], 10))
        table.setdefault(key, []).append(record)
    return table


def span(shares):
    return f"{min(shares):.0%} to {max(shares):.0%}"


def test_the_readme_has_the_figures_of_the_default():
    table, readme = table_of_goals(), " ".join(README.read_text().split())
    gains = [
        1 - values(table, name, DEFAULT, "interval_score") / values(table, name, "one width", "interval_score")
        for name in DEVELOPED
    ]
    assert f"its interval score is {span(gains)} smaller than that of one width" in readme
    slabs = {
        goal: span([values(table, name, goal, "worst_slab") for name in DEVELOPED if by_slab(name)])
        for goal in (DEFAULT, "one width")
    }
    assert f"it covers {slabs[DEFAULT]} in the worst slab of the four large ones" in readme
    assert f"where one width covers {slabs['one width']}" in readme


def test_the_default_has_a_smaller_interval_score_than_the_earlier_one(tmp_path):
    for file in RESULTS.glob("goals.*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    checks = write(tmp_path)
    assert (tmp_path / "goals.md").read_text() == (RESULTS / "goals.md").read_text()
    assert "-5.6%" in checks[0].name and checks[2].passed and checks[3].passed
