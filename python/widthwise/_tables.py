"""Tables of any library as numeric columns that the C++ library borrows."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._warn import warn

Floats = NDArray[np.float64]

_DOUBLE = np.dtype(np.float64)
_OBJECT = np.dtype(object)
_FEW_ROWS = 64

# NumPy's kinds of numbers: booleans, integers, floats.
_NUMBERS = "biuf"

_TIMES = {"M": "dates", "m": "durations"}
_DERIVE = "derive numbers first, such as (t - t[0]) / numpy.timedelta64(1, 'D') for days, or the hour or the weekday"
_WHAT = {"y": "an outcome", "y_pred": "a prediction"}


def read(X: Any, text: Collection[str] | None = None) -> tuple[_core.Table, bool]:
    """Borrow a table. Returns it, and whether its columns have names.

    Columns of text can be selected with their labels; of pandas, only those named in `text` unless it is None. Columns
    that hold neither numbers nor labels are included, but cannot be selected.
    """
    X = named(X)
    if isinstance(X, Columns):
        return X.table(), True
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        return _read_pandas(X, text), _has_names(X.columns)
    X = validated(X, "X", text)
    if hasattr(X, "__arrow_c_stream__"):
        _refuse_nul(X)
        return _distinct(_core.Table.from_stream(X.__arrow_c_stream__())), True
    if hasattr(X, "toarray"):
        raise TypeError("X is sparse; expected a dense table: pass X.toarray()")
    matrix = np.asarray(unmasked(X, "X"))
    if matrix.ndim != 2:
        hint = "a matrix"
        if matrix.ndim == 0:
            found = "None" if X is None else f"a {type(X).__name__}"
            raise TypeError(f"X is {found}; expected a table: one row per case, one column per feature")
        if matrix.ndim == 1:
            hint = "reshape(-1, 1) if it is one feature, reshape(1, -1) if it is one row"
        raise ValueError(f"Expected 2D array, got {matrix.ndim}D array instead; use {hint}")
    return _core.Table.from_matrix(_plain(matrix), [f"x{j}" for j in range(matrix.shape[1])]), False


class Columns:
    """Columns by name: rows that were given as a dict, as dicts or as a Series."""

    def __init__(self, columns: Mapping[str, Any], rows: int) -> None:
        self._columns = {name: _values_of(values) for name, values in columns.items()}
        self.column_names = list(self._columns)
        self.shape = (rows, len(self._columns))
        for name, values in self._columns.items():
            if not isinstance(name, str) or not is_utf8(name) or "\0" in name:
                raise ValueError(f"the name of the column {name!r} is not valid UTF-8; rename the column")
            if values.ndim != 1 or len(values) != rows:
                raise ValueError(
                    f"the column {name!r} has shape {values.shape}; expected {rows} values, as in the others"
                )

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def select(self, names: Iterable[str]) -> Columns:
        """The columns of these names, in this order; raise if one is missing."""
        return Columns({name: self._columns[present(name, self.column_names)] for name in names}, len(self))

    def drop(self, names: Sequence[str]) -> Columns:
        """The columns of other names."""
        return self.select(name for name in self.column_names if name not in names)

    def frame(self) -> Any:
        """The columns as a frame of pandas, for an estimator."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("a dict of named values for an estimator needs pandas: pip install pandas") from error
        return pandas.DataFrame(self._columns)

    def table(self) -> _core.Table:
        """Numbers, and text as labels."""
        places: list[int] = []
        columns: list[NDArray[Any]] = []
        dictionaries: dict[int, list[str | None]] = {}
        times: list[int] = []
        for j, (name, values) in enumerate(self._columns.items()):
            if values.dtype.kind in _TIMES:
                times.append(j)
                continue
            if values.dtype.kind in _NUMBERS:
                columns.append(_plain(values))
            elif any(isinstance(value, (str, bool, np.bool_)) for value in values):
                codes, labels = _codes_of(values, name)
                columns.append(codes)
                dictionaries[j] = labels
            else:
                columns.append(floats(values, name))
            places.append(j)
        return _core.Table.from_columns(columns, self.column_names, places, len(self), dictionaries, times)


