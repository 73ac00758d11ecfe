"""Write the page of results from the records."""

from __future__ import annotations

import math
from pathlib import Path

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
from .suite import GOALS, MAX_FIT_ROWS, PEERS, SPLITS

METHODS = (*GOALS, *PEERS)
Table = dict[tuple[str, str], list[Record]]

PROTOCOL = "\n".join(
    [
        paragraph(
            "All methods get the same LightGBM models of the quantiles for 5% and 95%, with default settings, fitted on "
            f"60% of the rows, at most {MAX_FIT_ROWS:,}. 20% calibrate, 20% test, at level 90%.",
            "- ",
        ),
        paragraph(
            "widthwise trains on the out-of-fold quantiles of the fitting rows (`y_pred_cv` of shape (n, 2)).", "- "
        ),
        paragraph(
            "Widths are full widths in units of the mean |y| of the fitting rows. ± is a standard error over the "
            "splits. `gap by width` and `gap by prediction` are mean absolute differences between coverage and 90% over "
            "bins; `ert` is the excess risk of the target coverage, L1.",
            "- ",
        ),
    ]
)


def write(folder: Path) -> list[Check]:
    """Read quantiles.csv.gz, write quantiles.md next to it, and return the checks."""
    table: Table = {}
    for record in read(folder / "quantiles.csv.gz"):
        table.setdefault((record["dataset"], record["method"]), []).append(record)
    datasets = [name for name in SPLITS if (name, METHODS[0]) in table]
    checks = [narrower(table, datasets), as_even(table, datasets)]
    parts = [
        "# Around the same quantile models",
        paragraph(
            "This page compares the intervals of widthwise around given quantiles with conformalized quantile "
            "regression (CQR) of MAPIE and puncc around the same quantiles. It is written by "
            "`python -m experiments.quantiles`."
        ),
        paragraph(environment_line(read_environment(folder / "quantiles.csv.gz"))),
        PROTOCOL,
        "## What must hold",
        check_list(checks),
        *(part for name in datasets for part in (f"## {name}", dataset_table(table, name))),
    ]
    (folder / "quantiles.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return checks


def values(table: Table, dataset: str, method: str, value: str) -> list[float]:
    return [record[value] for record in table[dataset, method] if not math.isnan(record[value])]


def paired(table: Table, dataset: str, one: str, other: str, value: str) -> tuple[float, float]:
    """The mean difference over the splits, and its standard error."""
    pairs = zip(table[dataset, one], table[dataset, other], strict=True)
    differences = [a[value] - b[value] for a, b in pairs if not math.isnan(a[value] - b[value])]
    return (mean(differences), standard_error(differences)) if differences else (math.nan, math.nan)


def narrower(table: Table, datasets: list[str]) -> Check:
    failures = []
    for dataset in datasets:
        for peer in PEERS:
            gains = {goal: paired(table, dataset, goal, peer, "width")[0] for goal in GOALS}
            if min(gains.values()) >= 0:
                failures.append(f"{dataset}: no goal is narrower than {peer}")
    return Check("on every data set, a goal is narrower than each CQR", failures)


def as_even(table: Table, datasets: list[str]) -> Check:
    """One goal is narrower than each CQR and as even by the ERT, within one paired standard error."""
    failures = []
    for dataset in datasets:
        for peer in PEERS:
            texts = []
            for goal in GOALS:
                width, _ = paired(table, dataset, goal, peer, "width")
                ert, error = paired(table, dataset, goal, peer, "ert")
                if width < 0 and (math.isnan(ert) or ert <= (0 if math.isnan(error) else error)):
                    break
                known = "" if math.isnan(error) else f" ± {error:.3f}"
                texts.append(f"{goal} {width:+.3f} wide, ERT {ert:+.3f}{known}")
            else:
                failures.append(f"{dataset}, {peer}: " + "; ".join(texts))
    return Check(
        "on every data set, a goal is narrower than each CQR with no larger ERT, within a standard error", failures
    )


def dataset_table(table: Table, dataset: str) -> str:
    rows = []
    for method in sorted(METHODS, key=lambda method: mean(values(table, dataset, method, "width"))):
        width = values(table, dataset, method, "width")
        row = [f"**{method}**" if method in PEERS else method, str(len(width))]
        row.append(f"{mean(width):.4f} ± {standard_error(width):.4f}" if len(width) > 1 else f"{width[0]:.4f}")
        for value in ("coverage", "worst_slab", "gap_by_width", "gap_by_prediction", "ert", "interval_score"):
            known = values(table, dataset, method, value)
            row.append(f"{mean(known):.3f}" if known else "")
        rows.append([*row, f"{mean(values(table, dataset, method, 'seconds')):.1f}"])
    header = ["", "splits", "width", "coverage", "worst slab", "gap by width", "gap by prediction", "ert"]
    return markdown_table([*header, "interval score", "seconds"], rows)
