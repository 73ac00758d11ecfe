"""Write the page of results from the records."""

from __future__ import annotations

import math
from pathlib import Path

from .. import data
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
from . import figure
from .ours import FRONTIER, NARROW
from .peers import PEERS
from .suite import DATASETS
from .table import ALPHA, SLAB_DATASETS, Table, by_cell, difference, evenness, has, known_mean, methods_of, values

ALPHAS = (0.32, 0.1, 0.05)
ONE_WIDTH = "mapie absolute"
EVEN = "even"
ENOUGH_SPLITS = 5
DEFAULT = "evenness 0.85"

# Target mean widths of `narrow` at 90%, and the best published widths, which use other base models.
WIDTHS = {"bike": 0.48, "concrete": 0.41, "homes": 0.44, "casp": 1.28, "facebook_1": 0.70}
PUBLISHED = {"bike": 0.74, "concrete": 0.47, "homes": 0.54, "casp": 1.46, "facebook_1": 1.39}


def write(folder: Path) -> list[Check]:
    """Read field.json, write field.md and the pictures next to it, and return the checks."""
    records = read(folder / "field.json")
    table = by_cell(records)
    checks = check(table)
    datasets = [name for name in DATASETS if (name, NARROW, ALPHA) in table]
    for name in datasets:
        figure.draw(folder / f"field_{name}.png", [name], table)
    shown = [name for name in ("homes", "casp") if name in datasets]
    if shown:
        figure.draw(folder / "field.png", shown, table)
    (folder / "field.md").write_text(
        page(table, datasets, checks, environment_line(read_environment(folder / "field.json"))), encoding="utf-8"
    )
    return checks


# ---- what must hold


def check(table: Table) -> list[Check]:
    """The required results. Few splits cannot distinguish similar methods; then only validity and order are checked."""
    datasets = [name for name in DATASETS if (name, NARROW, ALPHA) in table]
    if min(len(table[name, NARROW, ALPHA]) for name in datasets) < ENOUGH_SPLITS:
        return [coverage_holds(table), order_holds(table, datasets)]
    return [
        coverage_holds(table),
        narrow_is_narrowest(table, datasets),
        narrow_reaches(table, datasets),
        *(frontier_beats(table, name) for name in datasets),
    ]


def coverage_holds(table: Table) -> Check:
    """Coverage over all splits is at most three standard errors below the level.

    Coverage on m test rows after n calibration rows has the variance alpha (1 - alpha) (1 / n + 1 / m) for every
    method. This is more precise than the spread over a few splits.
    """
    failures = []
    for (dataset, method, alpha), records in table.items():
        part = data.FACTS[dataset]["rows"] / 5  # rows that calibrate, and rows that test
        error = math.sqrt(alpha * (1 - alpha) * 2 / part / len(records))
        coverage = mean([record["coverage"] for record in records])
        if method not in PEERS and coverage < 1 - alpha - 3 * error:
            failures.append(f"{dataset}, {method}, level {1 - alpha:g}: {coverage:.4f}, standard error {error:.4f}")
    return Check(
        "coverage of widthwise is not below its level by more than three standard errors, in every cell", failures
    )


def order_holds(table: Table, datasets: list[str]) -> Check:
    """narrow is narrower than even and constant width; even covers the worst slab better than constant width."""
    failures = []
    for dataset in datasets:
        widths = {name: mean(values(table, dataset, name, "width")) for name in (NARROW, EVEN, ONE_WIDTH)}
        if not widths[NARROW] < min(widths[EVEN], widths[ONE_WIDTH]):
            failures.append(f"{dataset}: " + ", ".join(f"{name} {width:.4f}" for name, width in widths.items()))
        slabs = {name: known_mean(table, dataset, name, "worst_slab") for name in (EVEN, ONE_WIDTH)}
        if dataset in SLAB_DATASETS and not slabs[EVEN] > slabs[ONE_WIDTH]:
            failures.append(f"{dataset}, worst slab: {EVEN} {slabs[EVEN]:.3f}, {ONE_WIDTH} {slabs[ONE_WIDTH]:.3f}")
    return Check(
        "narrow is narrower than even and constant width; even covers the worst slab better than constant width",
        failures,
    )


