"""What each picture of docs/choosing.md shows, from the records of the suites."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

from widthwise import plan

from .. import data_more
from ..field.checks import ONE_WIDTH
from ..field.datasets import DEVELOPED
from ..field.ours import DEFAULT, EVEN, NARROW, SHORTEST
from ..field.table import ALPHA, Table, by_cell, known_mean
from ..records import mean, paired_ratios, read
from ..runner import RESULTS
from .measure import CONFIDENCE, LEVEL

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
MEASURED = PICTURES / "choosing.json"

GOALS = {NARROW: "narrow", "evenness 0.5": "0.5", DEFAULT: "0.85", EVEN: "even"}
TRANSFORMS = {
    NARROW: "affine\n(narrow)",
    DEFAULT: "exp\n(0.85)",
    EVEN: "exp or spline\n(even)",
    SHORTEST: "shortest\n(even)",
}
MEASURES = ("width", "interval_score")
LARGE = ("bike", "facebook_1")

Numbers = dict[str, Any]


def all_numbers(folder: Path = RESULTS) -> dict[str, Numbers]:
    """The numbers of every picture by its name."""
    field = by_cell(read(folder / "field.csv.gz"))
    untouched = by_cell(read(folder / "field_untouched.csv.gz"))
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    return {
        "goal": goal(field),
        "transform": transform(field),
        "rows": rows(),
        "guarantee": {"density": density(), "widening": measured["guarantee"]},
        "sides": sides(field),
        "gain": {"data_sets": gain(field, untouched), "learnt_widths": measured["learnt_widths"]},
    }


def checksum(shown: Numbers) -> str:
    """A checksum of the numbers, which do not depend on the machine in their first nine digits."""
    rounded = json.loads(json.dumps(shown), parse_float=lambda text: f"{float(text):.9g}")
    return hashlib.sha256(json.dumps(rounded, sort_keys=True).encode()).hexdigest()


def ratio(table: Table, name: str, method: str, other: str, value: str) -> float:
    """The mean over the common splits of a value of one method divided by that of another."""
    one, two = table[name, method, ALPHA], table[name, other, ALPHA]
    return mean(paired_ratios(one, two, value, "split"))


def goal(field: Table) -> Numbers:
    """Mean width and coverage in the worst slab by data set and goal."""
    methods = {**GOALS, ONE_WIDTH: "one width"}
    return {
        name: {
            label: [known_mean(field, name, method, value) for value in ("width", "worst_slab")]
            for method, label in methods.items()
        }
        for name in LARGE
    }


def transform(field: Table) -> Numbers:
    """Width and interval score by transform, divided by those of one width, for every data set."""
    return {
        value: {
            label: {name: ratio(field, name, method, ONE_WIDTH, value) for name in DEVELOPED}
            for method, label in TRANSFORMS.items()
        }
        for value in MEASURES
    }


def rows() -> Numbers:
    """The range of coverage of 95% of calibration sets by their rows."""
    sizes = sorted({int(digit * 10**k) for k in (1, 2, 3, 4) for digit in (1, 1.5, 2, 3, 5, 7)} | {100_000})
    plans = [plan(LEVEL, rows=size, confidence=CONFIDENCE) for size in sizes if size >= 50]
    return {"rows": [p.rows for p in plans], "low": [p.low for p in plans], "high": [p.high for p in plans]}


def density(size: int = 500) -> Numbers:
    """The exact density of the coverage of one calibrated model: Beta(k, n + 1 - k) for the rank k of the quantile."""
    coverage = np.linspace(0.84, 0.97, 131)
    found: Numbers = {"coverage": coverage.tolist()}
    for kind in ("marginal", CONFIDENCE):
        rank = round(plan(LEVEL, rows=size, guarantee=kind).mean * (size + 1))
        found[str(kind)] = beta(rank, size + 1 - rank).pdf(coverage).tolist()
    return found


def sides(field: Table) -> Numbers:
    """Width and interval score of two-sided intervals divided by those of symmetric ones, by data set."""
    return {
        name: [ratio(field, name, f"{DEFAULT}, two-sided", DEFAULT, value) for value in MEASURES] for name in DEVELOPED
    }


def gain(field: Table, untouched: Table) -> Numbers:
    """The ERT of one width and the interval score of the default divided by that of one width, by data set."""
    places = {name: field for name in DEVELOPED} | {name: untouched for name in data_more.names("untouched")}
    places = {name: table for name, table in places.items() if (name, ONE_WIDTH, ALPHA) in table}
    found = {
        name: [known_mean(table, name, ONE_WIDTH, "ert"), ratio(table, name, DEFAULT, ONE_WIDTH, "interval_score")]
        for name, table in places.items()
    }
    return {name: point for name, point in found.items() if not math.isnan(point[0])}
