"""Widths of intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core, _tables
from .._docs import with_shared
from .._rows import ModelRows, bounds_of
from .._tables import Floats
from ._style import Axes, Display, bad, good, ink, percentages, plain_numbers


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
        self, *, lower: Floats, upper: Floats, y: Floats | None = None, y_pred: Floats | None = None, target_name: str
    ) -> None:
        widths = upper - lower
        self.widths = widths[np.isfinite(widths)]
        self.target_name = target_name
        self._figure = _core.widths_figure(lower, upper, y, y_pred, target_name)
        self.infinite: int = self._figure["infinite"]
        self.one_width: float | None = self._figure["one_width"]

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
        both = y is not None and y_pred is not None
        display = cls(
            lower=lower,
            upper=upper,
            y=_tables.outcomes(y, n) if both else None,
            y_pred=_tables.numbers(y_pred, "y_pred", n) if both else None,
            target_name=target_name or _tables.name_of(y, "y"),
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> WidthDisplay:
        """Draw the plot and return this display."""
        ax = self._begin(ax)
        figure = self._figure
        if figure["edges"]:
            rows, mean, *one_width = figure["legend"]
            ax.stairs(figure["shares"], figure["edges"], fill=True, color=good(), alpha=0.55, label=rows)
            ax.axvline(figure["mean"], color=ink(), linewidth=1.4, label=mean)
            if self.one_width is not None:
                ax.axvline(self.one_width, color=bad(), linewidth=1.6, linestyle=(0, (4, 2)), label=one_width[0])
            ax.set_ylim(0, (1.05 + 0.1 * len(figure["notes"])) * max(figure["shares"]))  # with room for the notes
            low, high = figure["x_limits"]
            ax.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
            plain_numbers(ax.xaxis)
            percentages(ax.yaxis)
        else:
            ax.set_xticks([])
        self._finish()
        return self
