"""Read predictions: one per row, or a lower and an upper quantile per row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core, _tables
from ._tables import Floats


class Predictions(NamedTuple):
    """Predictions of rows.

    Attributes
    ----------
    values : array of shape (n,), or of shape (2 n,) with the two quantiles of a row next to each other
    name : name of the column of predictions, or of lower quantiles
    upper : name of the column of upper quantiles; empty without one
    """

    values: Floats
    name: str
    upper: str = ""


def read(given: Any, argument: str, rows: int) -> Predictions:
    """Read a column of predictions, or lower and upper quantiles as an array of shape (n, 2) or a pair of columns."""
    columns = _columns_of(given, argument)
    values = [_tables.numbers(column.values, argument, rows) for column in columns]
    if len(columns) == 1:
        return Predictions(values[0], columns[0].name or "y_pred")
    lower, upper = (column.name for column in columns)
    names = (lower, upper) if lower and upper and lower != upper else ("y_pred_lower", "y_pred_upper")
    return Predictions(np.column_stack(values).ravel(), *names)


def for_model(model: _core.Model, given: Any, rows: int) -> Floats:
    """Predictions for a model that has no base model, row by row."""
    columns = model.prediction_count
    if columns == 1 and _tables.is_doubles(given, 1) and len(given) == rows:
        return np.ascontiguousarray(given)
    if columns == 1 or model.predicts_quantiles:
        found = read(given, "y_pred", rows)
        if bool(found.upper) != model.predicts_quantiles:
            raise ValueError(
                "y_pred has a lower and an upper quantile per row, but the model was fitted to one prediction per row"
                if found.upper
                else "y_pred has one column; expected two, lower and upper quantiles, as the model was fitted to them"
            )
        return found.values
    values = _tables.floats(given, "y_pred")
    if values.shape != (rows, columns):
        raise ValueError(
            f"y_pred has the shape {values.shape}; expected {(rows, columns)}: the predictions of the models of all "
            "folds"
        )
    return np.ascontiguousarray(values).ravel()


class _Column(NamedTuple):
    values: Any
    name: str  # empty if it has none


def _columns_of(given: Any, argument: str) -> list[_Column]:
    """One column, or the lower and the upper one. A stream is read once."""
    given = _tables.validated(given, argument)
    if _tables.is_stream(given):
        table = _core.Table.from_stream(given.__arrow_c_stream__())
        if len(table.names) > 2:
            raise ValueError(
                f"{argument} has {_core.count_of(len(table.names), 'column')}, expected one, or two of quantiles"
            )
        matrix = table.select(list(range(len(table.names)))).to_matrix()
        names = table.names if len(table.names) == 2 else [_tables.name_of(given, "")]
        return [_Column(matrix[:, j], name) for j, name in enumerate(names)]
    columns = [given]
    if isinstance(given, tuple) and len(given) == 2 and all(np.ndim(column) == 1 for column in given):
        columns = list(given)
    elif getattr(given, "ndim", None) == 2 and given.shape[1] == 2:
        places = given.iloc if hasattr(given, "iloc") else np.asarray(given)  # pandas has names
        columns = [places[:, 0], places[:, 1]]
    return [_Column(column, _tables.name_of(column, "")) for column in columns]
