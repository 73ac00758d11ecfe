"""Intervals, p-values and quantiles from a localizer and a calibration."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core, _tables, _weights
from ._blocks import cluster_column_of, cluster_numbers, sizes_of
from ._by import by_of
from ._calibration import Calibration
from ._evaluation import Evaluation, evaluator_of
from ._groups import column_of, for_prediction
from ._ids import ids_of
from ._intervals import interval_frame
from ._model import HOW_TO_CALIBRATE, HasModel, Origin, add_rows, inputs_of, load_model
from ._options import Guarantee, Levels, guarantee_of, guarantee_text, is_level, levels_of, probabilities_of, real
from ._printed import html_table
from ._row_function import RowFunction
from ._tables import Floats
from ._warn import warn

if TYPE_CHECKING:
    from ._localizer import Localizer

_FEATURES_SHOWN = 8  # in the form for notebooks


class Predictor(HasModel):
    """Intervals, p-values and quantiles from a localizer and a calibration.

    Parameters
    ----------
    localizer : Localizer
    calibration : Calibration
        Calibration of the scores of this localizer.

    Examples
    --------
    See `Localizer`. A model file written by ``widthwise fit`` or `WidthwiseRegressor.save` also loads as a predictor:

    >>> from widthwise import Predictor
    >>> predictor = Predictor.load("homes.safetensors")         # doctest: +SKIP
    >>> y_pred, intervals = predictor.predict_interval(X_new)   # doctest: +SKIP
    """

    def __init__(self, localizer: Localizer, calibration: Calibration) -> None:
        if not hasattr(localizer, "_fitted_model") or not isinstance(calibration, Calibration):
            found = f"{type(localizer).__name__} and {type(calibration).__name__}"
            raise TypeError(f"expected a Localizer and a Calibration, found {found}; Predictor.load opens a model file")
        model = localizer._fitted_model()
        shard = calibration._shard
        if model.weighted:
            # Localizer.calibrate scores rows of the population to predict without weights.
            unweighted = model.without_weights()
            if shard.scores_of == unweighted.score_fingerprint:
                model = unweighted
        self._model = model.with_calibration(shard)
        model.require_new_rows(shard)

    @classmethod
    def _of(cls, model: _core.Model, origin: Origin | None = None) -> Predictor:
        self = cls.__new__(cls)
        self._model = model
        self._origin = origin
        return self

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Predictor:
        """Load a model file. The file is checked and never executed."""
        origin = Origin.of(path)
        return cls._of(load_model(path), origin)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file atomically. C++ and the command line can load it.

        Raises `OSError` if this model was loaded from that file and the file has changed since, because the update of
        another process would be lost. Load the file again and repeat the update.
        """
        self._save_model(self._model, path)

    @property
    def needs_predictions(self) -> bool:
        """Whether the model has no base model, so that rows need predictions."""
        return self._model.needs_predictions

    @property
    def calibration(self) -> Calibration:
        """A copy of the calibration."""
        return Calibration._of(self._model.calibration)

    @property
    def confidence_levels(self) -> list[float]:
        """Default confidence levels of `predict_interval`."""
        return self._model.levels

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of intervals and quantiles: "marginal", or the confidence of training-conditional coverage."""
        return guarantee_of(self._model.guarantee)

    @property
    def guarantee_statement(self) -> str:
        """The guarantee of the calibration scheme with its conditions, in words; ``widthwise inspect`` prints it."""
        return self._model.guarantee_statement

    def with_guarantee(self, guarantee: Guarantee) -> Predictor:
        """Return this predictor with another guarantee, without fitting or calibrating again.

        Parameters
        ----------
        guarantee : "marginal" or float
            See `WidthwiseRegressor`.
        """
        return Predictor._of(self._model.with_guarantee(guarantee_text(guarantee)), self._origin)

    def predict(self, X: Any, y_pred: Any = None) -> Floats:
        """Predictions of the base model. Those of a cross-calibrated model are the median over its folds."""
        return self._model.predictions(*self._inputs(X, y_pred))

    def predict_interval(
        self,
        X: Any,
        y_pred: Any = None,
        *,
        confidence_level: Levels | None = None,
        groups: Any = None,
        weights: Any = None,
        cluster_sizes: Any = None,
        as_frame: bool = False,
    ) -> Any:
        """Predictions and intervals.

        Parameters
        ----------
        X : table of shape (n, d)
            Contains the columns of fit, in any order. Other columns are ignored.
        y_pred : array-like of shape (n,) or (n, 2), optional
            Predictions, if the model has no base model; two columns are lower and upper quantiles, if the model was
            fitted to them. Of shape (n, folds) if the model is cross-calibrated with an
            estimator: the predictions of the estimators of all folds.
        confidence_level : float or list of k floats, optional
        groups : array-like or str, optional
            Labels of the groups of the rows, or the name of their column in X, if the calibration has groups. By
            default the column of X that the model was fitted with. A group without calibration rows gets infinite
            intervals, unless small groups are pooled.
        weights : array-like of shape (n,) or str, optional
            Likelihood ratios of the rows, or the name of their column in X, if the model was fitted with weights. By
            default the column of the fit, if X has it.
        cluster_sizes : array-like of shape (n,), optional
            Number of rows of the cluster of each row, at least 1, if the model was fitted with clusters and
            ``cluster_coverage="rows"``. By default the bound of the model: ``max_cluster_size``, or the largest known
            cluster.
        as_frame : bool, default=False
            Return one frame with the columns ``prediction``, ``lower_0.9``, ``upper_0.9`` and so on, as ``widthwise
            predict`` names them: of polars or pyarrow if X is, else of pandas, with the index of X.

        Returns
        -------
        y_pred : array of shape (n,)
        intervals : array of shape (n, 2, k)
            Lower bounds ``[:, 0, :]`` and upper bounds ``[:, 1, :]``.
        """
        plain = _tables.is_doubles(X, 2) and groups is None and weights is None and cluster_sizes is None
        if plain and not as_frame and (confidence_level is None or is_level(confidence_level)):
            usual = self._model.plain_intervals(X, y_pred, confidence_level)
            if usual is not None:
                return usual
        levels = self._checked_levels(confidence_level, warns=cluster_sizes is None)
        X = _tables.named(X)
        table, predictions = self._inputs(X, y_pred)
        numbers = self._groups(X, groups, table.rows)
        ratios = self._weights(X, weights, table.rows)
        sizes = sizes_of(cluster_sizes, table.rows)
        made, bounds = self._model.intervals(table, predictions, numbers, levels, ratios, sizes)
        return interval_frame(made, bounds, levels, X) if as_frame else (made, bounds)

    def add_intervals(
        self, batch: Any, confidence_level: Levels | None = None, *, groups: str | Sequence[str] | None = None
    ) -> Any:
        """Add intervals to an Arrow batch or table, for engines that map a function over batches, such as Ray.

        Parameters
        ----------
        batch : pyarrow.RecordBatch or pyarrow.Table
            Contains the columns of the model, in any order: features, and predictions and weights if the model needs
            them. All columns are kept.
        confidence_level : float or list of floats, optional
        groups : str or list of str, optional
            Column with the labels of groups, if the model has groups, or several columns whose labels are joined. By
            default those of the fit.

        Returns
        -------
        pyarrow.RecordBatch or pyarrow.Table
            With the columns of ``widthwise predict``: ``lower_0.9`` and ``upper_0.9`` for each level, and
            ``prediction`` if the model contains the base model.
        """
        from ._batches import Intervals

        intervals = Intervals.of(self, confidence_level, groups)
        intervals.check(self._model, batch.schema.names)
        return intervals.add_to(self._model, batch)

    def row_function(self, confidence_level: float | None = None) -> RowFunction:
        """A function of one row of named values, for services: see `RowFunction`.

        Parameters
        ----------
        confidence_level : float, optional
            By default the first level of the model.
        """
        return RowFunction(self, confidence_level)

    def predict_p(
        self,
        X: Any,
        y: Any,
        y_pred: Any = None,
        *,
        groups: Any = None,
        weights: Any = None,
        cluster_sizes: Any = None,
    ) -> Floats:
        """Return the conformal p-values of outcomes y; small for unusual outcomes."""
        table, predictions = self._inputs(X, y_pred)
        outcomes = _tables.numbers(y, "y", table.rows)
        self._warn_if_uncalibrated()
        ratios = self._weights(X, weights, table.rows)
        sizes = sizes_of(cluster_sizes, table.rows)
        return self._model.p_values(table, predictions, self._groups(X, groups, table.rows), outcomes, ratios, sizes)

    def predict_quantile(
        self,
        X: Any,
        quantiles: Levels,
        y_pred: Any = None,
        *,
        groups: Any = None,
        weights: Any = None,
        cluster_sizes: Any = None,
    ) -> Floats:
        """Quantiles of the outcome, of shape (n, k), ascending in t.

        An outcome is at most the quantile t >= 0.5 with probability at least t, and at least the quantile t < 0.5 with
        probability at least 1 - t. Quantiles are ranks of signed scores, so that they may lie on either side of the
        prediction: the quantile 0.5 is a median also if most predictions are too high.
        """
        table, predictions = self._inputs(X, y_pred)
        self._warn_if_uncalibrated()
        numbers = self._groups(X, groups, table.rows)
        ratios = self._weights(X, weights, table.rows)
        sizes = sizes_of(cluster_sizes, table.rows)
        return self._model.quantiles(
            table, predictions, numbers, probabilities_of(quantiles, "quantiles"), ratios, sizes
        )

    def evaluate(
        self,
        X: Any,
        y: Any,
        y_pred: Any = None,
        *,
        confidence_level: Levels | None = None,
        groups: Any = None,
        weights: Any = None,
        clusters: Any = None,
        ids: Any = None,
        in_order: bool = False,
        false_alarm_rate: float = 0.01,
        by: Any = None,
        conditional: bool = False,
    ) -> Evaluation:
        """Measure coverage and width on rows that the model has not seen.

        Parameters
        ----------
        X, y, y_pred
            Rows with outcomes and, if the model has no base model, predictions.
        confidence_level : float or list of floats, optional
        groups : array-like or str, optional
            Labels of the groups of the rows, if the calibration has groups; see `predict_interval`.
        clusters : array-like or str, optional
            Labels of clusters, or the name of their column in X. The verdict on a model with clusters needs them;
            by default they are the column of X that the model was fitted with.
        ids : array-like or str, optional
            Ids of the rows, or the name of their column in X; by default the column of the fit, if X has it. The
            evaluation lists the widest intervals and the outcomes that were missed farthest.
        by : array-like or str, optional
            Labels or numbers to test coverage by, or the name of their column in X. The column need not be a feature.
        in_order : bool, default=False
            The rows are in time order: also report, as ``exchangeability``, at which row they stopped being
            exchangeable with the calibration rows.
        false_alarm_rate : float, default=0.01
            Maximum probability of an alarm for rows that are exchangeable with the calibration rows.
        conditional : bool, default=False
            Also estimate how far coverage given X is from the level, as ``ert``, see `Evaluation`. This trains
            classifiers, which takes seconds and needs XGBoost.
        """
        X = _tables.named(X)
        table, predictions = self._inputs(X, y_pred)
        levels = self._checked_levels(confidence_level)
        outcomes = _tables.outcomes(y, table.rows)
        tested = by_of(X, by, table.rows, self._labelled())
        ratios = self._weights(X, weights, table.rows)
        numbers = self._groups(X, groups, table.rows)
        blocks = cluster_numbers(cluster_column_of(self._model, X, clusters), table.rows)
        names = ids_of(self._model, X, ids, table.rows)
        rate = real(false_alarm_rate, "false_alarm_rate") if in_order else None
        evaluator = evaluator_of(self._model, levels, false_alarm_rate=rate, conditional=conditional, by=tested)
        columns = {"groups": numbers, "weights": ratios, "clusters": blocks, "ids": names}
        evaluator.add(_core.Rows(table, outcomes, predictions, **columns))
        evaluation = Evaluation.of(evaluator.report(tested))
        if seen := evaluation["seen"]:
            warn(seen["text"])
        return evaluation

    def calibrated(
        self,
        X: Any,
        y: Any,
        y_pred: Any = None,
        *,
        groups: Any = None,
        weights: Any = None,
        clusters: Any = None,
        ids: Any = None,
        key: Any = None,
        replace: bool = False,
        population: str | None = None,
    ) -> Predictor:
        """Return this predictor with new rows added to its calibration set, or with these rows only.

        Parameters
        ----------
        X, y, y_pred
            Rows that no model was fitted on, with outcomes and, if the model has no base model, predictions. Rows used
            to fit the model or already in its calibration set are rejected, in any order and format.
        groups : array-like or str, optional
            Labels of groups, or the name of their column in X, to calibrate each group separately (Mondrian). By
            default the column of X that the model was fitted with. All rows of a calibration have groups or none; to start with
            groups, use ``replace=True``.
        weights : array-like of shape (n,) or str, optional
            Likelihood ratios of the rows, or the name of their column in X, if the model was fitted with weights. By
            default the column of the fit, if X has it.
        clusters : array-like or str, optional
            Labels of clusters, or the name of their column in X, if the model was fitted with clusters. By default the
            column of X that the model was fitted with.
        ids : array-like of shape (n,) or str, optional
            Ids of the rows, which messages name, or the name of their column in X. By default the column of the fit, if
            X has it.
        key : array-like of int, optional
            Unique number of each row, across calls. The result is then identical to the byte for any order of the rows
            and any split into calls. By default rows are identified by the content of the table and their position.
        replace : bool, default=False
            Discard the existing calibration set and use only these rows.
        population : {"source", "target"}, optional
            Population of the rows; required if the model has weights, see `WidthwiseRegressor.conformalize`.
        """
        model = self._model.for_rows_of(population, replace)
        shard = _core.CalibrationShard.of(model) if replace else model.calibration
        found = column_of(model, X, groups)
        ratios = _weights.column_of(model, X, weights)
        blocks = cluster_column_of(model, X, clusters)
        inputs = inputs_of(model, X, y_pred)
        names = ids_of(model, X, ids, inputs[0].rows)
        add_rows(model, shard, *inputs, found, y, key, weights=ratios, clusters=blocks, ids=names)
        return Predictor._of(model.with_calibration(shard), self._origin)

    def _checked_levels(self, confidence_level: Levels | None, *, warns: bool = True) -> list[float]:
        """The levels to predict. If it `warns`, then of those whose intervals are infinite."""
        levels = levels_of(confidence_level, self._model.levels)
        if self._warn_if_uncalibrated() or not warns:
            return levels
        for level in levels:
            if warning := self._model.infinite_warning(level):
                warn(f"{warning}; add calibration rows")
        return levels

    def _labelled(self) -> list[str]:
        """Names of the columns that the model reads as labels."""
        found = zip(self._model.features, self._model.categories, strict=True)
        return [name for name, labels in found if labels] + [self._model.group]

    def _groups(self, X: Any, groups: Any, rows: int) -> NDArray[np.int64] | None:
        """Groups of rows to predict; warn of those without a calibrated group."""
        return for_prediction(self._model, column_of(self._model, X, groups), rows, warns=True)

    def _weights(self, X: Any, weights: Any, rows: int) -> Floats | None:
        """Weights of rows, if the model needs them."""
        return _weights.for_model(self._model, _weights.column_of(self._model, X, weights), rows)

    def _warn_if_uncalibrated(self) -> bool:
        why = self._model.uncalibrated()
        if why:
            warn(f"{why}: {HOW_TO_CALIBRATE}")
        return bool(why)

    def __repr__(self) -> str:
        rows = self._model.calibration_rows
        return f"Predictor({self.score_transform}, {_core.count_of(len(self.features), 'feature')}, {_core.count_of(rows, 'calibration row')})"

    def _repr_html_(self) -> str:
        """A short form for notebooks."""
        core = self._model
        sides = ", separate lower and upper sides" if core.two_sided else ""
        shown = ", ".join(self.features[:_FEATURES_SHOWN]) + (", …" if len(self.features) > _FEATURES_SHOWN else "")
        rows = [
            ("Outcome", core.target),
            ("Goal", _core.goal_summary(core)),
            ("Transform", core.transform + sides),
            ("Features", f"{len(self.features)}: {shown}"),
            ("Predictions", "given as y_pred" if core.needs_predictions else "made by the model itself"),
            ("Calibration rows", f"{core.calibration_rows:,}"),
            ("Groups", f"by {core.group}" if core.group else ""),
            ("Levels", ", ".join(f"{100 * level:.6g}%" for level in core.levels)),
            ("Guarantee", core.guarantee_statement),
        ]
        known = [row for row in rows if row[1]]
        return f'<div style="max-width: 48em; overflow-x: auto"><strong>Predictor</strong>{html_table(known)}</div>'
