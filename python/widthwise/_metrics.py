"""Scores of intervals and quantiles of any origin; lower is better."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core, _tables
from ._options import Levels, levels_of, probabilities_of
from ._rows import all_bounds_of
from ._tables import Floats


def interval_score(intervals: Any, y: Any, confidence_level: Levels = 0.9, *, sample_weight: Any = None) -> float:
    """Interval score (Winkler 1972; Gneiting and Raftery 2007), the mean over rows and levels; lower is better.

    The score of a row is the width of its interval, plus ``2 / (1 - confidence_level)`` times the distance of the outcome
    from the interval if it is outside. Its expectation is lowest for the true quantiles ``(1 - confidence_level) / 2`` and
    ``(1 + confidence_level) / 2``, so it rewards narrow intervals and penalises outcomes that are missed.

    Parameters
    ----------
    intervals : array-like of shape (n, 2) or (n, 2, k)
        Lower and upper bounds, as returned by `predict_interval`.
    y : array-like of shape (n,)
        Outcomes.
    confidence_level : float or list of k floats, default=0.9
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the mean.

    Returns
    -------
    float
        In the unit of y; infinite if an interval is.

    Examples
    --------
    >>> from widthwise import interval_score
    >>> interval_score([[0.0, 2.0], [1.0, 2.0]], [1.0, 2.5], confidence_level=0.75)     # 2, and 1 + 8 * 0.5
    3.5
    """
    outcomes = _tables.outcomes(y)
    levels = levels_of(confidence_level, [])
    bounds = all_bounds_of(intervals, len(outcomes))
    if bounds.shape[2] != len(levels):
        raise ValueError(f"intervals has {bounds.shape[2]} levels, confidence_level has {len(levels)}")
    lower, upper = bounds[:, 0, :], bounds[:, 1, :]
    if (lower > upper).any():
        row = int(np.flatnonzero((lower > upper).any(axis=1))[0])
        raise ValueError(
            f"the interval of row {row + 1} has a lower bound above its upper bound; expected them in order"
        )
    of_row = outcomes[:, np.newaxis]
    outside = np.maximum(np.maximum(lower - of_row, of_row - upper), 0)
    return _mean((upper - lower) + 2 / (1 - np.array(levels)) * outside, sample_weight)


def pinball_loss(quantiles: Any, y: Any, probabilities: Levels, *, sample_weight: Any = None) -> float:
    """Pinball (quantile) loss, the mean over rows and quantiles; lower is better.

    The loss of a quantile q of probability t is ``(t - (y < q)) * (y - q)``. Its expectation is lowest for the true
    quantile.

    Parameters
    ----------
    quantiles : array-like of shape (n, m), or (n,) for one probability
        As returned by `predict_quantile`.
    y : array-like of shape (n,)
        Outcomes.
    probabilities : float or list of m floats
        Probabilities of the quantiles.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the mean.

    Returns
    -------
    float
        In the unit of y; infinite if a quantile is.

    Examples
    --------
    >>> from widthwise import pinball_loss
    >>> pinball_loss([[1.0, 3.0]], [4.0], [0.25, 0.75])
    0.75
    """
    return _mean(_losses(quantiles, y, probabilities_of(probabilities, "probabilities")), sample_weight)


def crps(quantiles: Any, y: Any, probabilities: Levels, *, sample_weight: Any = None) -> float:
    """Continuous ranked probability score of predicted quantiles, the mean over rows; lower is better.

    The score of a row is ``2 * sum(w * ((y < q) - t) * (q - y))`` over its quantiles q of probability t. w is the
    length of the cell of t: (0, 1) is divided at the midpoints between neighbouring probabilities. With the
    probabilities ``(j - 0.5) / m`` for j from 1 to m, it is exactly the score of the distribution with mass ``1 / m`` at
    each quantile. The bounds of a central interval of level ``1 - a`` are quantiles of probability ``a / 2`` and
    ``1 - a / 2``.

    Parameters
    ----------
    quantiles : array-like of shape (n, m)
        As returned by `predict_quantile`.
    y : array-like of shape (n,)
        Outcomes.
    probabilities : list of m floats
        Probabilities of the quantiles, ascending.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the mean.

    Returns
    -------
    float
        In the unit of y; infinite if a quantile is infinite.

    Examples
    --------
    >>> from widthwise import crps
    >>> crps([[-0.67, 0.0, 0.67]], [1.0], [0.25, 0.5, 0.75])
    0.74875
    """
    levels = probabilities_of(probabilities, "probabilities")
    outcomes = _tables.outcomes(y)
    weights = _weights_of(sample_weight, len(outcomes))
    return _core.crps(_quantiles(quantiles, len(outcomes), levels), levels, outcomes, weights)


def _quantiles(quantiles: Any, rows: int, levels: list[float]) -> Floats:
    array = _tables.floats(quantiles, "quantiles")
    if array.ndim == 1 and len(levels) == 1:
        array = array[:, np.newaxis]
    if array.shape != (rows, len(levels)):
        raise ValueError(
            f"quantiles are of shape {array.shape}; expected ({rows}, {len(levels)}) for {rows} outcomes and "
            f"{len(levels)} probabilities"
        )
    return np.ascontiguousarray(array)


def _losses(quantiles: Any, y: Any, levels: list[float]) -> Floats:
    """The pinball losses of each row and quantile."""
    outcomes = _tables.outcomes(y)
    found = _quantiles(quantiles, len(outcomes), levels)
    if np.isnan(found).any():
        raise ValueError("quantiles contain NaN; use infinity for unknown quantiles")
    of_row = outcomes[:, np.newaxis]
    return np.asarray((np.array(levels) - (of_row < found)) * (of_row - found))


def _mean(scores: Floats, sample_weight: Any) -> float:
    """The mean over rows, with weights, and columns."""
    weights = _weights_of(sample_weight, len(scores))
    if weights is None:
        return float(scores.mean())
    counted = weights > 0  # an infinite score that does not count would make the mean NaN
    return float(np.average(scores[counted].mean(axis=1), weights=weights[counted]))


def _weights_of(sample_weight: Any, rows: int) -> Floats | None:
    """Weights of rows in a mean, some of which count."""
    if sample_weight is None:
        return None
    weights = _tables.numbers(sample_weight, "sample_weight", rows)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError("sample_weight holds values that are negative or not finite, or only zeros")
    return weights
