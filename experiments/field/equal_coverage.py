"""Widths at equal coverage: two methods of the same level differ in coverage by chance, and by this in width."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .table import ALPHA, Table

MIN_SPLITS = 3  # a regression line and its error


@dataclass(frozen=True)
class Comparison:
    """Two methods over the splits of a data set that both have.

    Attributes
    ----------
    splits : the number of splits
    coverages : mean coverage of both
    ratio : mean width of one divided by that of the other, as the geometric mean over the splits
    at_equal_coverage : the same if both covered the same share of the test rows
    standard_error : of `at_equal_coverage`
    """

    splits: int
    coverages: tuple[float, float]
    ratio: float
    at_equal_coverage: float
    standard_error: float


def compare(table: Table, dataset: str, one: str, other: str, alpha: float = ALPHA) -> Comparison:
    """Compare widths with a linear regression of the log ratio on the difference in coverage, over at least `MIN_SPLITS` splits.

    Its value for no difference is the log ratio at equal coverage.
    """
    records = {method: {record["split"]: record for record in table[dataset, method, alpha]} for method in (one, other)}
    splits = [split for split in records[one] if split in records[other]]
    width, coverage = (
        np.array([[records[method][split][value] for split in splits] for method in (one, other)])
        for value in ("width", "coverage")
    )
    logs, difference = np.log(width[0] / width[1]), coverage[0] - coverage[1]
    slope = np.cov(difference, logs)[0, 1] / difference.var(ddof=1) if difference.std() > 0 else 0.0
    centre = float(logs.mean() - slope * difference.mean())
    rest = logs - centre - slope * difference
    spread = math.sqrt(float(rest @ rest) / (len(splits) - 2))
    leverage = 1 / len(splits)
    if difference.std() > 0:
        leverage += difference.mean() ** 2 / float(((difference - difference.mean()) ** 2).sum())
    return Comparison(
        splits=len(splits),
        coverages=(float(coverage[0].mean()), float(coverage[1].mean())),
        ratio=math.exp(float(logs.mean())),
        at_equal_coverage=math.exp(centre),
        standard_error=math.exp(centre) * spread * math.sqrt(leverage),
    )