def named(X: Any) -> Any:
    """X itself, or the columns of one row as a dict or a pandas Series with an index of names, of several rows as a list
    of dicts, or of a dict of columns."""
    if isinstance(X, Mapping) and not hasattr(X, "ndim"):  # a sparse matrix may be a dict of its cells
        single = {name for name, values in X.items() if np.ndim(values) == 0}
        if single and len(single) < len(X):
            many = next(name for name in X if name not in single)
            raise ValueError(
                f"X has one value of {min(single, key=str)!r} and a list of {many!r}; expected one row of values, or "
                "lists of one length"
            )
        if single:
            return Columns({name: [value] for name, value in X.items()}, 1)
        return Columns(X, len(next(iter(X.values()))) if X else 0)
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
        names = list(dict.fromkeys(name for row in X for name in row))
        for i, row in enumerate(X):
            for name in names if len(row) < len(names) else ():
                present(name, list(row), f"row {i + 1} of X", "which other rows have")
        return Columns({name: [row[name] for row in X] for name in names}, len(X))
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.Series) and len(X) and _has_names(X.index):
        return Columns({name: [value] for name, value in zip(X.index, X.array, strict=True)}, 1)
    return X


def present(name: str, names: Sequence[str], where: str = "X", why: str = "which was seen in fit") -> str:
    """The name of a column; raise if it is not among these names."""
    if name in names:
        return name
    raise ValueError(f"{where} has no column {name!r}, {why}{similar(name, names)}")


def _values_of(values: Any) -> NDArray[Any]:
    """Numbers or dates as an array of their type, other values as objects."""
    array = np.asarray(values)
    return np.asarray(values, dtype=object) if array.dtype.kind in "SUVT" else array


def read_numbers(X: Any) -> tuple[_core.Table, list[str]]:
    """Borrow the numeric columns of a table. Returns them and the names of the other columns."""
    table, _ = read(X)
    numeric: list[int] = []
    left_out: list[str] = []
    for j, name in enumerate(table.names):
        if table.kind(j) == "number":
            numeric.append(j)
        else:
            left_out.append(name)
    if not numeric:
        raise ValueError("X has no numeric column")
    return table.select(numeric), left_out


@dataclass(frozen=True)
class Features:
    """The columns of a table to fit with."""

    table: _core.Table
    categories: list[list[str]]  # of each column, ascending; none of numbers
    left_out: dict[str, str]  # why a column is left out, by its name

    def warn(self) -> None:
        """Warn of the columns that are left out."""
        for name, why in self.left_out.items():
            warn(f"left out the column {name!r}, which {why}")


def read_features(X: Any, categorical: Sequence[str | int] | None = None) -> Features:
    """Borrow the columns of a table to fit with. Columns of text are categories, and those named in `categorical`."""
    table, _ = read(X)
    if isinstance(categorical, str):
        raise TypeError(f"categorical_features is {categorical!r}; expected a list, such as [{categorical!r}]")
    asked = [_place_of(table, column) for column in categorical or ()]
    places: list[int] = []
    categories: list[list[str]] = []
    left_out: dict[str, str] = {}
    for j, name in enumerate(table.names):
        labels, why = _categories_of(table, j, j in asked)
        if why and j in asked:
            raise ValueError(f"categorical_features: the column {name!r} {why}")
        if why:
            left_out[name] = why
        else:
            places.append(j)
            categories.append(labels)
    if not places:
        raise ValueError("X has no column of numbers or categories")
    return Features(table.select(places, categories), categories, left_out)


def _place_of(table: _core.Table, column: str | int) -> int:
    if isinstance(column, str) and column in table.names:
        return table.names.index(column)
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < len(table.names):
        return int(column)
    raise ValueError(f"categorical_features: X has no column {column!r}{similar(column, table.names)}")