def narrow_is_narrowest(table: Table, datasets: list[str]) -> Check:
    failures, ties = [], []
    for dataset in datasets:
        for peer in PEERS:
            gain, error = difference(table, dataset, peer, NARROW, "width")
            if gain < -error:
                failures.append(f"{dataset}: {peer} is narrower by {-gain:.4f}, standard error {error:.4f}")
            elif gain < error:
                ties.append(f"{peer} on {dataset}")
    named = f"; ties within a standard error: {', '.join(ties)}" if ties else "; no ties"
    return Check(f"narrow is narrower than every peer at 90% on every data set{named}", failures)


def narrow_reaches(table: Table, datasets: list[str]) -> Check:
    failures = []
    for dataset in datasets:
        width = mean(values(table, dataset, NARROW, "width"))
        if round(width, 3) > WIDTHS.get(dataset, math.inf):
            failures.append(f"{dataset}: {width:.3f}, target {WIDTHS[dataset]}")
    wanted = ", ".join(f"{name} {width:g}" for name, width in WIDTHS.items() if name in datasets)
    return Check(f"mean width of narrow at 90% is at most: {wanted}", failures)


def frontier_beats(table: Table, dataset: str) -> Check:
    """For each peer, one of our goals is narrower and as even, within one paired standard error."""
    by_slab = dataset in SLAB_DATASETS
    sign = 1 if by_slab else -1  # more coverage in the worst slab is better, a larger gap worse
    failures = []
    for peer in PEERS:
        best = None
        for goal in frontier_of(table, dataset):
            width, _ = difference(table, dataset, goal, peer, "width")
            gain, error = difference(table, dataset, goal, peer, evenness(dataset))
            if width < 0 and sign * gain >= -error:
                break
            if width < 0 and (best is None or sign * gain > best[1]):
                best = (goal, sign * gain, error)
        else:
            text = (
                f"{best[0]} is worse by {-best[1]:.3f} (standard error {best[2]:.3f})"
                if best
                else "no goal is narrower"
            )
            failures.append(f"{peer}: {text}")
    what = "covers the worst slab as well" if by_slab else "has no larger gap over deciles of width"
    return Check(f"{dataset}: for each peer, one goal is narrower and {what}, within a standard error", failures)


def frontier_of(table: Table, dataset: str) -> list[str]:
    """All goals between narrow and even, one- and two-sided."""
    return [method for method in methods_of(table, dataset) if method.split(",")[0] in FRONTIER and "net" not in method]


# ---- the page


PROTOCOL = "\n".join(
    [
        paragraph("Every method gets the same rows: 60% of the rows fit, 20% calibrate, 20% test.", "- "),
        paragraph(
            "All but four peers use the same base model (XGBoost, 400 trees for the median). mapie cqr, quantile forest "
            "cqr, xgboost cqr and gaussian net predict without it.",
            "- ",
        ),
        paragraph(
            "Widths are full widths in units of the mean |y| of the fitting rows. Intervals are clipped to the range of "
            "y in these rows.",
            "- ",
        ),
        paragraph(
            "Figures are means over the splits. ± is a standard error; in the column `to narrow`, of the paired "
            "difference.",
            "- ",
        ),
        paragraph(
            "`worst slab` is the coverage in the worst of all slabs that hold at least a tenth of the rows, along 1000 "
            "directions. The slab is found on one half of the test rows and measured on the other.",
            "- ",
        ),
        paragraph(
            "`gap` is the mean absolute difference between coverage and 90% over tenths of the rows by width.", "- "
        ),
    ]
)


