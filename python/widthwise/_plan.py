"""How many calibration rows a promise needs."""

from __future__ import annotations

from dataclasses import dataclass

from . import _core
from ._options import Guarantee, guarantee_text, real, whole


@dataclass(frozen=True)
class Plan:
    """What coverage to expect of intervals that are calibrated once.

    Attributes
    ----------
    confidence_level : float
    rows : int
        Calibration rows.
    mean, low, high : float
        Mean of the coverage over calibrations, and the ends of the range it lies in with the confidence asked for.
    """

    confidence_level: float
    rows: int
    mean: float
    low: float
    high: float


def plan(
    confidence_level: float = 0.9,
    *,
    tolerance: float | None = None,
    rows: int | None = None,
    confidence: float = 0.95,
    guarantee: Guarantee = "marginal",
) -> Plan:
    """Say how many calibration rows keep coverage within a tolerance, or what coverage so many rows give.

    Parameters
    ----------
    confidence_level : float, default=0.9
        The level of the intervals.
    tolerance : float, optional
        How far coverage may be from the level, on either side.
    rows : int, optional
        Calibration rows there are. Give this or `tolerance`.
    confidence : float, default=0.95
        How sure to be of it.
    guarantee : "marginal" or float, default="marginal"
        Guarantee of the intervals, see `WidthwiseRegressor`. Without enough rows for it intervals are infinite, and
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
    confidence_level, confidence = real(confidence_level, "confidence_level"), real(confidence, "confidence")
    if (tolerance is None) == (rows is None):
        raise ValueError("give either tolerance or rows")
    if rows is None:
        assert tolerance is not None
        rows = _core.rows_for_tolerance(
            confidence_level, real(tolerance, "tolerance"), confidence, guarantee_text(guarantee)
        )
    rows = whole(rows, "rows")
    spread = _core.coverage_spread(confidence_level, rows, confidence, guarantee_text(guarantee))
    return Plan(confidence_level, rows, spread["mean"], spread["low"], spread["high"])
