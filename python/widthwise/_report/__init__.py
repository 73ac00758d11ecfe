"""An HTML report on the validity of intervals, places of weak coverage, and remedies.

>>> from widthwise import report                                    # doctest: +SKIP
>>> report(model, X_test, y_test, "intervals.html").verdict         # doctest: +SKIP
'The intervals are valid; coverage is low, 81%, where sqft_living is at least 4,000.'

The report is one self-contained HTML file without scripts, fonts or pictures from other files.
"""

from __future__ import annotations

import os
from html import escape
from typing import Any

from .. import _core
from .._evaluation import Evaluation
from .._options import Levels, file_of, levels_of
from .._rows import ModelRows
from .verdict import verdict_of


class Report:
    """The result of `report`.

    Attributes
    ----------
    html : str
        The report.
    verdict : str
        Headline of the report: whether intervals are valid, and where coverage is weak.
    advice : list of str
        Recommended actions.
    evaluation : Evaluation
        The measured coverage and widths.
    """

    def __init__(self, html: str, verdict: str, advice: list[str], evaluation: Evaluation) -> None:
        self.html = html
        self.verdict = verdict
        self.advice = advice
        self.evaluation = evaluation

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file atomically."""
        _core.write_file(page_file_of(path), self.html.encode())

    def __repr__(self) -> str:
        return f"Report: {self.verdict}"

    def _repr_html_(self) -> str:
        """The report in an iframe, so that its style and that of the notebook do not affect each other."""
        return (
            f'<iframe title="{escape(self.verdict)}" srcdoc="{escape(self.html)}" sandbox'
            ' style="width: 100%; height: 48rem; border: 0"></iframe>'
        )


def page_file_of(path: str | os.PathLike[str]) -> bytes:
    """The name of a file for a report, which ends in .html or .htm."""
    file = file_of(path)
    _core.require_html_name(file)
    return file


def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    y_pred: Any = None,
    confidence_level: Levels | None = None,
    groups: Any = None,
    by: Any = None,
    conditional: bool = False,
    title: str | None = None,
) -> Report:
    """Write an HTML report on the validity of intervals on new rows, places of weak coverage, and remedies.

    All weak places in the report, in its headline, table and plots, come from one test: if coverage is the same
    everywhere, the probability that any place is called weak is at most 1%.

    Parameters
    ----------
    model : WidthwiseRegressor or Predictor
    X, y
        Rows with outcomes that the model was not fitted or calibrated on.
    path : path-like, optional
        File to write the report to, .html or .htm.
    y_pred : array-like of shape (n,), optional
        Predictions, if the model has no base model.
    confidence_level : float or list of floats, optional
        By default the levels of the model.
    groups : array-like or str, optional
        Labels of the groups of the rows, or the name of their column in X, if the model has groups.
    by : array-like or str, optional
        Labels or numbers to test coverage by, or the name of their column in X. The column need not be a feature.
    conditional : bool, default=False
        Also estimate how far coverage given X is from the level (ERT), see `Evaluation`. This trains classifiers, which
        takes seconds and needs XGBoost.
    title : str, optional
        Title of the report; by default it contains the name of the outcome.

    Returns
    -------
    Report
        With ``html``, ``verdict``, ``advice`` and ``evaluation``; notebooks display the report.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from widthwise import WidthwiseRegressor, report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 4, (4000, 2))
    >>> y = X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=4000)
    >>> model = WidthwiseRegressor(LinearRegression(), random_state=1, n_jobs=1).fit(X[:3000], y[:3000])
    >>> report(model, X[3000:], y[3000:]).verdict
    'The intervals are valid; no place was found where coverage is weak.'
    """
    if path is not None:
        page_file_of(path)  # before the evaluation
    rows = ModelRows.of(model, X, y, y_pred, groups, by)
    levels = levels_of(confidence_level, rows.model.levels)
    tested = rows.column(by)
    evaluator = rows.evaluated(levels, counted_levels=_core.page_levels(levels), conditional=conditional, by=tested)
    evaluated = evaluator.report(tested)
    evaluation = Evaluation.of(evaluated)
    verdict = verdict_of(evaluation, model)
    estimator = getattr(model, "estimator_", None)
    html = evaluator.page(
        evaluated,
        title or "",
        "" if estimator is None else type(estimator).__name__,
        verdict.advice,
        _fit_of(model),
    )
    made = Report(html, verdict.headline, verdict.advice, evaluation)
    if path is not None:
        made.save(path)
    return made


def _fit_of(model: Any) -> tuple[list[Any], float, str] | None:
    """Results of `fit` on the hold-out: the goals, the mean error out of sample and the summary."""
    found = getattr(model, "fit_report_", None)
    if not found:
        return None
    goals = {goal["goal"]: goal for goal in (found["chosen"], found["other"], found["fixed"]) if goal}
    listed = [
        (
            name,
            goal["score_transform"],
            goal["mean_width"],
            goal["finite_mean_width"],
            goal["coverage"],
            _slab_of(goal["worst_slab"]),
        )
        for name, goal in goals.items()
    ]
    return listed, found["base_error"], found["summary"]


def _slab_of(slab: dict[str, float] | None) -> tuple[float, float, float] | None:
    return None if slab is None else (slab["share"], slab["low"], slab["high"])
