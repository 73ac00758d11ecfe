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
    pair = _pair_of(given)
    if pair is None:
        return Predictions(_tables.numbers(given, argument, rows), _tables.name_of(given, "y_pred"))
    lower, upper = (_tables.numbers(column, argument, rows) for column in pair)
    names = [_tables.name_of(column, f"y_pred_{side}") for column, side in zip(pair, ("lower", "upper"), strict=True)]
    if names[0] == names[1]:
        names = ["y_pred_lower", "y_pred_upper"]
    return Predictions(np.column_stack([lower, upper]).ravel(), *names)


def for_model(model: _core.Model, given: Any, rows: int) -> Floats:
    """Predictions for a model that has no base model, row by row."""
    columns = len(model.prediction_columns)
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


def _pair_of(given: Any) -> tuple[Any, Any] | None:
    """The lower and the upper column, or None if there is one column."""
    if isinstance(given, tuple) and len(given) == 2 and all(np.ndim(column) == 1 for column in given):
        return given
    if getattr(given, "ndim", None) == 2 and given.shape[1] == 2:
        if hasattr(given, "iloc"):  # pandas
            return given.iloc[:, 0], given.iloc[:, 1]
        array = np.asarray(given)
        return array[:, 0], array[:, 1]
    if not hasattr(given, "__array__") and hasattr(given, "__arrow_c_stream__"):
        table = _core.Table.from_stream(given.__arrow_c_stream__())
        if len(table.names) == 2:
            matrix = table.select([0, 1]).to_matrix()
            return matrix[:, 0], matrix[:, 1]
    return None
