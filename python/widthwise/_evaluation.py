"""Width, validity and weak places of intervals on rows with outcomes."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from . import _core, _tables
from ._by import By, by_of
from ._engine import xgboost_library
from ._options import Guarantee, Levels, guarantee_text, levels_of, whole
from ._printed import PrintedReport, html_table
from ._tables import Floats

percent = _core.percent  # "90.3%"
number = _core.significant  # four significant digits, and all digits before the point


class Evaluation(PrintedReport):
    """The evaluation of intervals on rows that the model has not seen: a dict that prints as a table.

    Keys and text are those of ``widthwise evaluate``:

    - ``rows``: number of rows
    - ``guarantee_statement``: the guarantee of the model with its conditions, in words; None without a model
    - ``seen``: None, or a dict with the shares of rows that ``fitted`` and ``calibrated`` the model (as a sentence:
      ``rows``) and the numbers of ``fitted_clusters`` and ``calibrated_clusters``; the verdict is then "not new"
    - ``levels``: a dict per confidence level, in the given order, with ``level``, ``coverage`` (with its 95% confidence
      interval), ``mean_width``, ``median_width``, ``interval_score``, ``infinite`` and ``empty`` (with
      ``infinite_share`` and ``empty_share``), ``verdict``, ``clusters``, ``worst_slab``, ``weakest``, ``weak_places``,
      ``gaps``, ``uneven``, ``ert``, ``rows``, ``by_width``, ``by_group``, ``by_feature`` and, if requested, ``by``
    - ``verdict``: the decision from all levels and tests: a dict with ``code`` ("valid", "uneven", "weak_place",
      "too_high", "too_low", "infinite", "not_judged" or "not_new"), ``headline``, ``evidence`` and ``advice``
    - ``crps``: continuous ranked probability score of the model's quantiles, see `widthwise.crps`; None without a model
      and for cross-calibrated models
    - ``exchangeability``: with ``in_order=True``, a dict with ``false_alarm_rate``, ``rows``, ``alarm`` (None, or a dict
      with ``row``, counted from 1, and ``errors``, "larger" or "smaller"), ``log_martingale``,
      ``highest_log_martingale`` and ``text``

    ``mean_width``, ``interval_score`` and ``crps`` are infinite if any interval or quantile is. ``finite_mean_width``,
    ``finite_interval_score`` and ``finite_crps`` are the means without those rows, whose numbers are ``infinite`` and
    ``crps_infinite``.

    ``clusters`` of a level is None, or a dict for a model with clusters: their ``count``, the mean ``coverage`` over
    clusters, ``coverage_of_rows``, which of the two the verdict is about (``judged``, "rows" or "clusters"), and whether
    they ``differ`` by more than chance, because coverage depends on the size of clusters.

    ``rows`` of a level, if rows have ids, lists at most five each of the ``widest`` intervals and of the outcomes that
    were ``missed`` farthest: dicts with ``row``, counted from 1, ``id``, ``lower``, ``upper`` and ``outcome``.

    ``gaps`` holds a dict for the width, the prediction and each feature, with the mean absolute difference between the
    coverage of its tenths and the level (``mean``), the mean to expect by chance if coverage is even (``by_chance``),
    the largest difference with its sign (``largest``), and a ``p_value`` corrected for all places tested (Holm). If it
    is at most 1%, coverage is uneven: ``uneven`` says where it is high and low, else it is None.

    ``ert``, with ``conditional=True``, is the excess risk of the target coverage (Braun et al. 2025) for three losses:
    ``l1``, ``brier`` and ``kl``, each with ``value``, ``standard_error``, and the parts of low (``under``) and high
    (``over``) coverage. The value of ``l1`` estimates, from below, the mean absolute difference between coverage given
    x and the level. It is 0 if coverage is the level at every x, and then slightly negative or positive by chance.

    All weak places and gaps, here and in the report, come from one test: if coverage is the same everywhere, the
    probability that any place is called weak, or coverage uneven, is at most 1%. The verdict on the coverage of all rows
    is wrong with a probability of at most 1%.
    """

    @classmethod
    def of(cls, report: _core.EvaluationReport) -> Evaluation:
        return cls(report.to_json(), report.to_text())

    def _repr_html_(self) -> str:
        """A short form for notebooks: the verdict, a table of the levels, and the whole text in a section to open."""
        with_slab = any(level["worst_slab"] for level in self["levels"])
        heads = ["Level", "Verdict", "Coverage", "Expected", "Mean width"] + ["Worst slab"] * with_slab
        rows = []
        for level in self["levels"]:
            verdict, slab = level["verdict"], level["worst_slab"]
            expected = f"{percent(verdict['expected_low'])} to {percent(verdict['expected_high'])}"
            word = verdict["word"] + (", uneven" if level["uneven"] else "")
            row = [f"{100 * level['level']:.6g}%", word, percent(level["coverage"]["share"]), expected]
            some_finite = 0 < level["infinite"] < self["rows"]
            row += [f"{number(level['finite_mean_width'])} (finite)" if some_finite else number(level["mean_width"])]
            rows.append(row + [percent(slab["coverage"]["share"]) if slab else "-"] * with_slab)
        verdict = self.get("verdict")
        headline = f"<p><strong>{html.escape(verdict['headline'])}</strong></p>" if verdict else ""
        note = "<p>Worst slab: the tenth or more of the rows where coverage is lowest.</p>" if with_slab else ""
        return (
            f'<div style="max-width: 48em; overflow-x: auto">{headline}{html_table(rows, heads)}{note}<details><summary>'
            f"{_core.count_of(self['rows'], 'row')}: all results</summary><pre>{html.escape(str(self))}</pre></details></div>"
        )

    @property
    def valid(self) -> bool:
        """Whether the rows are new to the model and no level has a coverage below its expected range."""
        broken = ("too low", _core.SEEN_VERDICT)
        return all(level["verdict"]["word"] not in broken for level in self["levels"])


def evaluate_intervals(
    intervals: Any,
    y: Any,
    *,
    confidence_level: Levels,
    calibration_rows: int | None = None,
    X: Any = None,
    y_pred: Any = None,
    guarantee: Guarantee = "marginal",
    by: Any = None,
    conditional: bool = False,
) -> Evaluation:
    """Evaluate intervals of any origin: width, validity and weak places.

    Parameters
    ----------
    intervals : array-like of shape (n, 2, k)
        Lower bounds ``[:, 0, :]`` and upper bounds ``[:, 1, :]``, as returned by `predict_interval` of this package or
        of MAPIE. The shape may be (n, 2) for one level.
    y : array-like of shape (n,)
        Outcomes.
    confidence_level : float or list of k floats
        Confidence levels of the intervals.
    calibration_rows : int, optional
        Number of calibration rows; determines how far coverage may be from the level. By default, coverage is compared
        with the level itself, by the binomial range of the test rows.
    X : table of shape (n, d), optional
        Features to search for places where coverage is weak: numbers, and text as categories.
    y_pred : array-like of shape (n,), optional
        Predictions, searched like a feature if there is X. An interval that consists of its prediction alone counts as
        empty.
    guarantee : "marginal" or float, default="marginal"
        Guarantee of the intervals, see `WidthwiseRegressor`. Any other than "marginal" needs ``calibration_rows``.
    by : array-like of shape (n,) or str, optional
        Labels or numbers to test coverage by, or the name of their column in X.
    conditional : bool, default=False
        Also estimate how far coverage given X is from the level, as ``ert``, see `Evaluation`. This trains classifiers,
        which takes seconds and needs XGBoost.

    Returns
    -------
    Evaluation
        A dict of all results, which prints as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise import evaluate_intervals
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> intervals = np.tile([-1.645, 1.645], (1000, 1))
    >>> found = evaluate_intervals(intervals, y, confidence_level=0.9)
    >>> found["levels"][0]["coverage"]["share"]
    0.914
    >>> found["verdict"]["code"]
    'valid'
    """
    outcomes = _tables.numbers(y, "y")
    levels = levels_of(confidence_level, [])
    bounds = _tables.floats(intervals, "intervals")
    bounds = bounds[:, :, None] if bounds.ndim == 2 else bounds
    if bounds.shape != (len(outcomes), 2, len(levels)):
        raise ValueError(
            f"intervals are of shape {np.shape(intervals)}; expected ({len(outcomes)}, 2, {len(levels)}) for "
            f"{_core.count_of(len(outcomes), 'outcome')} and {_core.count_of(len(levels), 'level')}"
        )
    text = guarantee_text(guarantee)
    if calibration_rows is None and text != "marginal":
        raise ValueError(
            f"guarantee is {guarantee}, whose range of coverage depends on the number of calibration rows; pass"
            " calibration_rows"
        )
    features = None if X is None else _tables.read_features(X)
    table = None if features is None else features.table
    if table is not None:
        _tables.expect_rows(table.rows, len(outcomes), "y")
    evaluator = _core.Evaluator.of_intervals(
        levels,
        None if calibration_rows is None else whole(calibration_rows, "calibration_rows"),
        text,
        [] if table is None else table.names,
        [] if features is None else features.categories,
        xgboost_library() if conditional else None,
    )
    predictions = None if y_pred is None else _tables.numbers(y_pred, "y_pred", len(outcomes))
    evaluator.add_intervals(np.ascontiguousarray(bounds), outcomes, table, predictions)
    return Evaluation.of(evaluator.report(by_of(X, by, len(outcomes))))


def evaluator_of(
    model: _core.Model,
    levels: list[float],
    *,
    counted_levels: list[float] | None = None,
    false_alarm_rate: float | None = None,
    conditional: bool = False,
    by: By | None = None,
) -> _core.Evaluator:
    """Evaluates a model on the rows of tables; weak places are searched in the features that it was fitted with.

    At counted levels, only the covered rows are counted. With a false-alarm rate, the rows are in time order and tested
    for exchangeability with the calibration rows.
    """
    library = xgboost_library() if conditional else None
    return _core.Evaluator(model, levels, counted_levels or [], false_alarm_rate, library, by is not None)


def evaluate_table(intervals: Floats, outcomes: Floats, levels: list[float], table: _core.Table) -> Evaluation:
    """Evaluate intervals of any origin for the rows of a table."""
    evaluator = _core.Evaluator.of_intervals(levels, None, "marginal", table.names, [], None)
    evaluator.add_intervals(np.ascontiguousarray(intervals), outcomes, table, None)
    return Evaluation.of(evaluator.report())
