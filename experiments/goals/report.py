"""Write the page of results from the records."""

from __future__ import annotations

import math
from pathlib import Path

from ..field.datasets import DEVELOPED, by_slab
from ..records import (
    Check,
    Record,
    check_list,
    environment_line,
    markdown_table,
    mean,
    paragraph,
    read,
    read_environment,
    standard_error,
)
from .suite import GOALS

DEFAULT, EARLIER = "balanced", "evenness 0.85"
LEVELS = (0.68, 0.9, 0.95)

Table = dict[tuple[str, str, float], list[Record]]


def write(folder: Path) -> list[Check]:
    """Read goals.csv.gz, write goals.md next to it, and return the checks."""
    table: Table = {}
    for record in read(folder / "goals.csv.gz"):
        key = (record["dataset"], record["method"], round(1 - record["alpha"], 10))
        table.setdefault(key, []).append(record)
    datasets = [name for name in DEVELOPED if (name, DEFAULT, 0.9) in table]
    checks = [score(table, datasets), width(table, datasets), slab(table, datasets), covers(table, datasets)]
    parts = [
        "# The goals, as the package is now",
        paragraph(
            "This page compares the default with the other goals, with one width, and with the earlier default, evenness "
            "0.85, on the rows and with the base model of the first splits of [the comparison](field.md), "
            f"{max(len(records) for records in table.values())} per data set. All are trained by the same version of the "
            "package. It is written by `python -m experiments.goals`. Figures are means over the splits."
        ),
        paragraph(environment_line(read_environment(folder / "goals.csv.gz"))),
        "## What must hold",
        check_list(checks),
        *(part for level in LEVELS for part in section(table, datasets, level)),
    ]
    (folder / "goals.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return checks


def values(table: Table, dataset: str, method: str, measure: str, level: float = 0.9) -> float:
    return mean([record[measure] for record in table[dataset, method, level]])


def ratios(table: Table, datasets: list[str], measure: str) -> dict[str, float]:
    """The default relative to the earlier one, by data set."""
    return {
        name: values(table, name, DEFAULT, measure) / values(table, name, EARLIER, measure) - 1 for name in datasets
    }


def stated(found: dict[str, float]) -> str:
    return f"{100 * mean(list(found.values())):+.1f}%: " + ", ".join(f"{n} {100 * v:+.1f}%" for n, v in found.items())


def check(text: str, passed: bool, figures: str) -> Check:
    """A check that shows its figures in either case."""
    return Check(f"{text}. Measured: {figures}", [] if passed else ["not reached"])


def score(table: Table, datasets: list[str]) -> Check:
    found = ratios(table, datasets, "interval_score")
    passed = mean(list(found.values())) <= -0.05 and max(found.values()) <= 0
    text = "interval score of the default at 90%: at least 5% below the earlier default on average, none larger"
    return check(text, passed, stated(found))


def width(table: Table, datasets: list[str]) -> Check:
    found = ratios(table, datasets, "width")
    text = "mean width of the default at 90%: no larger than that of the earlier default on average"
    return check(text, mean(list(found.values())) <= 0, stated(found))


def slab(table: Table, datasets: list[str]) -> Check:
    found = {
        name: values(table, name, DEFAULT, "worst_slab") - values(table, name, EARLIER, "worst_slab")
        for name in datasets
        if by_slab(name)
    }
    listed = ", ".join(f"{name} {value:+.3f}" for name, value in found.items())
    text = "coverage in the worst slab: at least that of the earlier default on average"
    average = mean(list(found.values())) if found else math.nan
    return check(text, not average < 0, f"{average:+.3f}: {listed}" if found else "no data set is large enough")


def covers(table: Table, datasets: list[str]) -> Check:
    low = []
    for name in datasets:
        coverage = [record["coverage"] for record in table[name, DEFAULT, 0.9]]
        if len(coverage) > 1 and mean(coverage) + 3 * standard_error(coverage) < 0.9:
            low.append(name)
    return Check("coverage of the default at 90% is not below its level by more than three standard errors", low)


def section(table: Table, datasets: list[str], level: float) -> list[str]:
    rows = []
    for name in datasets:
        cells = [name]
        for goal in GOALS:
            width_, score_ = (values(table, name, goal, measure, level) for measure in ("width", "interval_score"))
            slab_ = f" / {values(table, name, goal, 'worst_slab'):.3f}" if level == 0.9 and by_slab(name) else ""
            cells.append(f"{width_:.3f} / {score_:.3f}{slab_}")
        rows.append(cells)
    more = " / coverage in the worst slab" if level == 0.9 else ""
    found = [f"## {100 * level:g}%", markdown_table(["", *GOALS], rows), paragraph(f"Width / interval score{more}.")]
    if level != 0.9:
        return found
    seconds = [
        [
            name,
            *(f"{values(table, name, goal, 'seconds'):.2f}" for goal in GOALS),
            f"{values(table, name, DEFAULT, 'base_seconds'):.1f}",
        ]
        for name in datasets
    ]
    return [
        *found,
        markdown_table(["", *GOALS, "base model, six fits"], seconds),
        paragraph("Seconds of processor time to train the localizer."),
    ]
