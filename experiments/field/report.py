"""Write the page of a collection from its records."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ..records import (
    SUFFIX,
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
from . import checks, costs, diagram, figure, standing
from .checks import ONE_WIDTH
from .datasets import DEVELOPED, by_slab
from .ours import DEFAULT, NARROW
from .peers import PEERS, Peer
from .protocol import LEVELS, QUANTILES
from .ranks import ERT, SCORE, WIDTH, mean_ranks
from .suite import LARGE_CELLS, LARGE_SPLITS
from .table import ALPHA, METHODS, Table, by_cell, difference, evenness, has, known_mean, methods_of, peers_of, values

ALPHAS = (0.32, 0.1, 0.05)


@dataclass(frozen=True)
class Collection:
    """The data sets of a page, of one or more collections.

    Attributes
    ----------
    stem : name of its files
    title : heading of the page
    about : first paragraphs of the page
    datasets : its data sets in the order of the page
    checks : its required results
    panels : data sets of the picture that docs/other-libraries.md shows; every data set has a picture if there are any
    part_of : the name of the part that a data set belongs to; the page has mean ranks and a table of each part
    """

    stem: str
    title: str
    about: tuple[str, ...]
    datasets: tuple[str, ...]
    checks: Callable[[Table, list[str]], list[Check]]
    panels: tuple[str, ...] = ()
    part_of: Callable[[str], str] = lambda name: ""

    def parts(self, datasets: list[str]) -> standing.Parts:
        """These data sets by part."""
        found: standing.Parts = {}
        for name in datasets:
            found.setdefault(self.part_of(name), []).append(name)
        return found


FIELD = Collection(
    "field",
    "Comparison on seven data sets",
    (
        "This page compares widthwise with methods of other libraries and papers on the same rows. It is written by "
        "`python -m experiments.field`. widthwise was developed on these data sets; "
        "[field_untouched.md](field_untouched.md) is the comparison on held-out data sets.",
    ),
    DEVELOPED,
    checks.developed,
    panels=("homes", "casp"),
)


def write(folder: Path, collection: Collection = FIELD) -> list[Check]:
    """Read the records, write the page and the pictures next to them, and return the checks."""
    path = folder / f"{collection.stem}{SUFFIX}"
    table = by_cell(read(path))
    datasets = [name for name in collection.datasets if (name, NARROW, ALPHA) in table]
    found = checks.of_collection(table, datasets, collection.checks)
    draw(folder, collection, table, datasets)
    more = folder / f"{collection.stem}_more{SUFFIX}"
    failures = read(more) if more.exists() else []
    text = page(collection, table, datasets, found, failures, environment_line(read_environment(path)))
    (folder / f"{collection.stem}.md").write_text(text, encoding="utf-8")
    return found


def draw(folder: Path, collection: Collection, table: Table, datasets: list[str]) -> None:
    """Draw the pictures of the data sets, if the collection has them, and the mean ranks."""
    if collection.panels:
        for name in datasets:
            figure.draw(folder / f"{collection.stem}_{name}.png", [name], table)
        if shown := [name for name in collection.panels if name in datasets]:
            figure.draw(folder / f"{collection.stem}.png", shown, table)
    ranks = {measure: mean_ranks(table, datasets, METHODS, measure) for measure in (WIDTH, SCORE, ERT)}
    if known := {measure: found for measure, found in ranks.items() if found}:
        diagram.draw(folder / f"{collection.stem}_ranks.png", known)


PROTOCOL = "\n".join(
    [
        paragraph("Every method gets the same rows: 60% of the rows fit, 20% calibrate, 20% test.", "- "),
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


def _crps_weights() -> dict[float, float]:
    """The weight of the interval score of each level in the CRPS: alpha, times the cell of one quantile."""
    sides = sorted(QUANTILES)
    ends = [0.0, *((low + high) / 2 for low, high in pairwise(sides)), 1.0]
    cells = {side: high - low for side, (low, high) in zip(sides, pairwise(ends), strict=True)}
    return {level: (1 - level) * cells[round((1 - level) / 2, 10)] for level in LEVELS}


CRPS_WEIGHTS = _crps_weights()

ERT_TEXT = paragraph(
    "`ert` is the excess risk of the target coverage, L1: a lower bound of the mean absolute difference between coverage "
    "given x and 90%, by a classifier of the features and the prediction. 0 is even coverage; slightly negative values "
    "are chance.",
    "- ",
)


CRPS_TEXT = paragraph(
    "`crps` is the continuous ranked probability score of the distribution whose quantiles are the six bounds of the "
    "intervals at 68%, 90% and 95%, by the sum of `widthwise.crps`. For nested intervals, it is the sum of "
    + ", ".join(f"{weight:.4g} times the interval score at {level:.0%}" for level, weight in CRPS_WEIGHTS.items())
    + ", so that the level 68% decides most of it. Bounds count as the quantiles of central intervals for every method, "
    "although those of symmetric intervals are not if errors are skewed.",
    "- ",
)


def about_peers() -> str:
    """Which peers have a base model of their own, and which are run on fewer data sets or splits."""
    own = ", ".join(f"{name} ({peer.model})" for name, peer in PEERS.items() if peer.model)
    slow = ", ".join(name for name, peer in PEERS.items() if peer.slow)
    return "\n".join(
        [
            paragraph(
                f"Most peers use the same base model (XGBoost, 400 trees for the median). Peers with their own: {own}.",
                "- ",
            ),
            paragraph(
                "To limit the time, some peers are run on small data sets only: "
                + "; ".join(f"{name} up to {limit}" for name, peer in PEERS.items() if (limit := limits(peer)))
                + f". Above {LARGE_CELLS:,} values of features, the ERT and slow peers ({slow}) are measured on the first "
                f"{LARGE_SPLITS} splits.",
                "- ",
            ),
        ]
    )


def limits(peer: Peer) -> str:
    """The limits of a peer in words; empty without limits."""
    found = {"rows": peer.max_rows, "values of features": peer.max_cells}
    return " and ".join(f"{limit:,.0f} {what}" for what, limit in found.items() if math.isfinite(limit))


def failure_list(failures: list[Record]) -> str:
    """The peers that raised an error, with the first error on each data set."""
    by_cell: dict[tuple[str, str], list[Record]] = {}
    for record in failures:
        by_cell.setdefault((record["method"], record["dataset"]), []).append(record)
    lines = [
        paragraph(f"{method} on {dataset}, {len(found)} splits: {found[0]['error']}", "- ")
        for (method, dataset), found in by_cell.items()
    ]
    return "\n".join(lines) or "No peer failed."


def page(
    collection: Collection,
    table: Table,
    datasets: list[str],
    found: list[Check],
    failures: list[Record],
    circumstances: str,
) -> str:
    parts = collection.parts(datasets)
    text = [
        f"# {collection.title}",
        *map(paragraph, collection.about),
        paragraph(circumstances),
        "\n".join(
            [
                PROTOCOL,
                about_peers(),
                *([ERT_TEXT] if any(has(table, name, "ert") for name in datasets) else []),
                *([CRPS_TEXT] if any(has(table, name, "crps") for name in datasets) else []),
            ]
        ),
        "## What must hold",
        check_list(found),
        "## In short",
        summary(table, datasets),
        paragraph("Mean width / coverage in the worst slab at 90%; for the small data sets mean width / gap."),
        *standing.sections(table, datasets, parts, f"{collection.stem}_ranks.png"),
        *costs.sections(table, datasets),
        "## The goals and all peers at 90%",
        *(glance(table, names) for names in parts.values()),
        "## Failures",
        failure_list(failures),
    ]
    for name in datasets:
        text += [f"## {name}", dataset_table(table, name)]
        text += [f"![{name}]({collection.stem}_{name}.png)"] if collection.panels else []
    return "\n\n".join(text) + "\n"


def summary(table: Table, datasets: list[str]) -> str:
    """The table that the README also shows."""
    rows = []
    for name in datasets:
        peer = min(peers_of(table, name), key=lambda method: mean(values(table, name, method, "width")))
        rows.append(
            [
                name,
                *(_width_and_evenness(table, name, method) for method in (NARROW, DEFAULT, ONE_WIDTH)),
                f"{_width_and_evenness(table, name, peer)} ({peer}{_fewer(table, name, peer)})",
            ]
        )
    return markdown_table(["", "narrow", f"{DEFAULT} (default)", "one width", "narrowest of the others"], rows)


def _fewer(table: Table, dataset: str, peer: str) -> str:
    """The number of splits of a peer, if it has fewer than widthwise."""
    splits = len(table[dataset, peer, ALPHA])
    return f", {splits} splits" if splits < len(table[dataset, NARROW, ALPHA]) else ""


def _width_and_evenness(table: Table, dataset: str, method: str) -> str:
    if method not in methods_of(table, dataset):
        return ""
    even = known_mean(table, dataset, method, evenness(dataset))
    return f"{mean(values(table, dataset, method, 'width')):.3f} / {even:.3f}"


def glance(table: Table, datasets: list[str]) -> str:
    """Width and evenness of the main rows on every data set."""
    rows = []
    for method in METHODS:
        rows.append([method, *(_width_and_evenness(table, name, method) for name in datasets)])
    note = "Width / coverage in the worst slab; on " + ", ".join(name for name in datasets if not by_slab(name))
    return markdown_table(["", *datasets], rows) + f"\n\n{note}: width / gap.\n"


DIGITS = {"ert": 3, "crps": 4}


def dataset_table(table: Table, dataset: str) -> str:
    rows = []
    measured = [value for value in ("ert", "crps") if has(table, dataset, value)]
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
                *(f"{known_mean(table, dataset, method, value):.{DIGITS[value]}f}" for value in measured),
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
        *measured,
        "width 68%",
        "width 95%",
        "seconds",
    ]
    return markdown_table(header, rows) + "\n\nPeers are in bold.\n"