def similar(name: Any, names: Sequence[str]) -> str:
    """The end of a message about an unknown name: the most similar one, or all of them."""
    near = difflib.get_close_matches(str(name), names, n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; its columns are {', '.join(names)}" if names else ""


def _categories_of(table: _core.Table, column: int, asked: bool) -> tuple[list[str], str]:
    """The categories of a column, none of numbers; or why it is left out."""
    kind = table.kind(column)
    if kind == "number" and not asked:
        return [], ""
    if kind == "time":
        return [], f"holds dates; {_core.DERIVE_FROM_DATES}"
    if kind == "other":
        return [], "holds neither numbers nor text"
    labels = table.labels(column, _core.MAX_CATEGORIES)
    return labels, _core.why_no_categories(labels)


def select_names(
    table: _core.Table, features: Sequence[str], named: bool, categories: Sequence[list[str]] = ()
) -> _core.Table:
    """Select the columns of fit, by name, or by position if the table has no names. Categories are numbered as in
    fit."""
    if not named:
        if len(table.names) != len(features):
            raise ValueError(
                f"X has {_core.count_of(len(table.names), 'feature')}, but {len(features)} were seen in fit: {', '.join(features)}"
            )
        return table.select(list(range(len(features))), list(categories))
    place = {name: j for j, name in enumerate(table.names)}
    return table.select([place[present(name, table.names)] for name in features], list(categories))


def check_categories(table: _core.Table, *, all_rows: bool = True) -> _core.Table:
    """The table, see `check_labels`."""
    check_labels(table.unknown_labels, all_rows=all_rows)
    return table


def check_labels(found: Iterable[_core.UnknownLabels], *, all_rows: bool = True) -> None:
    """Warn of labels that the model does not know. With the counts of all rows, raise if the model knows no label of a
    column."""
    for labels in found:
        if labels.none_known and all_rows:
            raise ValueError(labels.to_string())
        if labels.unknown:
            warn(labels.to_string())


def like(features: Features, X: Any) -> _core.Table:
    """The columns of another table of rows like those to fit, with the same categories."""
    names = features.table.names
    text = {name for name, found in zip(names, features.categories, strict=False) if found}
    table, has_names = read(X, text)
    if not table.rows:
        raise ValueError("shift_to has no rows")
    return check_categories(select_names(table, names, has_names, features.categories))


def labels(values: Any, name: str, rows: int | None = None) -> tuple[NDArray[np.int64], list[str]]:
    """The index of each row's label, -1 if the value is missing, and the labels in ascending order. The column holds
    text, booleans or integers."""
    _refuse_one_value(values, name, "label")
    values = validated(values, name)
    if is_stream(values):
        table = _core.Table.from_stream(values.__arrow_c_stream__())
        if len(table.names) != 1:
            raise ValueError(f"{name} has {_core.count_of(len(table.names), 'column')}, expected one")
    else:
        table = _label_column(values, name)
    expect_rows(rows, table.rows, name)
    found = table.labels(0, table.rows)
    if not found:
        return np.full(table.rows, -1), []
    codes = table.select([0], [found]).to_matrix()[:, 0]
    return np.where(np.isnan(codes), -1, codes).astype(np.int64), found


def numbers(values: Any, name: str, rows: int | None = None) -> Floats:
    """Numeric column as a contiguous array of doubles, without a copy if possible."""
    _refuse_one_value(values, name, "number")
    values = validated(values, name)
    if is_stream(values):
        table = _core.Table.from_stream(values.__arrow_c_stream__())
        if len(table.names) != 1:
            raise ValueError(f"{name} has {_core.count_of(len(table.names), 'column')}, expected one")
        out = table.select([0]).to_matrix()[:, 0]
    else:
        out = floats(values, name)
        if out.ndim == 2 and out.shape[1] == 1:
            out = out[:, 0]
        if out.ndim != 1:
            raise ValueError(f"{name} has {out.ndim} dimensions, expected a column of numbers")
    array = np.ascontiguousarray(out)
    expect_rows(rows, len(array), name)
    return array


def outcomes(values: Any, rows: int | None = None) -> Floats:
    """Outcomes; raise if there are none or one is not finite."""
    array = finite(numbers(values, "y", rows), "y")
    if not len(array):
        raise ValueError("X has no rows; expected at least one")
    return array


def expect_rows(rows: int | None, found: int, name: str) -> None:
    """Raise if an argument has not one value per row of X; X may be unknown."""
    if rows is not None and found != rows:
        raise ValueError(f"X has {_core.count_of(rows, 'row')}, {name} has {found:,}")


def outcomes_of_fit(values: Any, X: Any) -> Floats:
    """Outcomes as given, of any number of dimensions, which scikit-learn checks; raise if one is not finite."""
    _refuse_one_value(values, "y", "number")
    array = finite(floats(values, "y"), "y")
    shape = np.shape(X) if isinstance(X, (list, tuple)) else getattr(X, "shape", ())
    if array.ndim and shape:
        expect_rows(shape[0], len(array), "y")
    return array


def finite(array: Floats, name: str) -> Floats:
    """Numbers; raise if one is missing or infinite."""
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        value = array.flat[bad[0]]
        expected = "" if np.isnan(value) else "expected a finite number; "
        raise ValueError(f"{name}[{bad[0]}] is {value}; {expected}drop the rows without {_WHAT.get(name, 'a value')}")
    return array


def not_infinite(array: Floats, name: str) -> Floats:
    """Numbers; raise if one is infinite. Missing values are NaN."""
    bad = np.flatnonzero(np.isinf(array))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] is {array[bad[0]]}; expected a finite number, or NaN if it is unknown")
    return array


