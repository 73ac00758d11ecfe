"""Trade-off between width and evenness of the goals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core, _tables
from .._docs import with_shared
from .._evaluation import Evaluation, evaluate_table, number, percent
from .._localizer import Localizer
from .._options import Goal, is_number
from .._predictor import Predictor
from .._rows import ModelRows
from ._style import Axes, Display, bad, good, ink, legend_above, level_text, name_axes, note, percentages, plain_numbers

ONE_WIDTH = "one width"
GOALS: tuple[Goal, ...] = ("narrow", 0.25, 0.5, 0.75, "even")


@dataclass(frozen=True)
class FrontierPoint:
    """Mean width and worst-slab coverage of one goal."""

    name: str
    mean_width: float  # of the finite intervals, if there are any
    coverage: float
    worst_slab: float
    low: float = np.nan  # 95% confidence interval of worst_slab
    high: float = np.nan
    infinite: float = 0.0  # share of infinite intervals


class FrontierDisplay(Display):
    """Mean width against coverage in the worst slab, for goals from narrow to even and for a constant width.

    Higher points are more even, points further left are narrower. A slab contains at least a tenth of the rows, between
    two parallel planes in feature space. The worst slab is found on one half of the rows and measured on the other.

    Create it with `from_estimator`, `from_report`, `from_fits` or `from_goals`.

    Attributes
    ----------
    points : list of FrontierPoint
        Points in the order of the line; the point ``one width`` is drawn separately.
    ax_, figure_ : matplotlib axes and figure
    """

    def __init__(self, *, points: Sequence[FrontierPoint], confidence_level: float, target_name: str = "y") -> None:
        self.points = list(points)
        self.confidence_level = confidence_level
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
    ) -> FrontierDisplay:
        """Draw a model, measured on rows it has not seen, and the constant width that covers as many of them.

        Parameters
        ----------
        {model_rows}
        {confidence_level}
        """
        rows = ModelRows.of(model, X, y, y_pred, groups)
        level = rows.level(confidence_level)
        points = [_measured(_goal_of(rows.model), rows, level)]
        _require_slab(points, len(rows.y))
        predictions, lower, upper = rows.intervals(level)
        width = _core.widths_figure(lower, upper, rows.y, predictions, rows.model.target)["one_width"]
        if width is not None and points[0].name != ONE_WIDTH:
            bounds = np.stack([predictions - width / 2, predictions + width / 2], axis=1)[:, :, np.newaxis]
            found = evaluate_table(bounds, rows.y, [level], rows.table)["levels"][0]
            points.append(_point(ONE_WIDTH, found))
        return cls(points=points, confidence_level=level, target_name=rows.model.target).plot(ax)

    @classmethod
    def from_report(cls, model: Any, *, ax: Axes | None = None) -> FrontierDisplay:
        """Draw the comparison of `fit` on the hold-out: the chosen goal, the opposite goal and a constant width.

        Parameters
        ----------
        model : WidthwiseRegressor or Localizer
            Fitted, with a ``fit_report_``.
        ax : matplotlib axes, optional
        """
        report = getattr(model, "fit_report_", None)
        if report is None:
            raise ValueError(
                f"this {type(model).__name__} has no fit_report_: it was loaded or not fitted; use from_estimator"
            )
        core = getattr(model, "predictor_", model)._model
        points = [
            FrontierPoint(
                ONE_WIDTH if goal["goal"] == "fixed" else goal["goal"],
                _mean_width(goal, goal["infinite"]),
                goal["coverage"],
                *_slab_of(goal["worst_slab"]),
                goal["infinite"],
            )
            for goal in (report["chosen"], report["other"], report["fixed"])
            if goal is not None
        ]
        unique = {point.name: point for point in points}
        order = sorted(unique.values(), key=lambda point: _evenness(point.name))
        return cls(points=order, confidence_level=core.levels[0], target_name=core.target).plot(ax)

    @classmethod
    def from_fits(
        cls,
        models: Mapping[str, Any] | Sequence[Any],
        X: Any,
        y: Any,
        *,
        y_pred: Any = None,
        confidence_level: float | None = None,
        ax: Axes | None = None,
    ) -> FrontierDisplay:
        """Draw models that were fitted to several goals, measured on rows they have not seen.

        Parameters
        ----------
        models : dict or list of WidthwiseRegressor or Predictor
            Models by name, in the order of the line. Models of a list are named by their goals. The model ``one width``
            is drawn separately.
        X, y
            Rows with outcomes: at least 1,000, so that 50 rows measure the worst slab.
        y_pred : array-like, optional
            Predictions, if the models have no base model.
        confidence_level : float, optional
            By default the first level of the first model.
        ax : matplotlib axes, optional
        """
        fitted = list(models.values()) if isinstance(models, Mapping) else list(models)
        fits = [ModelRows.of(model, X, y, y_pred) for model in fitted]
        if not fits:
            raise ValueError("no models to compare")
        level = fits[0].level(confidence_level)
        names = list(models) if isinstance(models, Mapping) else [_goal_of(fit.model) for fit in fits]
        points = [_measured(name, fit, level) for name, fit in zip(names, fits, strict=True)]
        _require_slab(points, len(fits[0].y))
        return cls(points=points, confidence_level=level, target_name=fits[0].model.target).plot(ax)

    @classmethod
    def from_goals(
        cls,
        X: Any,
        y: Any,
        y_pred: Any,
        *,
        goals: Sequence[Goal] = GOALS,
        confidence_level: float = 0.9,
        random_state: int = 0,
        n_jobs: int | None = None,
        ax: Axes | None = None,
    ) -> FrontierDisplay:
        """Fit every goal to half of the rows, calibrate with a quarter, measure on the last quarter, and draw.

        Parameters
        ----------
        X, y, y_pred
            Rows with outcomes and out-of-sample predictions of one kind, by the deployed model or cross-validated. Both
            suffice here, because the goals are only compared with each other.
        goals : list, default=("narrow", 0.25, 0.5, 0.75, "even")
        confidence_level : float, default=0.9
        random_state : int, default=0
            Random seed of the split and of training.
        n_jobs : int, optional
            Number of threads of XGBoost; by default all processors.
        ax : matplotlib axes, optional
        """
        table, _ = _tables.read_numbers(X)
        outcomes = _tables.outcomes(y, table.rows)
        predictions = _tables.numbers(y_pred, "y_pred", table.rows)
        n = table.rows
        order = np.random.default_rng(random_state).permutation(n)
        parts = [np.sort(part) for part in np.split(order, [n // 2, n - n // 4])]
        fit, calibrate, test = ((table.take(rows), outcomes[rows], predictions[rows]) for rows in parts)
        points = []
        for goal in (*goals, None):
            localizer = Localizer(
                goal=goal,
                score_transform="identity" if goal is None else "auto",
                random_state=random_state,
                n_jobs=n_jobs,
            ).fit(*fit)
            name = ONE_WIDTH if goal is None else goal if isinstance(goal, str) else f"{goal:g}"
            predictor = Predictor(localizer, localizer.calibrate(*calibrate))
            points.append(_measured(name, ModelRows.of(predictor, *test), confidence_level))
        return cls(points=points, confidence_level=confidence_level, target_name=_tables.name_of(y, "y")).plot(ax)

    def plot(self, ax: Axes | None = None) -> FrontierDisplay:
        """Draw the plot and return this display."""
        ax = self._begin(ax, grid="both")
        shown = [point for point in self.points if np.isfinite([point.mean_width, point.worst_slab]).all()]
        goals = [point for point in shown if point.name != ONE_WIDTH]
        level = f"level {level_text(self.confidence_level)}"
        ax.axhline(self.confidence_level, color=ink(), linewidth=1, linestyle=(0, (4, 3)), label=level)
        if goals:
            line = np.array([(point.mean_width, point.worst_slab) for point in goals]).T
            ax.plot(*line, color=good(), marker="o", markersize=7, linewidth=1.5, label="goals")
        one = next((point for point in shown if point.name == ONE_WIDTH), None)
        if one is not None:
            ax.plot(
                one.mean_width, one.worst_slab, color=bad(), marker="s", markersize=7, linestyle="none", label=ONE_WIDTH
            )
        for point in shown:
            if np.isfinite(point.low):
                colour = bad() if point is one else good()
                ax.vlines(point.mean_width, point.low, point.high, color=colour, alpha=0.4, linewidth=1.6)
            if point is not one:
                at: dict[str, Any] = {"xytext": (8, -4), "textcoords": "offset points", "va": "top"}
                ax.annotate(point.name, (point.mean_width, point.worst_slab), parse_math=False, **at)
        if len(shown) < len(self.points):
            left_out = ", ".join(point.name for point in self.points if point not in shown)
            note(ax, f"infinite or not known: {left_out}", y=0.04, va="bottom")
        elif any(point.infinite for point in shown):
            note(ax, "widths without infinite intervals", y=0.04, va="bottom")
        ax.margins(x=0.15, y=0.15)
        plain_numbers(ax.xaxis)
        percentages(ax.yaxis)
        name_axes(ax, "mean " + _core.width_name(self.target_name), "coverage in the worst slab")
        legend_above(ax)
        return self

    @property
    def summary(self) -> str:
        """Description of the plot in sentences."""
        known = [point for point in self.points if np.isfinite(point.worst_slab)]
        if not known:
            return "The rows are too few to measure the worst slab."
        found = [
            f"{'one width for all' if point.name == ONE_WIDTH else f'the goal {point.name}'} covers"
            f" {percent(point.worst_slab)} ({percent(point.low)} to {percent(point.high)}) at"
            f" a mean width of {number(point.mean_width)}"
            + (f" without the {percent(point.infinite)} of infinite intervals" if 0 < point.infinite < 1 else "")
            for point in known
        ]
        last = f", and {found[-1]}" if len(found) > 1 else ""
        return (
            f"Coverage of the worst slab, with its 95% confidence interval: {', '.join(found[:-1] or found)}{last}."
            " Up is more even, left is narrower."
        )


def _goal_of(model: _core.Model) -> str:
    if model.transform == "identity":
        return ONE_WIDTH
    return model.notes.get("goal", model.transform)


def _evenness(name: str) -> float:
    """Position of a goal on the line, for sorting."""
    return {"narrow": -1.0, "even": 1.0, ONE_WIDTH: 2.0}.get(name, 0.0 if not is_number(name) else float(name))


def _measured(name: str, rows: ModelRows, level: float) -> FrontierPoint:
    return _point(name, Evaluation.of(rows.evaluated([level]).report())["levels"][0])


def _require_slab(points: Sequence[FrontierPoint], rows: int) -> None:
    """Raise if the rows are too few to measure the worst slab of any point."""
    if all(np.isnan(point.worst_slab) for point in points):
        raise ValueError(
            f"{rows} rows are too few to measure the worst slab on {_core.MIN_SLAB_ROWS} rows; pass "
            f"{20 * _core.MIN_SLAB_ROWS:,} or more"
        )


def _point(name: str, found: dict[str, Any]) -> FrontierPoint:
    return FrontierPoint(
        name,
        _mean_width(found, found["infinite_share"]),
        found["coverage"]["share"],
        *_slab_of((found["worst_slab"] or {}).get("coverage")),
        found["infinite_share"],
    )


def _mean_width(found: dict[str, Any], infinite: float) -> float:
    """The mean width, or that of the finite intervals if a share of them is infinite."""
    width: float = found["finite_mean_width"] if 0 < infinite < 1 else found["mean_width"]
    return width


def _slab_of(coverage: dict[str, Any] | None) -> tuple[float, float, float]:
    """Coverage and its confidence interval; NaN if there were too few rows."""
    return (np.nan, np.nan, np.nan) if coverage is None else (coverage["share"], coverage["low"], coverage["high"])
