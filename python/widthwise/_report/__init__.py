"""A page that says whether intervals are valid, where coverage is weak, and what to do.

>>> from widthwise import report                                    # doctest: +SKIP
>>> report(model, X_test, y_test, "intervals.html").verdict         # doctest: +SKIP
'The intervals are valid; coverage is low, 81%, where sqft_living is at least 4,000.'

The page is one HTML file that asks for nothing else: no script, no font, no picture from elsewhere.
"""

from __future__ import annotations

import os
from html import escape
from typing import Any

from .. import _core
from .._evaluation import Evaluation, evaluate
from .._options import Levels, file_of, levels_of
from ..plot._rows import ModelRows
from .page import page
from .verdict import verdict_of


class Report:
    """What `report` found, as a page.

    Attributes
    ----------
    html : str
        The whole page.
    verdict : str
        Its headline: whether intervals are valid, and where they are weak.
    advice : list of str
        What to do about it.
    evaluation : Evaluation
        The numbers.
    """

    def __init__(self, html: str, verdict: str, advice: list[str], evaluation: Evaluation) -> None:
        self.html = html
        self.verdict = verdict
        self.advice = advice
        self.evaluation = evaluation

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
        _core.write_file(file_of(path), self.html.encode())

    def __repr__(self) -> str:
        return f"Report: {self.verdict}"

    def _repr_html_(self) -> str:
        """A frame of its own, so that the page and the notebook leave each other's looks alone."""
        return (
            f'<iframe title="{escape(self.verdict)}" srcdoc="{escape(self.html)}" sandbox'
            ' style="width: 100%; height: 48rem; border: 0"></iframe>'
        )


def report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    y_pred: Any = None,
    confidence_level: Levels | None = None,
    groups: Any = None,
    title: str | None = None,
) -> Report:
    """Write a page that says whether intervals are valid on new rows, where coverage is weak, and what to do.

    Every claim about weak places on the page, in its headline, table and pictures, is the result of one test. Where
    coverage is the same everywhere, the page calls any place weak with a probability of at most 1%.

    Parameters
    ----------
    model : WidthwiseRegressor or Predictor
    X, y
        Rows with outcomes that neither fitted nor calibrated the model.
    path : path-like, optional
        Where to write the page.
    y_pred : array-like of shape (n,), optional
        Predictions, where the model makes none.
    confidence_level : float or list of floats, optional
        By default those of the model.
    groups : array-like or str, optional
        Labels of the groups of the rows, or the name of their column in X, if the model has groups.
    title : str, optional
        By default it names the outcome.

    Returns
    -------
    Report
        With ``html``, ``verdict``, ``advice`` and ``evaluation``; a notebook shows the page.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from widthwise import WidthwiseRegressor, report
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 4, (4000, 2))
    >>> y = X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=4000)
    >>> model = WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1).fit(X[:3000], y[:3000])
    >>> report(model, X[3000:], y[3000:]).verdict
    'The intervals are valid; no place was found where coverage is weak.'
    """
    rows = ModelRows.of(model, X, y, y_pred, groups)
    levels = levels_of(confidence_level, rows.model.levels)
    evaluation = evaluate(rows.model, rows.table, rows.given, rows.groups, rows.y, levels)
    verdict = verdict_of(evaluation, model)
    title = title or f"Prediction intervals of {rows.model.target}"
    made = Report(page(title, verdict, evaluation, rows, model), verdict.headline, verdict.advice, evaluation)
    if path is not None:
        made.save(path)
    return made