def integers(values: Any, name: str, rows: int) -> NDArray[np.int64]:
    array = _no_mask(values, name)
    if array.dtype.kind not in "bui":
        raise ValueError(
            f"{name} must be integers, one per row; encode other labels first, for example with numpy.unique"
        )
    if array.shape != (rows,):
        raise ValueError(f"X has {_core.count_of(rows, 'row')}, {name} has shape {array.shape}")
    if array.dtype.kind == "u":
        large = np.flatnonzero(array > np.uint64(2**63 - 1))
        if len(large):
            raise ValueError(
                f"{name}[{large[0]}] is {array[large[0]]}; expected labels below 2^63; encode them first, for "
                f"example with numpy.unique"
            )
    return np.ascontiguousarray(array, dtype=np.int64)


def keys(values: Any, rows: int, name: str = "key") -> NDArray[np.uint64]:
    """Integers as 64-bit words without rounding; negative integers in two's complement."""
    array = _no_mask(values, name)
    if array.dtype.kind not in "ui":
        raise ValueError(f"{name} must be unique 64-bit integers, one per row and none missing; found {array.dtype}")
    if array.shape != (rows,):
        raise ValueError(f"X has {_core.count_of(rows, 'row')}, {name} has shape {array.shape}")
    wide = np.ascontiguousarray(array, dtype=np.uint64 if array.dtype.kind == "u" else np.int64)
    return wide.view(np.uint64)


def booleans(values: Any, name: str, rows: int) -> NDArray[np.bool_]:
    """Booleans; 0 and 1 are accepted."""
    array = _no_mask(values, name)
    if array.dtype.kind in "ui" and np.isin(array, (0, 1)).all():
        array = array.astype(bool)
    if array.dtype.kind != "b":
        raise ValueError(f"{name} must be booleans, one per row; found {array.dtype}")
    if array.shape != (rows,):
        raise ValueError(
            f"{name} has shape {array.shape}; expected one value per row, for {_core.count_of(rows, 'row')}"
        )
    return np.ascontiguousarray(array)


