"""Intervals of rows, over a feature or in the order of the predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _tables
from .._by import by_of
from .._docs import with_shared
from .._evaluation import number, percent
from .._rows import ModelRows, bounds_of
from .._tables import Floats
from ._style import (
    Axes,
    Display,
    bad,
    categories,
    good,
    ink,
    is_skewed,
    legend_above,
    level_text,
    name_axes,
    note,
    percentages,
    plain_numbers,
    plain_texts,
    short_text,
)

_MOST_TEXT = 40  # characters of tick labels side by side
_RANKS = "rows in the order of its values"


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
        rows: int = 250,
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
        rows: int = 250,
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

    def plot(self, ax: Axes | None = None, *, rows: int = 250) -> IntervalDisplay:
        """Draw at most `rows` rows and return this display."""
        ax = self._begin(ax)
        self.shown_ = self._sample(rows)
        place = self._places(ax)
        y, lower, upper = (values[self.shown_] for values in (self.y, self.lower, self.upper))
        low, high = self._limits(y, lower, upper)
        name = "interval" if self.confidence_level is None else f"{level_text(self.confidence_level)} interval"
        self.intervals_ = ax.vlines(
            place, np.maximum(lower, low), np.minimum(upper, high), color=good(), alpha=0.35, linewidth=1.3, label=name
        )
        outside = self.outside[self.shown_]
        self.inside_ = ax.scatter(
            place[~outside], y[~outside], s=7, color=good(), linewidths=0, zorder=3, label="outcome inside"
        )
        self.outside_ = ax.scatter(
            place[outside],
            y[outside],
            s=26,
            color=bad(),
            marker="x",
            linewidths=1.5,
            zorder=4,
            label=f"outside ({percent(self.outside.mean())})",
        )
        ax.set_ylim(low, high)
        names = {"order": "rows in the order of their predictions", "ranks": f"{self.by_name}, {_RANKS}"}
        name_axes(ax, names.get(self._x_axis(), self.by_name), self.target_name)
        plain_numbers(ax.yaxis)
        if self._x_axis() == "scale":
            plain_numbers(ax.xaxis)
        infinite = int(self._infinite().sum())
        if infinite:
            note(ax, f"{infinite:,} of {len(self.y):,} intervals are infinite")
        legend_above(ax)
        return self

    @property
    def summary(self) -> str:
        """Description of the plot in sentences."""
        n, above = len(self.y), float(np.mean(self.y > self.upper))
        sentences = [
            f"Each line is the interval of one row, each dot its outcome, for {len(self.shown_):,} of {n:,} rows."
            f" {percent(self.outside.mean())} of all outcomes lie outside, marked by crosses:"
            f" {percent(above)} above and {percent(float(np.mean(self.y < self.lower)))} below."
        ]
        ends = self._widths_at_the_ends()
        if ends is not None:
            low, high = ends
            name = "the prediction" if self.by is None else self.by_name
            widths = f"{number(low)} on average in its lowest tenth, {number(high)} in its highest"
            if high > 1.25 * low:
                sentences.append(f"Widths grow with {name}: {widths}.")
            elif low > 1.25 * high:
                sentences.append(f"Widths shrink with {name}: {widths}.")
            else:
                sentences.append(f"Widths are much the same at both ends of {name}: {widths}.")
        return " ".join(sentences)

    def _infinite(self) -> NDArray[np.bool_]:
        return ~(np.isfinite(self.lower) & np.isfinite(self.upper))

    def _x_axis(self) -> str:
        """What the x axis has: the "order" of predictions, "slots" of a few values, "ranks" if skewed, else a "scale"."""
        if self.by is None:
            return "order"
        if self.labels or not np.isfinite(self.by).any() or categories(self.by) is not None:
            return "slots"
        return "ranks" if is_skewed(self.by) else "scale"

    def _order(self) -> Floats:
        """The values by which rows are ordered."""
        return self.y_pred if self.by is None else self.by

    def _widths_at_the_ends(self) -> tuple[float, float] | None:
        if self.labels:
            return None  # which have no ends
        x = self._order()
        known = np.isfinite(x) & ~self._infinite()
        if known.sum() < 20:
            return None
        x, width = x[known], (self.upper - self.lower)[known]
        first, last = np.quantile(x, [0.1, 0.9])
        if first == last:
            return None
        return float(width[x <= first].mean()), float(width[x >= last].mean())

    def _sample(self, rows: int) -> NDArray[np.int64]:
        """Evenly spaced rows in their order, so that the sample represents the spread and the coverage of all rows."""
        n = len(self.y)
        shuffled = np.random.default_rng(0).permutation(n)  # random order among equal values
        order = shuffled[np.argsort(self._order()[shuffled], kind="stable")]
        if n <= rows:
            return order
        return order[((np.arange(rows) + 0.5) * n / rows).astype(np.int64)]

    def _places(self, ax: Axes) -> Floats:
        """Positions of the drawn rows on the x axis. Few distinct values get a slot each; missing values come last."""
        if self.by is None:
            percentages(ax.xaxis)
            return (np.arange(len(self.shown_)) + 0.5) / len(self.shown_)
        x = self.by[self.shown_]
        known = np.isfinite(x)
        if self._x_axis() == "slots":
            values = np.unique(x[known]) if self.labels else categories(self.by)
            values = np.empty(0) if values is None else values
            slot = np.where(known, np.searchsorted(values, x), len(values)).astype(np.float64)
            names = [short_text(self.labels[int(value)]) if self.labels else number(value) for value in values]
            names += [] if known.all() else ["missing"]
            many = len("".join(names)) > _MOST_TEXT
            ax.set_xticks(np.arange(len(names), dtype=np.float64), names, rotation=90 if many else 0)
            plain_texts(ax.get_xticklabels())
            return self._side_by_side(slot, 0.8)
        place = np.where(known, x, 0.0)
        if self._x_axis() == "ranks":
            place[known] = self._ranked(ax, int(known.sum()))
        if known.all():
            return place
        minimum, maximum = float(place[known].min()), float(place[known].max())
        gap = 0.06 * ((maximum - minimum) or 1.0)
        place[~known] = maximum + 2 * gap + self._side_by_side(np.zeros(int((~known).sum())), gap)
        ax.axvspan(maximum + gap, maximum + 3 * gap, color=ink(), alpha=0.06, linewidth=0)
        note(ax, "missing", x=maximum + 2 * gap, y=0.01, transform=ax.get_xaxis_transform(), ha="center", va="bottom")
        return place

    def _ranked(self, ax: Axes, rows: int) -> Floats:
        """Positions on a rank axis from 0 to 1, with the values at its quarters as ticks, equal ones once."""
        assert self.by is not None
        quarters = np.quantile(self.by[np.isfinite(self.by)], [0, 0.25, 0.5, 0.75, 1], method="nearest")
        names = [number(value) for value in quarters]
        ticks = {name: place / 4 for place, name in reversed(list(enumerate(names)))}
        ax.set_xticks(list(ticks.values()), list(ticks))
        return (np.arange(rows) + 0.5) / rows

    @staticmethod
    def _side_by_side(slot: Floats, width: float) -> Floats:
        """Spread the rows of each slot over its width."""
        place = slot.copy()
        maximum = max(np.unique(slot, return_counts=True)[1])
        for value in np.unique(slot):
            rows = np.flatnonzero(slot == value)
            place[rows] += width * (np.arange(len(rows)) - (len(rows) - 1) / 2) / max(maximum, 2)
        return place

    @staticmethod
    def _limits(*values: Floats) -> tuple[float, float]:
        """Axis limits that contain all finite values."""
        together = np.concatenate(values)
        together = together[np.isfinite(together)]
        minimum, maximum = float(together.min()), float(together.max())
        margin = 0.04 * ((maximum - minimum) or abs(maximum) or 1.0)
        return minimum - margin, maximum + margin
