"""What intervals cost and whether they keep their promise, as numbers and as a table to read."""

from __future__ import annotations

import html
import math
from typing import Any

import numpy as np

from . import _core, _tables
from ._options import Guarantee, Levels, guarantee_of, guarantee_text, levels_of, whole
from ._tables import Floats

_PLACES_SHOWN = 3  # weak places in the text


class Evaluation(dict[str, Any]):
    """The evaluation of a model on rows it has not seen: a dict, and a table when printed.

    The keys are those of ``widthwise evaluate --json``: ``rows``; ``seen``, None or a dict with the shares of rows that
    ``fitted`` and ``calibrated`` the model (in words: ``rows``), in which case the verdict is "not new"; and ``levels``,
    a list with a dict for each level, in the order asked for: ``level``, ``coverage`` (with its 95 % confidence
    interval), ``mean_width``, ``median_width``, ``interval_score``, ``infinite``, ``empty``, ``verdict``,
    ``worst_slab``, ``weakest``, ``weak_places``, ``by_width``, ``by_group`` and ``by_feature``. What is called weak
    there, and in the report, is the result of one test: with coverage that is the same everywhere, any place is called
    weak with a probability of at most 1 %.
    """

    def __str__(self) -> str:
        head = f"{self['rows']:,} rows"
        return "\n\n".join([head, *(_level_text(level) for level in self["levels"])])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    @property
    def valid(self) -> bool:
        """Whether the rows are new to the model and no level was found to be broken."""
        broken = ("too low", _core.SEEN_VERDICT)
        return all(level["verdict"]["word"] not in broken for level in self["levels"])


def evaluate_intervals(
    intervals: Any,
    y: Any,
    *,
    confidence_level: Levels,
    calibration_rows: int,
    X: Any = None,
    guarantee: Guarantee = "marginal",
) -> Evaluation:
    """Say whether intervals of any origin keep their promise, and what they cost.

    Parameters
    ----------
    intervals : array-like of shape (n, 2, k)
        Lower bounds ``[:, 0, :]`` and upper bounds ``[:, 1, :]``, as `predict_interval` of this package or of MAPIE gives
        them. (n, 2) for one level.
    y : array-like of shape (n,)
        Outcomes.
    confidence_level : float or list of k floats
        What the intervals promise.
    calibration_rows : int
        How many rows calibrated them: says how far from the level coverage may be.
    X : table of shape (n, d), optional
        To search for places where coverage is weak.
    guarantee : "marginal" or float, default="marginal"
        Guarantee of the intervals, see `WidthwiseRegressor`.

    Returns
    -------
    Evaluation
        A dict with everything, which prints as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise import evaluate_intervals
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> intervals = np.tile([-1.645, 1.645], (1000, 1))
    >>> evaluate_intervals(intervals, y, confidence_level=0.9, calibration_rows=10_000)["levels"][0]["coverage"]["share"]
    0.914
    """
    outcomes = _tables.numbers(y, "y")
    levels = levels_of(confidence_level, [])
    bounds = _tables.floats(intervals, "intervals")
    bounds = bounds[:, :, None] if bounds.ndim == 2 else bounds
    if bounds.shape != (len(outcomes), 2, len(levels)):
        raise ValueError(
            f"intervals are of shape {np.shape(intervals)}; expected ({len(outcomes)}, 2, {len(levels)}) for "
            f"{len(outcomes)} outcomes and {len(levels)} levels"
        )
    table = None if X is None else _tables.read_numbers(X)[0]
    if table is not None and table.rows != len(outcomes):
        raise ValueError(f"X has {table.rows} rows, y has {len(outcomes)}")
    return _evaluate(
        bounds,
        outcomes,
        levels,
        table,
        calibration_rows=whole(calibration_rows, "calibration_rows"),
        guarantee=guarantee_text(guarantee),
    )


def evaluate(
    model: _core.Model,
    table: _core.Table,
    y_pred: Floats | None,
    groups: Any,
    outcomes: Floats,
    levels: list[float],
) -> Evaluation:
    """Evaluate a model; features to search for weak places are those it was fitted with."""
    predictions, intervals = model.intervals(table, y_pred, groups, levels)
    evaluation = _evaluate(intervals, outcomes, levels, table, model=model, predictions=predictions, groups=groups)
    if seen := model.seen(model.sketch(table, outcomes)):
        evaluation["seen"] = seen
        for level in evaluation["levels"]:
            level["verdict"].update(word=_core.SEEN_VERDICT, text=seen["text"])
    return evaluation


def _evaluate(
    intervals: Floats,
    outcomes: Floats,
    levels: list[float],
    table: _core.Table | None,
    *,
    model: _core.Model | None = None,
    calibration_rows: int = 0,
    predictions: Floats | None = None,
    groups: Any = None,
    guarantee: str = "marginal",
) -> Evaluation:
    guarantee = guarantee if model is None else model.guarantee
    rows = np.arange(len(outcomes) if table is not None else 0)
    if len(rows) > _core.SEARCH_ROWS_AT_MOST:
        rows = np.sort(np.random.default_rng(0).choice(len(rows), _core.SEARCH_ROWS_AT_MOST, replace=False))
    features = table.take(rows) if table is not None else np.empty((0, 0))
    names = table.names if table is not None else []
    found = [
        _core.evaluate(
            model,
            calibration_rows,
            np.ascontiguousarray(intervals[:, 0, j]),
            np.ascontiguousarray(intervals[:, 1, j]),
            outcomes,
            predictions,
            groups,
            level,
            len(levels),
            rows,
            features,
            names,
            guarantee,
        )
        for j, level in enumerate(levels)
    ]
    return Evaluation(rows=len(outcomes), guarantee=guarantee_of(guarantee), seen=None, levels=found)


def percent(share: float, digits: int = 1) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.{digits}f} %"


def number(value: float) -> str:
    """Four significant digits, and all those before the point."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite"
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def _with_confidence(share: dict[str, Any]) -> str:
    return f"{percent(share['share'])}  ({percent(share['low'])} to {percent(share['high'])} at 95 % confidence)"


def _level_text(level: dict[str, Any]) -> str:
    lines = [f"Level {level['level']:g}", f"  coverage        {_with_confidence(level['coverage'])}"]
    if level["worst_slab"]:
        lines.append(f"  worst slab      {_with_confidence(level['worst_slab']['coverage'])}")
    lines += _weak_places_text(level["weak_places"])
    lines.append(f"  mean width      {number(level['mean_width'])}")
    lines.append(f"  median width    {number(level['median_width'])}")
    lines.append(f"  interval score  {number(level['interval_score'])}")
    for kind in ("infinite", "empty"):
        if level[kind]:
            share = level[kind] / level["coverage"]["trials"]
            lines.append(f"  {kind:<16}{level[kind]:,} interval{'' if level[kind] == 1 else 's'}, {percent(share)}")
    return "\n".join([*lines, "", "  " + level["verdict"]["text"]])


def _weak_places_text(places: dict[str, Any]) -> list[str]:
    if not places["tested"]:
        return []
    found = places["found"]
    lines = [f"  weak places     {len(found) or 'none'} of {places['tested']:,} tested"]
    for place in found[:_PLACES_SHOWN]:
        lines.append(f"{' ' * 18}{_with_confidence(place['coverage'])}")
        lines.append(f"{' ' * 18}where {place['where']}")
    if len(found) > _PLACES_SHOWN:
        lines.append(f"{' ' * 18}and {len(found) - _PLACES_SHOWN:,} more")
    return lines
