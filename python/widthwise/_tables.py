"""Tables of any library as columns of numbers that the C++ library borrows."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core

Floats = NDArray[np.float64]

# NumPy's kinds of numbers: booleans, integers, floats.
_NUMBERS = "biuf"


def read(X: Any) -> tuple[_core.Table, bool]:
    """Borrow a table. Returns it, and whether its columns have names.

    Columns that hold no numbers are there, but cannot be selected.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        return _read_pandas(X), _has_names(X.columns)
    if hasattr(X, "__arrow_c_stream__"):
        return _core.Table.from_stream(X.__arrow_c_stream__()), True
    if hasattr(X, "toarray"):
        raise TypeError("X is sparse; the intervals depend on dense features: pass X.toarray()")
    matrix = np.asarray(X)
    if matrix.ndim != 2:
        hint = "a matrix"
        if matrix.ndim == 1:
            hint = "reshape(-1, 1) if it is one feature, reshape(1, -1) if it is one row"
        raise ValueError(f"Expected 2D array, got {matrix.ndim}D array instead; use {hint}")
    return _core.Table.from_matrix(_plain(matrix), [f"x{j}" for j in range(matrix.shape[1])]), False


def read_numbers(X: Any) -> tuple[_core.Table, list[str]]:
    """Borrow the columns of a table that hold numbers. Returns them, and the names of the others."""
    table, _ = read(X)
    numeric: list[int] = []
    left_out: list[str] = []
    for j, name in enumerate(table.names):
        if table.numeric(j):
            numeric.append(j)
        else:
            left_out.append(name)
    if not numeric:
        raise ValueError("X has no column of numbers")
    return table.select(numeric), left_out


def select_names(table: _core.Table, features: Sequence[str], named: bool) -> _core.Table:
    """The columns that a model was fitted with: by name, or by place when the table has no names."""
    if not named:
        if len(table.names) != len(features):
            raise ValueError(
                f"X has {len(table.names)} features, but {len(features)} were seen in fit: {', '.join(features)}"
            )
        return table.select(list(range(len(features))))
    place = {name: j for j, name in enumerate(table.names)}
    missing = [name for name in features if name not in place]
    if missing:
        near = difflib.get_close_matches(missing[0], table.names, n=1)
        raise ValueError(
            f"X has no column {missing[0]!r}, which was seen in fit"
            + (f"; did you mean {near[0]!r}?" if near else f"; its columns are {', '.join(table.names)}")
        )
    return table.select([place[name] for name in features])


def numbers(values: Any, name: str, rows: int | None = None) -> Floats:
    """A column of numbers as a contiguous array of doubles, without a copy where it is one."""
    if not hasattr(values, "__array__") and hasattr(values, "__arrow_c_stream__"):
        table = _core.Table.from_stream(values.__arrow_c_stream__())
        if len(table.names) != 1:
            raise ValueError(f"{name} has {len(table.names)} columns, expected one")
        out = table.select([0]).to_matrix()[:, 0]
    else:
        out = np.asarray(values)
        if out.ndim == 2 and out.shape[1] == 1:
            out = out[:, 0]
        if out.ndim != 1:
            raise ValueError(f"{name} has {out.ndim} dimensions, expected a column of numbers")
    array = np.ascontiguousarray(out, dtype=np.float64)
    if rows is not None and len(array) != rows:
        raise ValueError(f"X has {rows} rows, {name} has {len(array)}")
    return array


def outcomes(values: Any, rows: int | None = None) -> Floats:
    """A column of outcomes: at least one, and all finite."""
    array = numbers(values, "y", rows)
    not_finite = np.flatnonzero(~np.isfinite(array))
    if len(not_finite):
        raise ValueError(f"y[{not_finite[0]}] is {array[not_finite[0]]}; drop the rows without an outcome")
    if not len(array):
        raise ValueError("there are no rows")
    return array


def integers(values: Any, name: str, rows: int) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.dtype.kind not in "bui":
        raise ValueError(f"{name} must be integers, one a row; encode other labels first (numpy.unique does)")
    if array.shape != (rows,):
        raise ValueError(f"X has {rows} rows, {name} has shape {array.shape}")
    return np.ascontiguousarray(array, dtype=np.int64)


def keys(values: Any, rows: int, name: str = "key") -> NDArray[np.uint64]:
    """Whole numbers as 64 bits each, never rounded; negative ones are their two's complement."""
    array = np.asarray(values)
    if array.dtype.kind not in "ui":
        raise ValueError(
            f"{name} must be whole numbers of 64 bits, a different one for each row and none missing; found {array.dtype}"
        )
    if array.shape != (rows,):
        raise ValueError(f"X has {rows} rows, {name} has shape {array.shape}")
    wide = np.ascontiguousarray(array, dtype=np.uint64 if array.dtype.kind == "u" else np.int64)
    return wide.view(np.uint64)


def name_of(values: Any, by_default: str) -> str:
    """The name of a column, where it has one."""
    name = getattr(values, "name", None)
    return name if isinstance(name, str) and name else by_default


def _has_names(columns: Any) -> bool:
    return all(isinstance(name, str) for name in columns)


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Numbers of a kind that C++ can borrow."""
    dtype = array.dtype
    if dtype.kind in _NUMBERS and dtype.isnative and dtype.itemsize <= 8 and dtype != np.float16:
        return array
    if dtype.kind == "c":
        raise ValueError("Complex data not supported")
    try:
        return array.astype(np.float64)
    except TypeError as error:
        raise TypeError(f"X must hold numbers: argument must be a string or a real number ({error})") from None


def _read_pandas(frame: Any) -> _core.Table:
    names = [str(name) for name in frame.columns]
    if len(set(names)) != len(names):
        raise ValueError("X has two columns of the same name")
    numeric: list[int] = []
    columns: list[NDArray[Any]] = []
    for j, dtype in enumerate(frame.dtypes):
        kind = getattr(dtype, "kind", "O")
        if kind not in _NUMBERS:
            continue
        column = frame.iloc[:, j]
        if isinstance(dtype, np.dtype):
            array = column.to_numpy()
        else:  # pandas' own kinds of numbers, which know missing ones
            array = column.to_numpy(dtype=np.float64, na_value=np.nan)
        numeric.append(j)
        columns.append(_plain(array))
    return _core.Table.from_columns(columns, names, numeric, len(frame))
