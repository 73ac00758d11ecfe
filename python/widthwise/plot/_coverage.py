"""Coverage at every level, and coverage by bins of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core, _tables
from .._by import by_of
from .._docs import with_shared
from .._options import Guarantee, Levels, guarantee_text, levels_of
from .._rows import ModelRows, all_bounds_of, bounds_of, count_covered
from .._tables import Floats
from ._style import Axes, Display, bad, good, ink, percentages, plain_texts, short_text

AT_MOST_BARS = 8  # up to this number of levels, bars are drawn instead of a band


class CoverageDisplay(Display):
    """Measured coverage against the confidence level, with the band expected for exchangeable rows.

    Create it with `from_estimator` or `from_predictions`. The band accounts for chance in calibration and test rows and
    for the number of levels: coverage lies inside at all levels in at least 99% of cases.

    Attributes
    ----------
    levels, coverage : arrays of shape (k,)
    expected_low, expected_high : arrays of shape (k,), or None
        Ends of the band; None without calibration rows.
    below : array of bool
        Levels with coverage below the band.
    rows : int
        Number of test rows.
    calibration_rows : int or None
    greatest_level : float
        Intervals of higher levels are infinite, because there are too few calibration rows. `levels` omits them.
    ax_, figure_ : matplotlib axes and figure

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise.plot import CoverageDisplay
    >>> y = np.random.default_rng(0).uniform(-1, 1, 1000)
    >>> levels = [0.5, 0.8, 0.9]
    >>> intervals = np.multiply.outer(np.ones(1000), [np.negative(levels), levels])
    >>> display = CoverageDisplay.from_predictions(y, intervals, levels, calibration_rows=1000)
    >>> bool(np.all(np.abs(display.coverage - levels) < 0.05))
    True
    """

    def __init__(self, figure: dict[str, Any]) -> None:
        self._figure = figure
        self.levels: Floats = np.array(figure["levels"])
        self.coverage: Floats = np.array(figure["coverage"])
        self.rows: int = figure["rows"]
        self.calibration_rows: int | None = figure["calibration_rows"]
        self.greatest_level: float = figure["greatest_level"]
        known = self.calibration_rows is not None
        self.expected_low: Floats | None = np.array(figure["low"]) if known else None
        self.expected_high: Floats | None = np.array(figure["high"]) if known else None
        self.below = np.array(figure["below"], dtype=bool)

    @classmethod
    @with_shared
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        y_pred: Any = None,
        confidence_level: Levels | None = None,
        groups: Any = None,
        difference: bool = True,
        ax: Axes | None = None,
    ) -> CoverageDisplay:
        """Draw the coverage of a model on rows it has not seen.

        Parameters
        ----------
        {model_rows}
        confidence_level : list of floats, optional
            By default 40 levels from 0.05 to 0.99.
        difference : bool, default=True
            Draw the difference between coverage and level, which shows more detail than the coverage itself.
        """
        rows = ModelRows.of(model, X, y, y_pred, groups)
        levels = levels_of(confidence_level, _core.page_levels([]))
        display = cls(rows.evaluated([], counted_levels=levels).coverage())
        return display.plot(ax, difference=difference)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        intervals: Any,
        confidence_level: Levels,
        *,
        calibration_rows: int | None = None,
        guarantee: Guarantee = "marginal",
        difference: bool = True,
        ax: Axes | None = None,
    ) -> CoverageDisplay:
        """Draw the coverage of intervals from any source.

        Parameters
        ----------
        y : array-like of shape (n,)
        intervals : array-like of shape (n, 2, k)
        confidence_level : k floats
        calibration_rows : int, optional
            Number of calibration rows; without it, no band is drawn.
        guarantee : "marginal" or float, default="marginal"
            Guarantee of the intervals, see `WidthwiseRegressor`.
        difference : bool, default=True
            Draw the difference between coverage and level instead of the coverage itself.
        ax : matplotlib axes, optional
        """
        outcomes = _tables.outcomes(y)
        array = all_bounds_of(intervals, len(outcomes))
        levels = levels_of(confidence_level, [])
        if len(levels) != array.shape[2]:
            raise ValueError(
                f"intervals has {_core.count_of(array.shape[2], 'level')}, confidence_level has {len(levels)}"
            )
        covered = count_covered(outcomes, array)
        text = guarantee_text(guarantee)
        display = cls(_core.coverage_figure(levels, covered.tolist(), len(outcomes), calibration_rows, text))
        return display.plot(ax, difference=difference)

    def plot(self, ax: Axes | None = None, *, difference: bool = True) -> CoverageDisplay:
        """Draw the difference between coverage and level, or coverage itself, and return this display."""
        ax = self._begin(ax)
        expected, level, measured, too_low = self._figure["legend"]
        base = self.levels if difference else np.zeros(len(self.levels))
        if self.expected_low is not None and self.expected_high is not None:
            low, high = self.expected_low - base, self.expected_high - base
            band: dict[str, Any] = {"color": good(), "alpha": 0.2, "label": expected}
            if len(self.levels) > AT_MOST_BARS:
                ax.fill_between(self.levels, low, high, linewidth=0, **band)
            else:
                ax.vlines(self.levels, low, high, linewidth=10, **band)
        ideal = [0.0, 0.0] if difference else [0.0, 1.0]
        ax.plot([0, 1], ideal, color=ink(), linewidth=1, linestyle=(0, (4, 3)), label=level)
        gap = self.coverage - base
        ax.plot(self.levels, gap, color=good(), linewidth=1.5, marker="o", markersize=3.5, label=measured)
        if self.below.any():
            marks: dict[str, Any] = {"color": bad(), "linestyle": "none", "marker": "X", "markersize": 7}
            ax.plot(self.levels[self.below], gap[self.below], label=too_low, **marks)
        if self.greatest_level < 1:
            ax.axvspan(self.greatest_level, 1, color=bad(), alpha=0.15, linewidth=0)
        ax.set_xlim(0, 1)
        reach = self._figure["reach"]
        ax.set_ylim((-reach, reach) if difference else (0, 1))
        percentages(ax.xaxis)
        percentages(ax.yaxis, signed=difference)
        self._finish(y=0.02, va="bottom")
        if not difference:
            ax.set_ylabel("coverage")
        return self


class ConditionalCoverageDisplay(Display):
    """Coverage by bins of the rows, by width or by ranges of a feature, with 95% confidence bars.

    Create it with `from_estimator`, `from_predictions` or `from_evaluation`. The level is drawn as a line. Bins below
    the level by more than chance are marked, by a test that accounts for the number of bins: if coverage is even, the
    probability of any mark is at most 1%.

    Attributes
    ----------
    bins : list of dict
        As in ``Evaluation["levels"][j]["by_width"]``: ``low``, ``high``, ``coverage`` (``share``, ``low``, ``high``,
        ``trials``) and ``mean_width``.
    labels : list of str
        Labels of the bins: ranges of numbers, or categories.
    below : array of bool
        Marked bins.
    ax_, figure_ : matplotlib axes and figure

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise.plot import ConditionalCoverageDisplay
    >>> x = np.linspace(0, 1, 2000)
    >>> y = (0.5 + x) * np.random.default_rng(0).normal(size=2000)
    >>> intervals = np.multiply.outer(np.ones(2000), [-1.7, 1.7])     # one width for all
    >>> display = ConditionalCoverageDisplay.from_predictions(y, intervals, 0.9, by=x, by_name="x", bins=5)
    >>> display.labels
    ['0.0 to 0.2', '0.2 to 0.4', '0.4 to 0.6', '0.6 to 0.8', '0.8 to 1.0']
    >>> display.below.tolist()
    [False, False, False, True, True]
    """

    def __init__(self, *, bins: Sequence[dict[str, Any]], confidence_level: float, by_name: str) -> None:
        self.bins = list(bins)
        self.confidence_level = confidence_level
        self._figure = _core.bins_figure(self.bins, confidence_level, by_name)
        self.labels: list[str] = self._figure["names"]
        self.below = np.array([bin_["weak"] for bin_ in bins], dtype=bool)

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
        bins: int = 10,
        ax: Axes | None = None,
    ) -> ConditionalCoverageDisplay:
        """Draw the coverage of a model by bins of rows it has not seen.

        Parameters
        ----------
        {model_rows}
        by : str, int or array-like, optional
            Name or index of a feature of the model, ``"prediction"``, or a column of labels or numbers, by its name in
            X or its values; by default the width of the interval.
        {confidence_level}
        bins : int, default=10
            Number of ranges of a feature, with equally many rows each. Equal values stay together, so there may be
            fewer. Widths always have ten ranges.
        """
        rows = ModelRows.of(model, X, y, y_pred, groups, by)
        level = rows.level(confidence_level)
        _, lower, upper = rows.intervals(level)
        bounds = np.stack([lower, upper], axis=1)
        return cls.from_predictions(
            rows.y,
            bounds,
            level,
            by=rows.column(by),
            target_name=rows.model.target,
            bins=bins,
            calibration_rows=rows.model.calibration_rows,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        intervals: Any,
        confidence_level: float,
        *,
        by: Any = None,
        by_name: str | None = None,
        target_name: str | None = None,
        bins: int = 10,
        calibration_rows: int | None = None,
        ax: Axes | None = None,
    ) -> ConditionalCoverageDisplay:
        """Draw the coverage of intervals from any source.

        Parameters
        ----------
        y : array-like of shape (n,)
        intervals : array-like of shape (n, 2) or (n, 2, 1)
        confidence_level : float
        by : array-like of shape (n,), optional
            Numbers, NaN if missing, or labels; by default the width of the interval. Labels with fewer than 20 rows
            share a bin.
        by_name, target_name : str, optional
            Names of `by` and `y`.
        bins : int, default=10
        calibration_rows : int, optional
            Number of calibration rows; without it, coverage is compared with the level itself.
        ax : matplotlib axes, optional
        """
        outcomes = _tables.outcomes(y)
        lower, upper = bounds_of(intervals, len(outcomes))
        column = by_of(None, by, len(outcomes))
        rows = (lower, upper, outcomes)
        if column is None:
            name = _core.width_name(target_name or _tables.name_of(y, "y"))
            found = _core.coverage_by_width(*rows, bins, confidence_level, calibration_rows)
        elif column.labels:
            name = column.name
            found = _core.coverage_by_label(*rows, column.values, column.labels, confidence_level, calibration_rows)
        else:
            name = column.name
            found = _core.coverage_by_feature(*rows, column.values, bins, confidence_level, calibration_rows)
        return cls(bins=found, confidence_level=confidence_level, by_name=by_name or name).plot(ax)

    @classmethod
    def from_evaluation(
        cls, evaluation: Any, *, confidence_level: float | None = None, target_name: str = "y", ax: Axes | None = None
    ) -> ConditionalCoverageDisplay:
        """Draw the coverage by width of an `Evaluation`, at its first level or at the given one."""
        levels = {level["level"]: level for level in evaluation["levels"]}
        wanted = next(iter(levels)) if confidence_level is None else confidence_level
        if wanted not in levels:
            raise ValueError(f"the evaluation has no level {wanted:g}; it has {', '.join(f'{a:g}' for a in levels)}")
        bins = levels[wanted]["by_width"]
        return cls(bins=bins, confidence_level=wanted, by_name=_core.width_name(target_name)).plot(ax)

    def plot(self, ax: Axes | None = None) -> ConditionalCoverageDisplay:
        """Draw the plot, with the first bin at the top, and return this display."""
        ax = self._begin(ax, grid="x")
        shown = self._figure["shown"]
        below = self.below[shown]
        found = [self.bins[i]["coverage"] for i in shown]
        share, low, high = (np.array([coverage[end] for coverage in found]) for end in ("share", "low", "high"))
        place = np.arange(len(shown))
        confidence, weak, level = self._figure["legend"]
        bars: dict[str, Any] = {"markersize": 5.5, "elinewidth": 1.6}
        for chosen, colour, marker, label in ((~below, good(), "o", confidence), (below, bad(), "X", weak)):
            if chosen.any():
                errors = [(share - low)[chosen], (high - share)[chosen]]
                ax.errorbar(share[chosen], place[chosen], xerr=errors, fmt=marker, color=colour, label=label, **bars)
        ax.axvline(self.confidence_level, color=ink(), linewidth=1, linestyle=(0, (4, 3)), label=level)
        ax.set_ylim(len(shown) - 0.4, -0.6)
        ax.set_yticks(place, [short_text(self.labels[i]) for i in shown])
        plain_texts(ax.get_yticklabels())
        ax.tick_params(axis="y", length=0)
        ax.set_xlim(self._figure["x_limits"])
        percentages(ax.xaxis)
        self._finish(side="right")  # so that the legend can extend over the labels
        return self
