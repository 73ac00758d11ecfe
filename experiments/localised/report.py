"""Write the page of localised calibration from the records."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from .. import data
from ..field.table import ALPHA, Table, by_cell, difference, known_mean, methods_of, values
from ..records import (
    Check,
    check_list,
    environment_line,
    markdown_table,
    mean,
    paragraph,
    read,
    read_environment,
    standard_error,
)
from .suite import DEFAULT, EVEN, GOALS, NARROW, SPLITS

# Measures of evenness, and whether a larger value is more even.
MEASURES = {"worst_slab": 1, "ert": -1, "gap_by_prediction": -1}
TITLES = {"worst_slab": "worst slab", "ert": "ERT", "gap_by_prediction": "gap by prediction"}
# Goals with localised calibration, and the goals without it with which they are compared.
PAIRS = ((DEFAULT, EVEN), (NARROW, DEFAULT), (DEFAULT, DEFAULT), (EVEN, EVEN))
ENOUGH = 2  # standard errors that a gain must exceed


class Gain(NamedTuple):
    """How much more even a method is than another; positive is better."""

    value: float
    error: float

    @property
    def clear(self) -> bool:
        return self.value > ENOUGH * self.error

    def __str__(self) -> str:
        return f"{self.value:+.3f} ± {self.error:.3f}"


def write(folder: Path) -> list[Check]:
    """Read localised.csv.gz, write localised.md next to it, and return the checks."""
    table = by_cell(read(folder / "localised.csv.gz"))
    datasets = [name for name in SPLITS if (name, DEFAULT, ALPHA) in table]
    checks = [coverage_holds(table)]
    about = environment_line(read_environment(folder / "localised.csv.gz"))
    (folder / "localised.md").write_text(page(table, datasets, checks, about), encoding="utf-8")
    return checks


def coverage_holds(table: Table) -> Check:
    """Coverage over all splits is at most three standard errors below the level, as in the comparison."""
    failures = []
    for (dataset, method, alpha), records in table.items():
        part = data.FACTS[dataset]["rows"] / 5  # rows that calibrate, and rows that test
        error = math.sqrt(alpha * (1 - alpha) * 2 / part / len(records))
        coverage = mean([record["coverage"] for record in records])
        if coverage < 1 - alpha - 3 * error:
            failures.append(f"{dataset}, {method}: {coverage:.4f}, standard error {error:.4f}")
    return Check("coverage is not below 90% by more than three standard errors, for every method", failures)


# ---- comparison with the goals at equal width


def frontier(table: Table, dataset: str, measure: str) -> list[str]:
    """The goals for which no other goal is narrower and more even, on average, from the narrowest."""
    best = -math.inf
    kept: list[str] = []
    for goal in sorted(GOALS, key=lambda name: mean(values(table, dataset, name, "width"))):
        evenness = MEASURES[measure] * known_mean(table, dataset, goal, measure)
        if evenness > best:
            best = evenness
            kept.append(goal)
    return kept


def mixture(table: Table, dataset: str, method: str, measure: str) -> dict[str, float]:
    """The two goals of the frontier between whose widths the method lies, with weights that give its mean width.

    A method that is wider than the whole frontier is compared with its widest goal, a narrower one with its narrowest.
    """
    width = mean(values(table, dataset, method, "width"))
    goals = {goal: mean(values(table, dataset, goal, "width")) for goal in frontier(table, dataset, measure)}
    below = [goal for goal in goals if goals[goal] <= width]
    above = [goal for goal in goals if goals[goal] > width]
    if not below or not above:
        return {(below[-1] if below else above[0]): 1.0}
    share = (width - goals[below[-1]]) / (goals[above[0]] - goals[below[-1]])
    return {below[-1]: 1 - share, above[0]: share}


def gain_over_goals(table: Table, dataset: str, method: str, measure: str) -> Gain:
    """How much more even a method is than the goals at its mean width, paired by split."""
    parts = mixture(table, dataset, method, measure)
    by_split = {goal: {record["split"]: record[measure] for record in table[dataset, goal, ALPHA]} for goal in parts}
    gains = [
        MEASURES[measure]
        * (record[measure] - sum(share * by_split[goal][record["split"]] for goal, share in parts.items()))
        for record in table[dataset, method, ALPHA]
    ]
    return Gain(mean(gains), standard_error(gains))


def is_better(table: Table, dataset: str, one: str, other: str) -> bool:
    """Whether a method is clearly narrower or more even than another, and clearly worse in nothing."""
    gains = []
    for value, sign in {"width": -1, **MEASURES}.items():
        change, error = difference(table, dataset, one, other, value)
        gains.append(Gain(sign * change, error))
    return any(gain.clear for gain in gains) and not any(Gain(-gain.value, gain.error).clear for gain in gains)


def localised_methods(table: Table, dataset: str, base: str | None = None) -> list[str]:
    """The methods with localised calibration, of one base or of all."""
    methods = [method for method in methods_of(table, dataset) if is_localised(method)]
    return [method for method in methods if base is None or method.startswith(f"{base}, ")]


def is_localised(method: str) -> bool:
    return "1/" in method and not is_grouped(method)


def is_grouped(method: str) -> bool:
    return ", groups" in method


def clear_gains(table: Table, dataset: str, measure: str) -> tuple[list[str], list[str]]:
    """The localised calibrations that are clearly more even than the goals: at equal width, and wider than all goals."""
    equal: list[str] = []
    wider: list[str] = []
    for method in localised_methods(table, dataset):
        if gain_over_goals(table, dataset, method, measure).clear:
            widest = frontier(table, dataset, measure)[-1]
            (wider if difference(table, dataset, method, widest, "width")[0] > 0 else equal).append(method)
    return equal, wider


# ---- the page

PROTOCOL = "\n".join(
    paragraph(text, "- ")
    for text in (
        "Rows, base model, clipping and measures are those of the [field](field.md), at level 90%. ± is a standard error "
        "over the splits, in differences of the paired difference.",
        "Each test row draws a centre from the kernel around its key. The weight of a calibration row is the kernel between "
        "its key and the centre; the weight of the test row is at an infinite score. Marginal coverage is guaranteed.",
        "Keys: `difficulty` is the log of the scale of the localizer of goal 0.85, for all scores; `prediction` the rank of "
        "the prediction; `both` these two; `features` all columns. All are standardised. The kernel is Gaussian, or a box.",
        "1/2, 1/5 and 1/20 are the effective sample size as a share of the calibration rows. The bandwidth is chosen on "
        "fitting rows; `effective rows` is the result on test rows, median and lowest twentieth.",
        "`groups` are fifths of the rows by the key, calibrated separately (Mondrian), which widthwise has as `groups`.",
        "`gap` is over tenths of the rows by width, `gap f` over tenths by prediction. `infinite` is the share of rows "
        "whose interval was infinite before it was clipped to the range of y.",
        "`slab gain` and `ERT gain`: how much more even a method is than the goals at its width, which are interpolated "
        "between the two nearest of narrow, 0.5, 0.85 and even; goals that are wider and less even than another are left "
        "out. Positive is better. A method wider than all goals is compared with the most even goal.",
    )
)


def page(table: Table, datasets: list[str], checks: list[Check], circumstances: str) -> str:
    parts = [
        "# Localised calibration",
        paragraph(
            "This page compares randomly localised conformal prediction (RLCP, Hore and Barber 2023) with choosing another "
            "goal. It is written by `python -m experiments.localised`."
        ),
        paragraph(circumstances),
        PROTOCOL,
        "## What must hold",
        check_list(checks),
        "## In short",
        verdict(table, datasets),
        "## Pairs",
        paragraph(
            "Differences, first minus second: a negative width is narrower, a positive worst slab and a negative ERT or gap "
            "are more even. Bold differences exceed two standard errors."
        ),
        *(pairs(table, datasets, base, other) for base, other in PAIRS),
        against_groups(table, datasets),
    ]
    for name in datasets:
        parts += [f"## {name}", dataset_table(table, name)]
    return "\n\n".join(parts) + "\n"


def verdict(table: Table, datasets: list[str]) -> str:
    """Count the methods that are clearly more even than the goals at equal width, and name those on all data sets."""
    lines, common = [], {}
    for measure, title in TITLES.items():
        clear = {name: clear_gains(table, name, measure) for name in datasets}
        counts = "; ".join(
            f"{name} {len(equal)} of {len(localised_methods(table, name))} at equal width, and {len(wider)} wider than the "
            "most even goal"
            for name, (equal, wider) in clear.items()
        )
        first, *others = [equal for equal, _ in clear.values()]
        common[measure] = [method for method in first if all(method in other for other in others)]
        named = "; ".join(common[measure]) or "none"
        lines.append(f"More even than the goals by {title}: {counts}. At equal width on all data sets: {named}.")
    lines += [compared(table, datasets, base, other) for base, other in PAIRS]
    lines.append(
        "Differences of more than two standard errors count. Better is narrower or more even, and worse in nothing. Three "
        "splits give a rough standard error: with no true difference, one method in eleven exceeds two by chance."
    )
    return paragraph(conclusion(common)) + "\n\n" + "\n".join(paragraph(line, "- ") for line in lines)


def conclusion(common: dict[str, list[str]]) -> str:
    """Whether a localised calibration is clearly more even than the goals on all data sets, by worst slab and by ERT."""
    best = [method for method in common["worst_slab"] if method in common["ert"]]
    if best:
        return f"More even than the goals at equal width on all data sets, by worst slab and by ERT: {'; '.join(best)}."
    return "No localised calibration is more even than the goals at equal width on all data sets by both worst slab and ERT."


def compared(table: Table, datasets: list[str], base: str, other: str) -> str:
    """Count the localised calibrations of one goal that are better, and worse, than another goal."""
    counts = []
    for name in datasets:
        methods = localised_methods(table, name, base)
        better = sum(is_better(table, name, method, other) for method in methods)
        worse = sum(is_better(table, name, other, method) for method in methods)
        counts.append(f"{name} {better} better and {worse} worse of {len(methods)}")
    return f"{base} with localised calibration compared with {other} without: {'; '.join(counts)}."


def pairs(table: Table, datasets: list[str], base: str, other: str) -> str:
    """Localised calibration and groups of one goal compared with another goal, or with the same goal without them."""
    rows = [
        _differences(table, dataset, method, other)
        for dataset in datasets
        for method in methods_of(table, dataset)
        if method.startswith(f"{base}, ")
    ]
    return markdown_table([f"minus {other}", "width", *TITLES.values()], rows)


def against_groups(table: Table, datasets: list[str]) -> str:
    """Localised calibration compared with separate calibration of groups by the same key."""
    rows = [
        _differences(table, dataset, method.replace(", groups", ""), method)
        for dataset in datasets
        for method in methods_of(table, dataset)
        if is_grouped(method)
    ]
    return markdown_table(["minus groups by the same key", "width", *TITLES.values()], rows)


def _differences(table: Table, dataset: str, one: str, other: str) -> list[str]:
    differences = [difference(table, dataset, one, other, value) for value in ("width", *TITLES)]
    return [f"{dataset}: {one}", *(_difference(*each) for each in differences)]


def _difference(value: float, error: float) -> str:
    text = f"{value:+.3f} ± {error:.3f}"
    return f"**{text}**" if abs(value) > ENOUGH * error else text


def dataset_table(table: Table, dataset: str) -> str:
    rows = []
    for method in sorted(methods_of(table, dataset), key=lambda name: mean(values(table, dataset, name, "width"))):
        coverage = values(table, dataset, method, "coverage")
        localised = is_localised(method) or is_grouped(method)
        low, middle = (known_mean(table, dataset, method, f"effective_rows{end}") for end in ("_low", ""))
        rows.append(
            [
                method if localised else f"**{method}**",
                str(len(coverage)),
                f"{mean(values(table, dataset, method, 'width')):.3f}",
                f"{mean(coverage):.3f} ± {standard_error(coverage):.3f}",
                *(f"{known_mean(table, dataset, method, value):.3f}" for value in ("worst_slab", "gap")),
                *(f"{known_mean(table, dataset, method, value):.3f}" for value in ("gap_by_prediction", "ert")),
                f"{middle:.0f} / {low:.0f}" if localised else "",
                f"{mean(values(table, dataset, method, 'infinite')):.2%}",
                *(
                    str(gain_over_goals(table, dataset, method, value)) if localised else ""
                    for value in ("worst_slab", "ert")
                ),
            ]
        )
    header = ["", "splits", "width", "coverage", "worst slab", "gap", "gap f", "ert", "effective rows", "infinite"]
    return markdown_table([*header, "slab gain", "ERT gain"], rows)
