"""Plan the calibration set: rows for a tolerance, or the coverage that rows give."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import _core
from ._options import Guarantee, guarantee_text, level_of, real, whole


@dataclass(frozen=True)
class Plan:
    """The size of a calibration set and the coverage to expect with it; prints as a sentence.

    Attributes
    ----------
    confidence_level : float
    rows : int
        Number of calibration rows.
    mean, low, high : float
        Mean coverage over calibration sets, and the range that coverage lies in with the given confidence.
    summary : str
        The plan as a sentence.
    """

    confidence_level: float
    rows: int
    mean: float
    low: float
    high: float
    summary: str = field(repr=False)

    def __str__(self) -> str:
        return self.summary


def plan(
    confidence_level: float = 0.9,
    *,
    tolerance: float | None = None,
    rows: int | None = None,
    confidence: float = 0.95,
    guarantee: Guarantee = "marginal",
) -> Plan:
    """Plan the calibration set: the rows that keep coverage within a tolerance, or the coverage that rows give.

    Parameters
    ----------
    confidence_level : float, default=0.9
        Confidence level of the intervals.
    tolerance : float, optional
        Largest distance of coverage from the level, on either side.
    rows : int, optional
        Number of calibration rows. Give this or `tolerance`.
    confidence : float, default=0.95
        Confidence of the coverage range.
    guarantee : "marginal" or float, default="marginal"
        Guarantee of the intervals, see `WidthwiseRegressor`. With too few rows for it, intervals are infinite, and
        mean, low and high are 1.

    Returns
    -------
    Plan

    Examples
    --------
    >>> from widthwise import plan
    >>> plan(0.9, tolerance=0.02).rows
    930
    >>> plan(0.9, rows=99).low
    0.834...
    >>> plan(0.9, rows=1000, guarantee=0.95).mean           # at least 90% coverage in 95% of calibrations
    0.915...
    """
    if (tolerance is None) == (rows is None):
        raise ValueError("give either tolerance or rows")
    made = _core.plan(
        level_of(confidence_level),
        None if tolerance is None else real(tolerance, "tolerance"),
        None if rows is None else whole(rows, "rows"),
        real(confidence, "confidence"),
        guarantee_text(guarantee),
    )
    return Plan(made["level"], made["rows"], made["mean"], made["low"], made["high"], made["summary"])
