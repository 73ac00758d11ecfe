"""Intervals of rows, over a feature or in the order of the predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core, _tables
from .._by import by_of
from .._docs import with_shared
from .._rows import ModelRows, bounds_of
from .._tables import Floats
from ._style import Axes, Display, bad, good, ink, note, percentages, plain_numbers, plain_texts, short_text

_MOST_TEXT = 40  # characters of tick labels side by side


class IntervalDisplay(Display):
    """Intervals and outcomes over a feature or in the order of the predictions; outcomes outside are marked.

    Create it with `from_estimator` or `from_predictions`. If there are many rows, an evenly spaced sample is drawn. A
    skewed feature, whose largest values would take most of the axis, has a rank axis: rows are side by side in its order.

    Attributes
    ----------
    y, y_pred, lower, upper : arrays of shape (n,)
        All rows, including those that are not drawn.
    by : array of shape (n,), or None
        Values of the feature, or the numbers of its `labels`; None if rows are in the order of their predictions.
    outside : array of bool
        Outcomes outside their interval.
    shown_ : array of int
        Indices of the drawn rows.
    intervals_, inside_, outside_ : matplotlib artists
        Lines and points.
    ax_, figure_ : matplotlib axes and figure

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise.plot import IntervalDisplay
    >>> y_pred = np.linspace(0, 1, 1000)
    >>> intervals = np.stack([y_pred - 0.2, y_pred + 0.2], axis=1)
    >>> y = y_pred + np.random.default_rng(0).normal(0, 0.1, 1000)
    >>> display = IntervalDisplay.from_predictions(y, intervals, 0.95, y_pred=y_pred)
    >>> len(display.shown_), bool(display.outside.any())
    (250, True)
    """

    def __init__(
        self,
        *,
        y: Floats,
        y_pred: Floats,
        lower: Floats,
        upper: Floats,
        by: Floats | None = None,
        labels: Sequence[str] = (),
        confidence_level: float | None = None,
        by_name: str = "",
        target_name: str = "y",
    ) -> None:
        self.by = by
        self.labels = list(labels)
        self.y = y
        self.y_pred = y_pred
        self.lower = lower
        self.upper = upper
        self.outside = (y < lower) | (y > upper)
        self.confidence_level = confidence_level
        self.by_name = by_name
        self.target_name = target_name

    @classmethod
    @with_shared
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        by: Any = None,
        y_pred: Any = None,
        confidence_level: float | None = None,
        groups: Any = None,
        rows: int = _core.ROWS_SHOWN,
        ax: Axes | None = None,
    ) -> IntervalDisplay:
        """Draw the intervals of a model for rows it has not seen.

        Parameters
        ----------
        {model_rows}
        by : str, int or array-like, optional
            Name or index of a feature of the model, ``"prediction"``, or a column of labels or numbers, by its name in
            X or its values; by default rows are side by side in the order of their predictions.
        {confidence_level}
        rows : int, default=250
            Maximum number of rows to draw.
        """
        shown = ModelRows.of(model, X, y, y_pred, groups, by)
        level = shown.level(confidence_level)
        predictions, lower, upper = shown.intervals(level)
        return cls.from_predictions(
            shown.y,
            np.stack([lower, upper], axis=1),
            level,
            y_pred=predictions,
            by=shown.column(by),
            target_name=shown.model.target,
            rows=rows,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        intervals: Any,
        confidence_level: float | None = None,
        *,
        y_pred: Any,
        by: Any = None,
        by_name: str | None = None,
        target_name: str | None = None,
        rows: int = _core.ROWS_SHOWN,
        ax: Axes | None = None,
    ) -> IntervalDisplay:
        """Draw intervals from any source.

        Parameters
        ----------
        y : array-like of shape (n,)
        intervals : array-like of shape (n, 2) or (n, 2, 1)
        confidence_level : float, optional
            Confidence level shown in the legend.
        y_pred : array-like of shape (n,)
        by : array-like of shape (n,), optional
            Numbers, NaN if missing, or labels; by default rows are in the order of their predictions.
        by_name, target_name : str, optional
            Axis labels; by default the names of `by` and `y`, if they have names.
        rows : int, default=250
            Maximum number of rows to draw.
        ax : matplotlib axes, optional
        """
        outcomes = _tables.outcomes(y)
        n = len(outcomes)
        lower, upper = bounds_of(intervals, n)
        column = by_of(None, by, n)
        display = cls(
            by=None if column is None else column.values,
            labels=[] if column is None else column.labels,
            y=outcomes,
            y_pred=_tables.numbers(y_pred, "y_pred", n),
            lower=lower,
            upper=upper,
            confidence_level=confidence_level,
            by_name=by_name or (column.name if column is not None else ""),
            target_name=target_name or _tables.name_of(y, "y"),
        )
        return display.plot(ax, rows=rows)

    def plot(self, ax: Axes | None = None, *, rows: int = _core.ROWS_SHOWN) -> IntervalDisplay:
        """Draw at most `rows` rows and return this display."""
        ax = self._begin(ax)
        column = None if self.by is None else (self.by_name, self.labels)
        values = self.y_pred if self.by is None else self.by
        figure = self._figure = _core.intervals_figure(
            self.lower, self.upper, self.y, values, column, self.target_name, self.confidence_level, rows
        )
        self.shown_ = np.array(figure["shown"])
        place, y = np.array(figure["places"]), np.array(figure["outcomes"])
        interval, inside_name, outside_name = figure["legend"]
        self.intervals_ = ax.vlines(
            place, figure["lower"], figure["upper"], color=good(), alpha=0.35, linewidth=1.3, label=interval
        )
        outside = np.array(figure["outside"], dtype=bool)
        self.inside_ = ax.scatter(
            place[~outside], y[~outside], s=7, color=good(), linewidths=0, zorder=3, label=inside_name
        )
        marks: dict[str, Any] = {"marker": "x", "linewidths": 1.5, "zorder": 4}
        self.outside_ = ax.scatter(place[outside], y[outside], s=26, color=bad(), label=outside_name, **marks)
        low, high = figure["x_limits"]
        margin = 0.0 if figure["axis"] == "slots" else 0.03 * (high - low)
        ax.set_xlim(low - margin, high + margin)
        ax.set_ylim(figure["y_limits"])
        plain_numbers(ax.yaxis)
        self._name_places()
        self._finish()
        return self

    def _name_places(self) -> None:
        """Ticks of the x axis; missing values are last."""
        ax, figure = self.ax_, self._figure
        missing = figure["missing_at"]
        if figure["axis"] == "order":
            percentages(ax.xaxis)
        elif figure["axis"] == "scale":
            plain_numbers(ax.xaxis)
        else:
            places, names = [place for place, _ in figure["ticks"]], [short_text(name) for _, name in figure["ticks"]]
            if missing is not None and figure["axis"] == "slots":
                places, names, missing = [*places, missing], [*names, "missing"], None
            upright = figure["axis"] == "slots" and len("".join(names)) > _MOST_TEXT
            ax.set_xticks(places, names, rotation=90 if upright else 0)
            plain_texts(ax.get_xticklabels())
        if missing is not None:
            ax.axvspan(figure["x_end"], ax.get_xlim()[1], color=ink(), alpha=0.06, linewidth=0)
            note(ax, "missing", x=missing, y=0.01, transform=ax.get_xaxis_transform(), ha="center", va="bottom")
