"""Prediction intervals in DuckDB SQL.

>>> import duckdb, widthwise.duckdb                                                      # doctest: +SKIP
>>> connection = duckdb.connect()                                                        # doctest: +SKIP
>>> widthwise.duckdb.register(connection, "homes.safetensors")                           # doctest: +SKIP
>>> connection.sql("SELECT *, unnest(predict_interval(size, age)) FROM homes")           # doctest: +SKIP
"""

from __future__ import annotations

import re
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

try:
    import duckdb
    import pyarrow as pa
except ImportError as error:
    raise ImportError("widthwise.duckdb needs duckdb and pyarrow: pip install 'widthwise[duckdb]'") from error

from . import _batches
from ._batches import Intervals
from ._options import Levels

if TYPE_CHECKING:
    from ._batches import AnyModel

__all__ = ["register"]


def register(
    connection: Any,
    model: AnyModel,
    name: str = "predict_interval",
    *,
    confidence_level: Levels | None = None,
    grouped: bool | None = None,
) -> list[str]:
    """Register a model as a SQL function.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
    model : Predictor, fitted WidthwiseRegressor, path-like or bytes
        Calibrated model.
    name : str
        Name of the function.
    confidence_level : float or list of floats, optional
        By default the levels of the model.
    grouped : bool, optional
        Whether the function takes the label of the row's group as its last argument: a BIGINT if all labels are
        integers, else a VARCHAR. By default if the model has groups.

    Returns
    -------
    list of str
        Arguments of the function in order: the features, then the prediction if the model has no base model, then the
        weight if the model takes weights. Numbers are DOUBLE; categories are BIGINT if all are integers, BOOLEAN if all
        are true or false, else VARCHAR. NULL is a missing value.

    Notes
    -----
    The function returns a struct with the columns of ``widthwise predict``: ``prediction`` if the model has a base
    model, and ``lower_0.9`` and ``upper_0.9`` per level. ``unnest`` turns it into columns. Rows are processed in Arrow
    batches.
    """
    predictor = _batches.predictor_of(model)
    core = predictor._model
    grouped = core.grouped if grouped is None else grouped
    group = "group" if grouped else None
    if not grouped and core.grouped:
        raise ValueError("the calibration has groups; register with grouped=True and pass the group of each row")
    names = _batches.needed_columns(core)
    types = {name: _type_of(labels) for name, labels in zip(core.features, core.categories, strict=True)}
    while group in names:
        group = f"{group}_"
    label_type = "VARCHAR" if core.calibration.labelled else "BIGINT"
    intervals = Intervals.of(predictor, confidence_level, group)

    takes = names if group is None else [*names, group]

    def scored(*columns: Any) -> Any:
        batch = pa.table(list(columns), names=takes)
        made = intervals.columns(core, batch)
        return pa.StructArray.from_arrays([pa.array(values) for values in made.values()], names=list(made))

    # DuckDB reads the number of arguments from the signature.
    parameters = [Parameter(f"p{j}", Parameter.POSITIONAL_ONLY) for j in range(len(takes))]
    scored.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    connection.create_function(
        name,
        scored,
        [types.get(name, "DOUBLE") for name in names] + ([label_type] if grouped else []),
        duckdb.struct_type(dict.fromkeys(intervals.names, "DOUBLE")),
        type="arrow",
        null_handling="special",  # else a row with a missing feature would have no interval
    )
    return names


def _type_of(categories: list[str]) -> str:
    """The type of a feature in SQL, which casts no number to text by itself; a number has no categories."""
    if not categories:
        return "DOUBLE"
    if all(re.fullmatch("0|-?[1-9][0-9]{0,17}", label) for label in categories):  # not "007", which is text
        return "BIGINT"
    return "BOOLEAN" if {*categories} <= {"true", "false"} else "VARCHAR"