ERT = paragraph(
    "`ert` is the excess risk of the target coverage, L1: a lower bound of the mean absolute difference between coverage "
    "given x and 90%, by a classifier of the features and the prediction. 0 is even coverage; slightly negative values "
    "are chance.",
    "- ",
)


def page(table: Table, datasets: list[str], checks: list[Check], circumstances: str) -> str:
    parts = [
        "# The field: comparison with other methods",
        paragraph(
            "This page compares widthwise with methods of other libraries and papers on the same rows. It is written by "
            "`python -m experiments.field`."
        ),
        paragraph(circumstances),
        "\n".join([PROTOCOL, ERT]) if any(has(table, name, "ert") for name in datasets) else PROTOCOL,
        "## What must hold",
        check_list(checks),
        "## In short",
        summary(table, datasets),
        paragraph(
            "Mean width / coverage in the worst slab at 90%; for the small data sets mean width / gap. The best published "
            "widths use other base models."
        ),
        "## The goals and all peers at 90%",
        glance(table, datasets),
    ]
    for name in datasets:
        parts += [f"## {name}", dataset_table(table, name), f"![{name}](field_{name}.png)"]
    return "\n\n".join(parts) + "\n"


def summary(table: Table, datasets: list[str]) -> str:
    """The table that the README also shows."""
    rows = []
    for name in datasets:
        peer = min(PEERS, key=lambda method: mean(values(table, name, method, "width")))
        rows.append(
            [
                name,
                *(_width_and_evenness(table, name, method) for method in (NARROW, DEFAULT, ONE_WIDTH)),
                f"{_width_and_evenness(table, name, peer)} ({peer})",
                f"{PUBLISHED[name]:.2f}" if name in PUBLISHED else "",
            ]
        )
    header = ["", "narrow", f"{DEFAULT} (default)", "one width", "narrowest of the others", "best published"]
    return markdown_table(header, rows)


def _width_and_evenness(table: Table, dataset: str, method: str) -> str:
    even = known_mean(table, dataset, method, evenness(dataset))
    return f"{mean(values(table, dataset, method, 'width')):.3f} / {even:.3f}"


def glance(table: Table, datasets: list[str]) -> str:
    """Width and evenness of the main rows on every data set."""
    rows = []
    for method in (*FRONTIER, *PEERS):
        rows.append([method, *(_width_and_evenness(table, name, method) for name in datasets)])
    note = "Width / coverage in the worst slab; on " + ", ".join(name for name in datasets if name not in SLAB_DATASETS)
    return markdown_table(["", *datasets], rows) + f"\n\n{note}: width / gap.\n"


def dataset_table(table: Table, dataset: str) -> str:
    rows = []
    with_ert = has(table, dataset, "ert")
    order = sorted(methods_of(table, dataset), key=lambda method: mean(values(table, dataset, method, "width")))
    for method in order:
        width = values(table, dataset, method, "width")
        apart, error = difference(table, dataset, method, NARROW, "width")
        rows.append(
            [
                f"**{method}**" if method in PEERS else method,
                str(len(width)),
                f"{mean(width):.4f} ± {standard_error(width):.4f}",
                "" if method == NARROW else f"{apart:+.4f} ± {error:.4f}",
                f"{mean(values(table, dataset, method, 'coverage')):.3f}",
                f"{known_mean(table, dataset, method, 'worst_slab'):.3f}",
                f"{known_mean(table, dataset, method, 'gap'):.3f}",
                *([f"{known_mean(table, dataset, method, 'ert'):.3f}"] if with_ert else []),
                *(f"{mean(values(table, dataset, method, 'width', alpha)):.4f}" for alpha in (0.32, 0.05)),
                f"{mean(values(table, dataset, method, 'seconds')):.1f}",
            ]
        )
    header = [
        "",
        "splits",
        "width",
        "to narrow",
        "coverage",
        "worst slab",
        "gap",
        *(["ert"] if with_ert else []),
        "width 68%",
        "width 95%",
        "seconds",
    ]
    return markdown_table(header, rows) + "\n\nPeers are in bold.\n"
