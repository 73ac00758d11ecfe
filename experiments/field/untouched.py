"""Compare on held-out data sets, after all settings are frozen: `python -m experiments.field.untouched`."""

from __future__ import annotations

import sys
from functools import partial

from .. import data_more
from ..runner import main
from . import checks, report
from .datasets import collection, rows
from .suite import Job, work

# The commit that froze all settings of widthwise, of the peers and of the checks, before the third collection was first
# run; empty until it is named.
FROZEN = ""

# The commit whose settings the second collection was first run with.
FIRST_RUN = "3b160490b6"

DATASETS = tuple(sorted(data_more.names("untouched"), key=rows, reverse=True))

# The quick form never runs on held-out data.
QUICK_DATASET = "airfoil"

# Splits by number of rows: the first entry whose rows are enough. Small test parts measure coverage poorly and need
# more splits; large ones take minutes each. On demonstration data, one split takes 35 s of processor time with 1,500
# rows, 97 s with 8,760 rows and 240 s with 19,735 rows of 30 features; in total, about 80 minutes of two cores.
SPLITS_BY_ROWS = ((1_000, 10), (5_000, 6), (12_000, 4), (data_more.MAX_ROWS, 2))


def splits(name: str) -> int:
    """The number of splits of a data set."""
    return next(number for most, number in SPLITS_BY_ROWS if rows(name) <= most)


def jobs(quick: bool) -> list[Job]:
    if quick:
        return [Job(QUICK_DATASET, 0, "goals", quick=True)]
    # One split of every data set first, so that an interrupted run has some of all.
    most = max(number for _, number in SPLITS_BY_ROWS)
    return [Job(name, split, "goals") for split in range(most) for name in DATASETS if split < splits(name)]


def listed(part: data_more.Collection) -> str:
    """The data sets of a collection, as a sentence."""
    names = [name for name in DATASETS if data_more.collection_of(name) == part]
    return f"The {part} collection has {len(names)} data sets: {', '.join(names)}."


COLLECTION = report.Collection(
    "field_untouched",
    "Comparison on held-out data sets",
    (
        f"This page compares widthwise with the methods of [field.md](field.md) on {len(DATASETS)} data sets that no "
        "default, threshold or setting was chosen with. It is written by `python -m experiments.field.untouched`. "
        + (
            f"All settings and the checks below were frozen in commit {FROZEN} before the third collection was first run. "
            if FROZEN
            else "The commit that froze the settings is not named yet: the figures are preliminary. "
        )
        + f"The second collection was first run with the settings of commit {FIRST_RUN}, and its results have been known "
        "since. Results are published whatever they are.",
        *map(listed, data_more.COLLECTIONS),
        f"Data sets with more than {data_more.MAX_ROWS:,} rows are represented by a random sample of that many rows, the "
        "same for every method and split. Categories are numbers, in the order of their labels, for every method. The "
        "number of splits depends on the rows: "
        + ", ".join(f"{number} up to {most:,} rows" for most, number in SPLITS_BY_ROWS)
        + ".",
    ),
    (*DATASETS, QUICK_DATASET),
    checks.untouched,
    part_of=collection,
)

if __name__ == "__main__":
    sys.exit(main("field.untouched", jobs, work, partial(report.write, collection=COLLECTION), __doc__))