def floats(values: Any, name: str) -> Floats:
    """Numbers of any shape as doubles, without a copy if possible. Missing and masked values are NaN; other types are
    rejected."""
    array = np.asarray(unmasked(values, name))
    if array.dtype.kind in _NUMBERS:
        return array.astype(np.float64, copy=False)
    unmasked(array, name)  # raises for other types, unless these are objects
    found = np.empty(array.shape)
    for place, value in np.ndenumerate(array):
        found[place] = _float(value, name, place)
    return found


def is_stream(values: Any) -> bool:
    """Whether the values are a table to read as a stream of Arrow."""
    if not hasattr(values, "__arrow_c_stream__"):
        return False
    pa = sys.modules.get("pyarrow")
    return not hasattr(values, "__array__") or (pa is not None and isinstance(values, pa.Table))


def validated(values: Any, name: str, text: Collection[str] | None = None) -> Any:
    """The values; raise if they are those of a damaged Arrow table.

    pyarrow knows the sizes of its buffers, which it does not pass on, so it validates its own arrays: of dictionaries
    and of text offsets, indices and characters, and of other columns whether they are long enough. Of a table, only the
    columns of text named in `text` are read, unless it is None. Tables of other libraries are checked by C++ when they
    are borrowed.
    """
    pa = sys.modules.get("pyarrow")
    if pa is None or type(values) is np.ndarray:
        return values
    if isinstance(values, pa.RecordBatchReader):
        values = values.read_all()
    if isinstance(values, (pa.Table, pa.RecordBatch)):
        for column, data in zip(values.schema.names, values.columns, strict=True):
            _validate(data, f"{name}: column {column!r}", text is None or column in text)
    elif isinstance(values, (pa.Array, pa.ChunkedArray)):
        _validate(values, name)
    elif hasattr(values, "iloc"):
        _validate_pandas(values, name)
    return values


def _validate_pandas(values: Any, name: str) -> None:
    """Validate columns of pandas that are in Arrow's memory."""
    if hasattr(values, "dtypes") and values.ndim == 2:
        for j, dtype in enumerate(values.dtypes):
            if not isinstance(dtype, np.dtype):
                _validate_pandas(values.iloc[:, j], f"{name}: column {values.columns[j]!r}")
    elif hasattr(values, "cat"):
        _validate_array(values.cat.categories.array, name)
    else:
        _validate_array(values.array, name)


def _validate_array(array: Any, what: str) -> None:
    kind = type(array.dtype).__name__
    if kind == "ArrowDtype" or (kind == "StringDtype" and array.dtype.storage == "pyarrow"):
        _validate(array.__arrow_array__(), what)


def _validate(data: Any, what: str, is_read: bool = True) -> None:
    pa = sys.modules["pyarrow"]
    # Values of the others refer to no other memory, or they are not read.
    refers = not (pa.types.is_primitive(data.type) or pa.types.is_null(data.type) or pa.types.is_nested(data.type))
    try:
        data.validate(full=pa.types.is_dictionary(data.type) or (refers and is_read))
    except (pa.ArrowInvalid, pa.lib.ArrowIndexError) as error:
        raise ValueError(f"{what}: invalid Arrow data: {error}; read or create the table again") from None


def is_doubles(values: Any, dimensions: int) -> bool:
    """Whether this is a plain array of doubles, which needs no conversion."""
    return type(values) is np.ndarray and values.dtype is _DOUBLE and values.ndim == dimensions


def unmasked(values: Any, name: str) -> Any:
    """Values with NaN in place of masked values. Arrays of dates, text or complex numbers are rejected."""
    values = validated(values, name)
    dtype = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", "O")
    if kind == "O" and isinstance(values, (list, tuple)) and len(values):
        values = np.asarray(values)  # may be of any kind
        dtype, kind = values.dtype, values.dtype.kind
    if kind in "mM":
        raise ValueError(f"{name} holds {_TIMES[kind]} ({dtype}); {_DERIVE}")
    if kind == "c":
        raise ValueError(f"Complex data not supported: {name} holds complex numbers; expected real ones")
    if kind in "SUVT":
        raise ValueError(f"{name} holds {dtype}, not numbers; convert text with astype(float)")
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64), np.nan)
    return values


