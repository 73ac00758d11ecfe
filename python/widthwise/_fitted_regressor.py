"""A fitted model of intervals around an estimator: what it predicts, measures, stores and adds to its calibration."""

from __future__ import annotations

import json
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from . import _tables, _weights
from ._blocks import cluster_column_of
from ._by import by_of, features_without
from ._categories import Categories, storable, with_categories
from ._estimator import predictions_of
from ._evaluation import Evaluation
from ._groups import column_of
from ._ids import ids_of
from ._model import not_fitted
from ._options import Levels
from ._predictor import Predictor
from ._row_function import RowFunction
from ._tables import Floats

if TYPE_CHECKING:
    from typing_extensions import Self

# One lock per model that is fitted or calibrated. An attribute would be copied, cloned and pickled.
_LOCKS: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
_LOCKS_LOCK = threading.Lock()

ESTIMATOR_COLUMNS = "estimator_columns"  # note of a model: the columns of X that its estimator was given, as JSON


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns."""
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "iloc")


def with_numbers(X: Any) -> Any:
    """A matrix of number objects as floating point."""
    return _tables.floats(X, "X") if X.dtype.kind in "OSU" else X


class FittedRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The methods of a fitted `WidthwiseRegressor`, whose attributes its `fit` sets."""

    estimator: Any
    prefit: bool
    estimator_: Any
    predictor_: Predictor

    def conformalize(
        self,
        X: Any,
        y: Any,
        *,
        y_pred: Any = None,
        groups: Any = None,
        weights: Any = None,
        clusters: Any = None,
        ids: Any = None,
        replace: bool = False,
        population: str | None = None,
    ) -> Self:
        """Add rows that no model was fitted on to the calibration set.

        Parameters
        ----------
        X, y
            New rows with outcomes. Rows that fitted the model, or are already in its calibration set, raise an error
            in any order and format, because they would make intervals too narrow.
        y_pred : array-like of shape (n,) or (n, 2), optional
            Predictions of these rows, if there is no estimator.
        groups : array-like of shape (n,) or str, optional
            Labels of their groups, or the name of their column in X, if the model was fitted with groups. By default
            the column of the fit, if X has it. New labels become new groups.
        weights : array-like of shape (n,) or str, optional
            Likelihood ratios of the rows, or the name of their column in X, if the model was fitted with weights. By
            default the column of the fit, if X has it.
        clusters : array-like of shape (n,) or str, optional
            Labels of the clusters of the rows, or the name of their column in X, if the model was fitted with clusters.
            By default the column of the fit, if X has it. Clusters that fitted the model raise an error.
        ids : array-like of shape (n,) or str, optional
            Ids of the rows, which messages name, or the name of their column in X. By default the column of the fit, if
            X has it.
        replace : bool, default=False
            Discard the existing calibration set.
        population : {"source", "target"}, optional
            Population of the rows; required if the model has weights, given or learnt. "source": that
            of the fitting rows; they count with their weights. "target": that of the rows to predict; together with
            `replace`, they calibrate alone and exactly, and the model no longer has weights. They cannot be added to
            weighted rows, because that would shift them twice.

        Returns
        -------
        WidthwiseRegressor
            The fitted estimator itself.
        """
        with self._lock():
            now = self._as_it_is()
            model = now._fitted_predictor()._model.for_rows_of(population, replace)
            groups, weights = column_of(model, X, groups), _weights.column_of(model, X, weights)
            clusters = cluster_column_of(model, X, clusters)
            ids = ids_of(model, X, ids)
            X, predictions = now._inputs(X, y_pred)
            self.predictor_ = now.predictor_.calibrated(
                X,
                y,
                predictions,
                groups=groups,
                weights=weights,
                clusters=clusters,
                ids=ids,
                replace=replace,
                population=population,
            )
        return self

    # ---- prediction

    def predict(self, X: Any) -> Floats:
        """Predictions of the estimator, without intervals."""
        now = self._as_it_is()
        X, predictions = now._inputs(X, None)
        return (
            predictions if predictions is not None and predictions.ndim == 1 else now.predictor_.predict(X, predictions)
        )

    def predict_interval(
        self,
        X: Any,
        confidence_level: Levels | None = None,
        *,
        y_pred: Any = None,
        groups: Any = None,
        weights: Any = None,
        cluster_sizes: Any = None,
        as_frame: bool = False,
    ) -> Any:
        """Predictions and intervals.

        Parameters
        ----------
        X : table of shape (n, d)
        confidence_level : float or list of k floats, optional
            By default that of the model.
        y_pred : array-like of shape (n,) or (n, 2), optional
            Predictions, if there is no estimator.
        groups : array-like of shape (n,) or str, optional
            Labels of the groups of the rows, or the name of their column in X, if the model was fitted with groups. By
            default the column of the fit, if X has it.
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
            Lower bounds ``[:, 0, :]`` and upper bounds ``[:, 1, :]``. Infinite if the level needs more calibration
            rows.
        """
        now = self._as_it_is()
        groups, weights = now._columns(X, groups, weights)
        X, predictions = now._inputs(X, y_pred)
        return now.predictor_.predict_interval(
            X,
            predictions,
            confidence_level=confidence_level,
            groups=groups,
            weights=weights,
            cluster_sizes=cluster_sizes,
            as_frame=as_frame,
        )

    def predict_p(
        self,
        X: Any,
        y: Any,
        *,
        y_pred: Any = None,
        groups: Any = None,
        weights: Any = None,
        cluster_sizes: Any = None,
    ) -> Floats:
        """The p-values of outcomes y: a p-value is at most t with probability at most t (marginal)."""
        now = self._as_it_is()
        groups, weights = now._columns(X, groups, weights)
        X, predictions = now._inputs(X, y_pred)
        return now.predictor_.predict_p(X, y, predictions, groups=groups, weights=weights, cluster_sizes=cluster_sizes)

    def predict_quantile(
        self,
        X: Any,
        quantiles: Levels,
        *,
        y_pred: Any = None,
        groups: Any = None,
        weights: Any = None,
        cluster_sizes: Any = None,
    ) -> Floats:
        """Quantiles of the outcome, of shape (n, k).

        An outcome lies below a quantile of t >= 0.5 with probability at least t, above one of t < 0.5 with probability
        at least 1 - t.
        """
        now = self._as_it_is()
        groups, weights = now._columns(X, groups, weights)
        X, predictions = now._inputs(X, y_pred)
        return now.predictor_.predict_quantile(
            X, quantiles, predictions, groups=groups, weights=weights, cluster_sizes=cluster_sizes
        )

    def evaluate(
        self,
        X: Any,
        y: Any,
        *,
        confidence_level: Levels | None = None,
        y_pred: Any = None,
        groups: Any = None,
        weights: Any = None,
        clusters: Any = None,
        ids: Any = None,
        in_order: bool = False,
        false_alarm_rate: float = 0.01,
        by: Any = None,
        conditional: bool = False,
    ) -> Evaluation:
        """Measure coverage and width on rows the model was not fitted on, with a verdict. The verdict on a model with
        clusters is about rows or clusters, as `cluster_coverage` says; it needs the clusters of the rows.

        Parameters
        ----------
        X, y
            Rows with outcomes.
        confidence_level : float or list of floats, optional
        y_pred : array-like of shape (n,) or (n, 2), optional
            Predictions, if there is no estimator.
        groups : array-like or str, optional
            Labels of the groups of the rows, if the calibration has groups; see `predict_interval`.
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

        Returns
        -------
        Evaluation
            A dict that prints as a table.
        """
        X = _tables.named(X)
        now = self._as_it_is()
        groups, weights = now._columns(X, groups, weights)
        predictor = now._fitted_predictor()
        clusters = cluster_column_of(predictor._model, X, clusters)
        names = ids_of(predictor._model, X, ids)
        tested = by_of(X, by, len(_tables.outcomes(y)), predictor._labelled())
        X, predictions = now._inputs(features_without(X, by, predictor.features), y_pred)
        return predictor.evaluate(
            X,
            y,
            predictions,
            confidence_level=confidence_level,
            groups=groups,
            weights=weights,
            clusters=clusters,
            ids=names,
            in_order=in_order,
            false_alarm_rate=false_alarm_rate,
            by=tested,
            conditional=conditional,
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R2 of the predictions, as of every regressor of scikit-learn.

        It does not depend on the intervals: models that differ in `goal` or another option of the intervals alone have
        one score. Compare them with a scorer of `widthwise.metrics`, such as ``GridSearchCV(..., scoring=IntervalScorer())``,
        or with `evaluate`.
        """
        return float(super().score(X, y, sample_weight))

    def row_function(self, confidence_level: float | None = None) -> RowFunction:
        """A function of one row of named values, for services: see `RowFunction`.

        With an `estimator`, each call also runs its ``predict`` on a frame of one row, which takes most of the time;
        a prediction that is known already can be passed as ``y_pred``.

        Parameters
        ----------
        confidence_level : float, optional
            By default the first level of the model.
        """
        now = self._as_it_is()
        predictor = now._fitted_predictor()
        if not predictor.needs_predictions or not now._has_estimator():
            return RowFunction(predictor, confidence_level)
        return RowFunction(predictor, confidence_level, lambda values: now._inputs(values, None)[1])

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, which C++ and the command line can also load.

        The file contains the localizer, the calibration and, without an `estimator`, the base model. Save the estimator
        separately.
        """
        self._fitted()
        self.predictor_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], estimator: Any = None) -> Self:
        """Load a model file written by `save` or by ``widthwise fit``.

        Parameters
        ----------
        path : path-like
        estimator : fitted estimator, optional
            The estimator whose predictions the model was fitted to, or the list `estimators_` of a cross-calibrated
            model. X must have the columns that `fit` received, in the same order. Without an estimator, pass ``y_pred`` when predicting, unless the file contains a base model.
        """
        return cls._of(Predictor.load(path), estimator)

    @classmethod
    def _of(cls, predictor: Predictor, estimator: Any) -> Self:
        """A loaded predictor with its fitted estimator, if there is one."""
        per_fold = list(estimator) if isinstance(estimator, (list, tuple)) else None
        one = None if per_fold is not None else estimator
        self = cls(
            one,
            confidence_level=predictor.confidence_levels,
            prefit=one is not None,
            guarantee=predictor.guarantee,
            calibration="cross" if predictor._model.cross_calibrated else "split",
        )
        self.estimator_ = one
        self.estimators_ = per_fold
        self.predictor_ = predictor
        if estimator is not None:
            self._restore_columns(predictor._model.notes.get(ESTIMATOR_COLUMNS))
        return self

    def _columns_text(self) -> str:
        """The columns of X that the estimator received, in order."""
        names = getattr(self, "feature_names_in_", None)
        columns = {"count": int(self.n_features_in_), "names": None if names is None else list(names)}
        if any(self.estimator_categories_):
            columns["categories"] = [storable(categories) for categories in self.estimator_categories_]
        return json.dumps(columns)

    def _restore_columns(self, text: str | None) -> None:
        """Check X after `load` as before `save`; only files of this class contain the columns."""
        if text is None:
            return
        columns = json.loads(text)
        self.n_features_in_ = int(columns["count"])
        self.estimator_categories_ = columns.get("categories", [])
        if columns["names"] is not None:
            self.feature_names_in_ = np.asarray(columns["names"], dtype=object)

    def __getattr__(self, name: str) -> Any:
        """Explain the attribute that a loaded model does not have."""
        if name == "fit_report_" and "predictor_" in self.__dict__:
            raise AttributeError(
                "a model file does not contain the fit report; keep it next to the file, with "
                "json.dump(model.fit_report_, ...) after fit"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ---- scikit-learn

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or get_tags(self.estimator).input_tags.allow_nan
        return tags

    # ---- what the methods share

    def _lock(self) -> threading.RLock:
        """Held while the fitted attributes are replaced, so that no update is lost."""
        with _LOCKS_LOCK:
            return _LOCKS.setdefault(self, threading.RLock())

    def _as_it_is(self) -> Self:
        """A copy that does not change while other threads fit or calibrate this model."""
        copy = self.__class__.__new__(self.__class__)
        copy.__dict__ = dict(self.__dict__)
        return copy

    def _inputs(self, X: Any, y_pred: Any) -> tuple[Any, Floats | None]:
        """X as fit received it, and the predictions, or None if the model contains its base model."""
        self._fitted()
        X = _tables.named(X)
        if isinstance(X, _tables.Columns):
            X = self._given_rows(X)
        if hasattr(self, "n_features_in_") and not isinstance(X, _tables.Columns):
            if is_frame(X):
                validate_data(self, X=X, skip_check_array=True, reset=False)
            else:
                X = with_numbers(validate_data(self, X=_tables.unmasked(X, "X"), reset=False, **self._checks()))
        if y_pred is not None:
            return X, y_pred if len(self.predictor_._model.prediction_columns) > 1 else _tables.numbers(
                y_pred, "y_pred"
            )
        if not self.predictor_.needs_predictions:
            return X, None
        X = _tables.validated(X, "X")  # before an estimator reads it
        per_fold: list[Any] | None = getattr(self, "estimators_", None)
        if per_fold is not None:
            known = self._categories_of(len(per_fold))
            made = [predictions_of(one, with_categories(X, of)) for one, of in zip(per_fold, known, strict=True)]
            return X, np.column_stack(made)
        if self.estimator_ is None:
            raise ValueError("the model was fitted to given predictions; pass the predictions of these rows as y_pred")
        return X, predictions_of(self.estimator_, with_categories(X, self._categories_of(1)[0]))

    def _has_estimator(self) -> bool:
        return self.estimator_ is not None or bool(getattr(self, "estimators_", None))

    def _given_rows(self, X: _tables.Columns) -> Any:
        """Rows of named values as the estimator was fitted to: a frame of its columns, or a matrix."""
        if not self.predictor_.needs_predictions or not self._has_estimator():
            return X
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            return X.select(names).frame()
        return X.select(self.predictor_.features).table().to_matrix()

    def _categories_of(self, estimators: int) -> list[Categories]:
        """The categories that each estimator knows; empty if it was fitted elsewhere."""
        return getattr(self, "estimator_categories_", []) or [{}] * estimators

    def _columns(self, X: Any, groups: Any, weights: Any) -> tuple[Any, Any]:
        """The groups and weights of rows, given or from the columns of the fit."""
        model = self._fitted_predictor()._model
        return column_of(model, X, groups), _weights.column_of(model, X, weights)

    def _checks(self) -> dict[str, Any]:
        """The checks of scikit-learn for a matrix; an estimator checks missing values itself."""
        return {"dtype": None, "ensure_all_finite": "allow-nan" if self.estimator is None else False}

    def _fitted_predictor(self) -> Predictor:
        self._fitted()
        return self.predictor_

    def _fitted(self) -> None:
        if not hasattr(self, "predictor_"):
            raise not_fitted("This WidthwiseRegressor is not fitted yet: call fit first")
