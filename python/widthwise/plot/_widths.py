"""Widths of intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _tables
from .._docs import with_shared
from .._evaluation import number, percent
from .._rows import ModelRows, bounds_of
from .._tables import Floats
from ._coverage import width_name
from ._style import Axes, Display, bad, good, ink, legend_above, name_axes, note, percentages, plain_numbers

_TAIL = 0.995  # widths above this quantile are counted in the last bar


class WidthDisplay(Display):
    """Distribution of widths, compared with the constant width of equal coverage.

    Create it with `from_estimator` or `from_predictions`. Infinite widths are not drawn; a note counts them.

    Attributes
    ----------
    widths : array
        Finite widths.
    infinite : int
        Number of infinite widths.
    one_width : float or None
        The constant width that covers as many of these outcomes; None without outcomes or if intervals are infinite.
    ax_, figure_ : matplotlib axes and figure

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise.plot import WidthDisplay
    >>> half = np.linspace(1, 3, 500)
    >>> display = WidthDisplay.from_predictions(None, np.stack([-half, half], axis=1))
    >>> float(display.widths.max()), display.infinite
    (6.0, 0)
    """

    def __init__(
        self, *, widths: Floats, infinite: int = 0, one_width: float | None = None, target_name: str = "y"
    ) -> None:
        self.widths = widths
        self.infinite = infinite
        self.one_width = one_width
        self.target_name = target_name

    @classmethod
    @with_shared
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        y_pred: Any = None,
        confidence_level: float | None = None,
        groups: Any = None,
        ax: Axes | None = None,
    ) -> WidthDisplay:
        """Draw the widths of a model for rows it has not seen.

        Parameters
        ----------
        {model_rows}
        {confidence_level}
        """
        rows = ModelRows.of(model, X, y, y_pred, groups)
        predictions, lower, upper = rows.intervals(rows.level(confidence_level))
        bounds = np.stack([lower, upper], axis=1)
        return cls.from_predictions(rows.y, bounds, y_pred=predictions, target_name=rows.model.target, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        intervals: Any,
        *,
        y_pred: Any = None,
        target_name: str | None = None,
        ax: Axes | None = None,
    ) -> WidthDisplay:
        """Draw the widths of intervals from any source.

        Parameters
        ----------
        y : array-like of shape (n,), or None
        intervals : array-like of shape (n, 2) or (n, 2, 1)
        y_pred : array-like of shape (n,), optional
            Predictions; with these and `y`, a constant width is drawn for comparison.
        target_name : str, optional
        ax : matplotlib axes, optional
        """
        n = len(intervals)
        lower, upper = bounds_of(intervals, n)
        width = None
        if y is not None and y_pred is not None:
            width = one_width(_tables.outcomes(y, n), _tables.numbers(y_pred, "y_pred", n), lower, upper)
        widths = upper - lower
        finite = np.isfinite(widths)
        display = cls(
            widths=widths[finite],
            infinite=int((~finite).sum()),
            one_width=width,
            target_name=target_name or _tables.name_of(y, "y"),
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> WidthDisplay:
        """Draw the plot and return this display."""
        ax = self._begin(ax)
        total = len(self.widths) + self.infinite
        if len(self.widths):
            end, edges = self._end(), self._edges()
            counts, _ = np.histogram(np.minimum(self.widths, end), edges)
            ax.stairs(counts / total, edges, fill=True, color=good(), alpha=0.55, label="rows")
            mean = float(self.widths.mean())
            ax.axvline(mean, color=ink(), linewidth=1.4, label=f"mean {number(mean)}")
            beyond = float((self.widths > end).sum() / total)
            if beyond:
                note(ax, f"{percent(beyond)} wider than {number(end)},\nup to {number(float(self.widths.max()))}")
        else:
            ax.set_xticks([])
        if self.one_width is not None:
            ax.axvline(
                self.one_width,
                color=bad(),
                linewidth=1.6,
                linestyle=(0, (4, 2)),
                label=f"one width for all {number(self.one_width)}",
            )
        if self.infinite:
            note(ax, f"{self.infinite:,} of {total:,} are infinite", y=0.8)
        name_axes(ax, width_name(self.target_name), "share of rows")
        if len(self.widths):
            plain_numbers(ax.xaxis)
            percentages(ax.yaxis)
            legend_above(ax)
        return self

    @property
    def summary(self) -> str:
        """Description of the plot in sentences."""
        total = len(self.widths) + self.infinite
        if not len(self.widths):
            return f"All {total:,} intervals are infinite."
        median, ninth = np.quantile(self.widths, [0.5, 0.9])
        text = f"Half of the intervals are narrower than {number(median)}, a tenth is wider than {number(ninth)}."
        if self.infinite:
            text += f" {self.infinite:,} of {total:,} are infinite and not in the picture."
        elif self.one_width:
            change = float(self.widths.mean()) / self.one_width - 1
            compared = f"{percent(abs(change), 0)} {'narrower' if change < 0 else 'wider'} on average"
            if round(abs(change), 2) == 0:
                compared = "as wide on average"
            text += (
                f" One width with the same coverage would be {number(self.one_width)}: these intervals are {compared}."
            )
        return text

    def _edges(self) -> Floats:
        """Edges of the bars; a single bar if all widths are equal up to rounding."""
        shown = np.minimum(self.widths, self._end())
        minimum, maximum = float(shown.min()), float(shown.max())
        if maximum - minimum <= 1e-9 * maximum:
            reach = 0.05 * maximum or 0.5
            return np.array([minimum - reach, maximum + reach])
        return np.linspace(minimum, maximum, 1 + min(40, max(8, round(len(shown) ** 0.5))))

    def _end(self) -> float:
        """End of the last bar: the largest width, unless a few rows are much wider than all others."""
        tail, widest = float(np.quantile(self.widths, _TAIL)), float(self.widths.max())
        return tail if widest > 1.5 * tail > 0 else widest


def one_width(y: Floats, y_pred: Floats, lower: Floats, upper: Floats) -> float | None:
    """The smallest constant width around the predictions that covers as many outcomes as the intervals."""
    errors = np.sort(np.abs(y - y_pred))
    covered = int(((lower <= y) & (y <= upper)).sum())
    if covered == 0 or not np.isfinite(upper - lower).all():
        return None
    return float(2 * errors[covered - 1])
