"""Rows of any model of the package as arrays for displays."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core, _tables
from ._by import By, by_of, features_without
from ._evaluation import evaluator_of
from ._groups import column_of, for_prediction
from ._model import HOW_TO_CALIBRATE, not_fitted
from ._predictor import Predictor
from ._tables import Floats

PREDICTION = "prediction"  # used instead of the name of a feature


@dataclass(frozen=True)
class ModelRows:
    """A calibrated model, and rows with outcomes that it has not seen."""

    model: _core.Model
    table: _core.Table
    given: Floats | None  # given predictions; None if the model has a base model
    groups: NDArray[np.int64] | None
    y: Floats
    by: By | None = None  # a column given by values, or one of X that is not a feature

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, y_pred: Any = None, groups: Any = None, by: Any = None) -> ModelRows:
        """Convert the rows as the methods of the model do."""
        if not isinstance(model, Predictor):
            if not hasattr(model, "conformalize"):
                raise TypeError(f"expected a WidthwiseRegressor or a Predictor, got {type(model).__name__}")
            now = model._as_it_is()
            predictor = now._fitted_predictor()
            groups = column_of(predictor._model, X, groups)
            without = features_without(X, by, predictor.features)
            by = _other_column(predictor, X, by)
            X, y_pred = now._inputs(without, y_pred)
            model = predictor
        by = _other_column(model, X, by)
        table, given = model._inputs(X, y_pred)
        if why := model._model.uncalibrated():
            raise not_fitted(f"{why}: {HOW_TO_CALIBRATE}")
        core = model._model
        numbers = for_prediction(core, column_of(core, X, groups), table.rows)
        if numbers is not None:  # pooled groups are one
            numbers = core.quantile_groups(numbers)
        outcomes = _tables.outcomes(y, table.rows)
        if by is not None:
            _tables.expect_rows(table.rows, len(by.values), "by")
        return cls(core, table, given, numbers, outcomes, by)

    def level(self, confidence_level: float | None) -> float:
        """The given level, or the first level of the model."""
        return float(self.model.levels[0] if confidence_level is None else confidence_level)

    def intervals(self, level: float) -> tuple[Floats, Floats, Floats]:
        """Predictions, lower and upper bounds."""
        y_pred, intervals = self.model.intervals(self.table, self.given, self.groups, [level])
        return y_pred, np.ascontiguousarray(intervals[:, 0, 0]), np.ascontiguousarray(intervals[:, 1, 0])

    def evaluated(self, levels: list[float], **options: Any) -> _core.Evaluator:
        """An evaluator with these rows; the options are those of `evaluator_of`."""
        evaluator = evaluator_of(self.model, levels, **options)
        evaluator.add(_core.Rows(self.table, self.y, self.given, groups=self.groups))
        return evaluator

    def column(self, by: Any) -> By | None:
        """The column of `of`, a feature by its name or index, or the prediction."""
        if self.by is not None or by is None:
            return self.by
        return self.feature(by)

    def feature(self, feature: str | int) -> By:
        """A feature by its name or index, or the prediction."""
        names = self.table.names
        if isinstance(feature, str):
            if feature == PREDICTION and feature not in names:
                return By(_core.prediction_name(self.model.target), self.predictions(), [])
            if feature not in names:
                near = difflib.get_close_matches(feature, names, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(names)}"
                raise ValueError(f"widths do not depend on a feature {feature!r}; {hint}")
            feature = names.index(feature)
        labels = self.model.categories[feature]
        values = self.table.select([feature]).to_matrix()[:, 0]
        return By(names[feature], np.ascontiguousarray(values), labels)

    def predictions(self) -> Floats:
        return self.model.predictions(self.table) if self.given is None else self.given


def _other_column(model: Predictor, X: Any, by: Any) -> By | None:
    """The column `by`, unless it is the name or index of a feature or the prediction."""
    if by is None or isinstance(by, (int, np.integer)):
        return None
    if isinstance(by, str) and (by in model.features or by not in _tables.names_of(X)):
        return None
    return by_of(X, by, None, model._labelled())


def bounds_of(intervals: Any, rows: int) -> tuple[Floats, Floats]:
    """The bounds of one level, from an array of shape (n, 2), or (n, 2, 1) as returned by `predict_interval`."""
    array = all_bounds_of(intervals, rows)
    if array.shape[2] != 1:
        raise ValueError(
            f"intervals has {_core.count_of(array.shape[2], 'level')}; pass one of them: intervals[:, :, j]"
        )
    return np.ascontiguousarray(array[:, 0, 0]), np.ascontiguousarray(array[:, 1, 0])


def all_bounds_of(intervals: Any, rows: int) -> Floats:
    """Intervals of shape (n, 2, k)."""
    array = np.asarray(intervals, dtype=np.float64)
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    if array.ndim != 3 or array.shape[:2] != (rows, 2):
        raise ValueError(f"intervals has shape {np.shape(intervals)}; expected ({rows}, 2) or ({rows}, 2, levels)")
    if np.isnan(array).any():
        raise ValueError("intervals contain NaN; use infinity for unknown bounds")
    return array


def count_covered(y: Floats, intervals: Floats) -> NDArray[np.int64]:
    """Number of outcomes inside their intervals (n, 2, k), per level."""
    inside = (intervals[:, 0, :] <= y[:, np.newaxis]) & (y[:, np.newaxis] <= intervals[:, 1, :])
    return np.asarray(inside.sum(axis=0), dtype=np.int64)
