"""Tables of widths and training times of the goals, and of what the shortest intervals gain."""

from __future__ import annotations

from collections.abc import Sequence

from ..records import markdown_table, mean, paired_ratios, paragraph
from .checks import ONE_WIDTH
from .datasets import by_slab
from .equal_coverage import MIN_SPLITS, compare
from .ours import EVEN, FRONTIER, NARROW, SHORTEST
from .table import ALPHA, Table, known_mean

REFERENCE = "evenness 0.85"  # whatever the default is
LEVELS = (0.32, ALPHA, 0.05)


def sections(table: Table, datasets: list[str]) -> list[str]:
    """The sections; that of the shortest intervals is left out if the records do not have them."""
    parts = ["## Training time of the goals", seconds_table(table, datasets), SECONDS]
    if all((name, SHORTEST, ALPHA) in table for name in datasets):
        parts += ["## Shortest and central intervals", shortest_table(table, datasets), SHORTEST_TEXT]
    if all(len(table[name, goal, ALPHA]) >= MIN_SPLITS for name in datasets for goal in (*FRONTIER, ONE_WIDTH)):
        parts += ["## Width compared with one width at equal coverage", equal_table(table, datasets), EQUAL]
    return parts


EQUAL = paragraph(
    "Width of a goal divided by that of one width at 90%, if both covered the same share of the test rows, ± standard "
    "error: by a linear regression of the log ratio on the difference in coverage over the splits. In brackets the mean "
    "difference in coverage that was measured, in percentage points."
)


def equal_table(table: Table, datasets: list[str]) -> str:
    """The ratio of widths at equal coverage, by data set and goal."""
    goals = [goal for goal in (*FRONTIER, SHORTEST) if all((name, goal, ALPHA) in table for name in datasets)]
    rows = []
    for name in datasets:
        found = [compare(table, name, goal, ONE_WIDTH) for goal in goals]
        rows.append(
            [
                name,
                *(
                    f"{one.at_equal_coverage:.3f} ± {one.standard_error:.3f} "
                    f"({100 * (one.coverages[0] - one.coverages[1]):+.1f})"
                    for one in found
                ),
            ]
        )
    return markdown_table(["", *goals], rows)


SECONDS = paragraph(
    "Smallest and largest ratio of the mean processor seconds of a data set, on one thread. The base model is fitted six "
    "times: for five folds and for all fitting rows. One width is calibrated by MAPIE."
)


def seconds_table(table: Table, datasets: list[str]) -> str:
    """The time of every goal relative to evenness 0.85 and to one width."""
    rows = []
    for goal in (*FRONTIER, SHORTEST):
        if all((name, goal, ALPHA) in table for name in datasets):
            rows.append(
                [
                    goal,
                    span(seconds_ratios(table, datasets, goal, REFERENCE, with_base=False)),
                    span(seconds_ratios(table, datasets, goal, REFERENCE)),
                    span(seconds_ratios(table, datasets, goal, ONE_WIDTH)),
                ]
            )
    header = [
        "",
        f"localizer alone, relative to {REFERENCE}",
        f"with the base model, relative to {REFERENCE}",
        "with the base model, relative to one width",
    ]
    return markdown_table(header, rows)


def seconds_ratios(table: Table, datasets: Sequence[str], one: str, other: str, with_base: bool = True) -> list[float]:
    """For each data set, the mean seconds of a method divided by those of another on their common splits."""
    found = []
    for name in datasets:
        records = {
            method: {record["split"]: record for record in table[name, method, ALPHA]} for method in (one, other)
        }
        splits = records[one].keys() & records[other].keys()
        seconds = {
            method: mean([here[split]["seconds"] + with_base * here[split].get("base_seconds", 0) for split in splits])
            for method, here in records.items()
        }
        found.append(seconds[one] / seconds[other])
    return found


def span(ratios: list[float]) -> str:
    """The smallest and the largest ratio as text."""
    low, high = (f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" for ratio in (min(ratios), max(ratios)))
    return low if low == high else f"{low} to {high}"


def width_table(table: Table, datasets: list[str]) -> str:
    """Widths relative to one width, and coverage in the worst slab, of narrow and of even with both transforms."""
    goals = (NARROW, EVEN, SHORTEST)
    rows = []
    for name in datasets:
        one_width = table[name, ONE_WIDTH, ALPHA]
        row = [f"{mean(paired_ratios(table[name, goal, ALPHA], one_width, 'width', 'split')):.3f}" for goal in goals]
        slabs = [known_mean(table, name, method, "worst_slab") for method in (ONE_WIDTH, *goals)]
        rows.append([name, *row, *(f"{slab:.3f}" if by_slab(name) else "" for slab in slabs)])
    slab = [f"worst slab: {method}" for method in ("one width", *goals)]
    return markdown_table(["data set", *(f"{goal}: width" for goal in goals), *slab], rows)


SHORTEST_TEXT = paragraph(
    f"`{SHORTEST}` compared with `{EVEN}`: the mean over the data sets of the mean ratio over the splits, minus 1, with the "
    "smallest and the largest data set, and the number of data sets on which it is smaller. `even` takes central intervals, "
    "of the same distribution where it chooses `spline`."
)


def shortest_table(table: Table, datasets: list[str]) -> str:
    """Width and interval score of the shortest intervals relative to those of `even`, by level."""
    rows = []
    for alpha in LEVELS:
        row = [f"{1 - alpha:.0%}"]
        for value in ("width", "interval_score"):
            ratios = [
                mean(paired_ratios(table[name, SHORTEST, alpha], table[name, EVEN, alpha], value, "split"))
                for name in datasets
            ]
            row += [
                f"{_percent(mean(ratios))} ({_percent(min(ratios))} to {_percent(max(ratios))})",
                f"{sum(ratio < 1 for ratio in ratios)} of {len(ratios)}",
            ]
        rows.append(row)
    return markdown_table(["level", "width", "narrower on", "interval score", "smaller on"], rows)


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f}%"