def name_of(values: Any, by_default: str) -> str:
    """The name of a column, if it has one."""
    name = getattr(values, "name", None)
    return name if isinstance(name, str) and name and is_utf8(name) else by_default


def is_utf8(text: str) -> bool:
    """Whether the text is valid UTF-8, without lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _has_names(columns: Any) -> bool:
    return all(isinstance(name, str) for name in columns)


def _distinct(table: _core.Table) -> _core.Table:
    names = table.names
    if len(set(names)) != len(names):
        twice = next(name for j, name in enumerate(names) if name in names[:j])
        raise ValueError(f"duplicate column name {twice!r} in X; rename or drop one of the columns")
    return table


def _refuse_nul(X: Any) -> None:
    """Reject names with a NUL character: Arrow streams truncate them, and polars aborts."""
    for names in (getattr(X, "columns", None), getattr(getattr(X, "schema", None), "names", None)):
        for name in names if isinstance(names, list) else []:
            if isinstance(name, str) and "\0" in name:
                raise ValueError(f"the name of the column {name!r} is not valid UTF-8; rename the column")


def _no_mask(values: Any, name: str) -> NDArray[Any]:
    """Array without masked values; raise if a value is masked, because integers cannot represent missing values."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = np.flatnonzero(np.ma.getmaskarray(values))[0]
        raise ValueError(f"{name}[{row}] is masked; fill the value or drop the row")
    return np.asarray(validated(values, name))


def _float(value: Any, name: str, place: tuple[int, ...]) -> float:
    """Convert an object to a number; None and pandas.NA are missing."""
    if value is None or value is np.ma.masked or type(value).__name__ == "NAType":
        return np.nan
    name = f"{name}[{', '.join(map(str, place))}]" if place else name
    if isinstance(value, (str, bytes, np.datetime64, np.timedelta64)):
        raise ValueError(f"{name} is {value!r}; expected a number; convert text with astype(float)")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is {str(value)[:20]}..., which is too large for a double") from None
    except TypeError as error:
        raise TypeError(f"{name} must be a number: argument must be a string or a real number ({error})") from None


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Numbers of a type that C++ can borrow."""
    dtype = array.dtype
    if dtype.kind in _NUMBERS and dtype.isnative and dtype.itemsize <= 8 and dtype != np.float16:
        return array
    return floats(array, "X")


def _read_pandas(frame: Any, text: Collection[str] | None) -> _core.Table:
    names = [str(name) for name in frame.columns]
    for name in names:
        if not is_utf8(name) or "\0" in name:
            raise ValueError(f"the name of the column {name!r} is not valid UTF-8; rename the column")
    dtypes = list(frame.dtypes)
    # Selecting columns takes most of the time of a few rows; a matrix of many rows may be a copy of them.
    if dtypes and len(frame) <= _FEW_ROWS and all(dtype is _DOUBLE for dtype in dtypes):
        return _distinct(_core.Table.from_matrix(frame.to_numpy(), names))
    places: list[int] = []
    columns: list[NDArray[Any]] = []
    dictionaries: dict[int, list[str | None]] = {}
    times: list[int] = []
    for j, (dtype, (_, column)) in enumerate(zip(dtypes, frame.items(), strict=True)):
        kind = getattr(dtype, "kind", "O")
        if kind in _TIMES:
            times.append(j)
            continue
        if not isinstance(dtype, np.dtype) and (kind in _NUMBERS or text is None or names[j] in text):
            validated(column, f"X: column {names[j]!r}")
        if kind in _NUMBERS:
            if isinstance(dtype, np.dtype):
                array = column.to_numpy()
            else:  # pandas' nullable number types
                array = column.to_numpy(dtype=np.float64, na_value=np.nan)
            columns.append(_plain(array))
        elif text is None or names[j] in text:
            codes, values = _factorized(column)
            if values is None:
                continue
            columns.append(codes)
            dictionaries[j] = values
        elif dtype is _OBJECT and all(map(_is_number_or_missing, column)):  # such as a row of JSON with a missing value
            columns.append(floats(column.to_numpy(), names[j]))
        else:
            continue
        places.append(j)
    return _distinct(_core.Table.from_columns(columns, names, places, len(frame), dictionaries, times))


def _is_number_or_missing(value: Any) -> bool:
    return value is None or isinstance(value, (int, float, np.number)) or type(value).__name__ == "NAType"


def _factorized(column: Any) -> tuple[NDArray[Any], list[str | None] | None]:
    """A column of pandas as integers and the texts that they refer to; None if the values are not labels."""
    if hasattr(column, "cat"):
        codes, values, is_category = column.cat.codes.to_numpy(), list(column.cat.categories), True
    else:
        try:
            codes, unique = sys.modules["pandas"].factorize(column)
        except TypeError:  # values that cannot be compared, such as lists
            return np.empty(0), None
        except UnicodeEncodeError:
            codes, unique = np.arange(len(column)), column  # the label is found below
        values, is_category = list(unique), False
    for k, value in enumerate(values):
        if isinstance(value, str) and not is_utf8(value):
            _refuse_label(value, f"column {column.name!r}", int(np.argmax(np.asarray(codes) == k)))
    texts = [_text_of_label(value) for value in values]
    # A column of objects that are all numbers, such as Decimal, is not a column of labels.
    if None in texts or not (is_category or not values or any(isinstance(value, (str, bool)) for value in values)):
        return np.empty(0), None
    return np.ascontiguousarray(codes), texts


def _refuse_label(value: str, where: str, row: int) -> NoReturn:
    """Reject text that no file holds as UTF-8: the same label, read correctly, would be another category."""
    raise ValueError(
        f"{where}, row {row + 1}: the label {value!r} is not valid UTF-8; read the text in its encoding, for example with "
        "encoding='latin-1'"
    )


def _text_of_label(value: Any) -> str | None:
    """The text of a label; None if the value is neither text nor a boolean nor an integer."""
    if isinstance(value, str):
        return value if is_utf8(value) else None
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return None


def _label_column(values: Any, name: str) -> _core.Table:
    """A table of one column that holds labels."""
    if not hasattr(values, "dtype"):
        values = np.asarray(values, dtype=object)
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"{name} has {values.ndim} dimensions, expected a column")
    kind = getattr(values.dtype, "kind", "O")
    if kind in _TIMES:
        raise ValueError(f"{name} holds {_TIMES[kind]} ({values.dtype}); {_DERIVE}")
    if kind in _NUMBERS and isinstance(values.dtype, np.dtype):
        array = np.asarray(unmasked(values, name))
        return _core.Table.from_columns([_plain(array)], [name], [0], len(array))
    codes, labels = _codes_of(np.asarray(values, dtype=object), name)
    return _core.Table.from_columns([codes], [name], [0], len(codes), {0: labels})


def _codes_of(objects: NDArray[Any], name: str) -> tuple[NDArray[np.int64], list[str | None]]:
    """The labels of objects, and the position of each object among them, -1 if it is missing."""
    codes = np.full(len(objects), -1)
    places: dict[str, int] = {}
    for i, value in enumerate(objects):
        if value is None or value is np.ma.masked or type(value).__name__ == "NAType" or value != value:
            continue
        if isinstance(value, str) and not is_utf8(value):
            _refuse_label(value, name, i)
        text = _text_of_label(value)
        if text is None:
            raise ValueError(f"{name}[{i}] is {value!r}; expected text, booleans or integers")
        codes[i] = places.setdefault(text, len(places))
    return codes, list(places)


def names_of(X: Any) -> list[Any]:
    """The names of the columns of a table, if it has names."""
    # The columns of Arrow tables are arrays.
    for names in (getattr(X, "column_names", None), getattr(X, "columns", None)):
        if names is not None:
            return [name for name in names if isinstance(name, str)]
    return []


class Column(NamedTuple):
    """Values of rows, or None, with the name of the column; empty if it has none."""

    name: str
    values: Any


def column(X: Any, name: str, argument: str) -> Any:
    """The column of X that an argument names."""
    X = named(X)
    names = names_of(X)
    if name in names:
        return X[name]
    if not names:
        raise ValueError(f"{argument} is {name!r}, but the columns of X have no names; pass one value per row")
    raise ValueError(f"{argument}: X has no column {name!r}{similar(name, names)}")


def given_column(X: Any, given: Any, argument: str) -> Column:
    """Values of the rows of X: an array, or the name of a column of X."""
    if isinstance(given, str):
        return Column(given, column(X, given, argument))
    return Column(name_of(given, ""), given)


def given_labels(X: Any, given: Any, argument: str) -> Column:
    """Labels of the rows of X: an array, the name of a column of X, or several names or a frame of several columns,
    whose labels are joined."""
    if names := _names_in(X, given):
        columns = [column(X, name, argument) for name in names]
    else:
        names = names_of(given)
        columns = [given[name] for name in names]
    if not names:
        return given_column(X, given, argument)
    found = joined(names, columns, argument)
    if len(names) > 1 and found.name in names_of(X):
        raise ValueError(f"{argument}: the columns together have the name of the column {found.name!r}; rename that")
    return found


def given_or_labels(X: Any, given: Any, name: str, argument: str) -> Any:
    """Labels of the rows of X, see `given_labels`. By default the column or columns of this name, if X has them."""
    X = named(X)
    if given is not None:
        return given_labels(X, given, argument).values
    names = names_of(X)
    columns = columns_named(name, names) if name else []
    return given_labels(X, columns, argument).values if columns and all(part in names for part in columns) else None


def columns_named(name: str, there: Sequence[str]) -> list[str]:
    """The columns of a name that a model stores: one, or several that are joined."""
    parts = _core.split_labels(name)
    return parts if name not in there and all(part in there for part in parts) else [name]


def _names_in(X: Any, given: Any) -> list[str]:
    """The names of columns of X in a list, unless it holds the labels of the rows."""
    if not isinstance(given, (list, tuple)) or not given or not all(isinstance(name, str) for name in given):
        return []
    X = named(X)
    names = names_of(X)
    known = [name in names or bool(difflib.get_close_matches(name, names, n=1)) for name in given]
    if all(name in names for name in given) or (any(known) and len(given) != len(X)):
        return list(dict.fromkeys(given))
    return []


def joined(names: Sequence[str], columns: Sequence[Any], argument: str) -> Column:
    """Columns of labels as one; a row without one of the labels has none."""
    if len(names) == 1:
        return Column(names[0], columns[0])
    codes, found = labels(columns[0], argument)
    lists = [[label] for label in found]
    for more in columns[1:]:
        other, found = labels(more, argument)
        pairs = np.where((codes < 0) | (other < 0), -1, codes * len(found) + other)
        distinct, codes = np.unique(pairs, return_inverse=True)
        lists = [[*lists[pair // len(found)], found[pair % len(found)]] for pair in distinct if pair >= 0]
        codes = codes - int(len(distinct) > len(lists))
    texts = np.array([*map(_core.join_labels, lists), None], dtype=object)  # -1 is the last one
    return Column(_core.join_labels(list(names)), texts[codes])


def _refuse_one_value(values: Any, name: str, what: str) -> None:
    """Raise if an argument that takes one value per row got the name of a column, or one value."""
    if isinstance(values, str):
        raise TypeError(f"{name} is {values!r}; expected one {what} per row, such as X[{values!r}]")
    if values is None or isinstance(values, Number):
        raise TypeError(f"{name} is {values!r}; expected one {what} per row")
