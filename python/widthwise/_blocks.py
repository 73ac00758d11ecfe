"""Rows that no split separates: those of one cluster, or of one time."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core, _tables
from ._groups import for_calibration
from ._tables import Floats

_EPOCH = datetime.datetime(1970, 1, 1)
_ATTO = 10**18
_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}
_EXPECTED_TIME = "expected a number, or a date such as 2024-01-31 or 2024-01-31 05:00"
_NO_TIME = "drop the rows without a time"


def cluster_numbers(clusters: Any, rows: int) -> NDArray[np.int64] | None:
    """The numbers of the clusters of rows, each of which needs a label."""
    found = for_calibration(clusters, rows, "clusters")
    return None if found is None else found.numbers


def sizes_of(sizes: Any, rows: int) -> Floats | None:
    """The numbers of rows of the clusters of rows, if they are given; the model checks them."""
    return None if sizes is None else _tables.numbers(sizes, "cluster_sizes", rows)


def cluster_column_of(model: _core.Model, X: Any, clusters: Any) -> Any:
    """The clusters given, see `given_or_labels`; raise if a model with clusters gets none."""
    found = _tables.given_or_labels(X, clusters, model.cluster if model.clustered else "", "clusters")
    if found is not None or not model.clustered:
        return found
    raise ValueError(
        f"the model was calibrated by clusters; pass the labels of the rows{_column(model.cluster)} as clusters="
    )


def _column(name: str) -> str:
    return f", the column {name!r}," if name else ""


class Blocks(NamedTuple):
    """The clusters or the times of the rows of a fit, with the names of their columns; or neither."""

    clusters: NDArray[np.int64] | None = None
    cluster: str = ""
    times: Floats | None = None
    time: str = ""

    @classmethod
    def of(cls, clusters: Any, time: Any, rows: int, names: list[str]) -> Blocks:
        """Read the arguments of `fit`; `names` are the columns of X."""
        if clusters is None and time is None:
            return cls()
        if clusters is not None and time is not None:
            raise ValueError("found both clusters and time; a split by time separates the rows of a cluster")
        for values, name in ((clusters, "clusters"), (time, "time")):
            if isinstance(values, str):
                raise TypeError(f"{name} is {values!r}; expected labels or times of the rows, such as X[{values!r}]")
        if clusters is not None:
            cluster, labels = _tables.given_labels(None, clusters, "clusters")
            return cls(clusters=cluster_numbers(labels, rows), cluster=cluster or unused("cluster", names))
        return cls(times=times_of(time, rows), time=_tables.name_of(time, "") or unused("time", names))


NO_BLOCKS = Blocks()


def times_of(time: Any, rows: int) -> Floats:
    """The ranks of times among the distinct ones: numbers, dates or durations, compared without rounding."""
    array = _array_of_times(time)
    if array.ndim != 1:
        raise ValueError(f"time has {array.ndim} dimensions, expected a column of numbers or dates")
    _tables.expect_rows(rows, len(array), "time")
    if array.dtype.kind in "OUS":
        values = [_comparable(value, i) for i, value in enumerate(array)]
        kinds = {isinstance(value, tuple) for value in values}
        if len(kinds) > 1:
            raise ValueError("time holds numbers and dates; expected one of them")
        place = {value: rank for rank, value in enumerate(sorted(set(values)))}
        return np.array([place[value] for value in values], dtype=np.float64)
    if array.dtype.kind in "mM":
        missing = np.isnat(array)
        array = array.view(np.int64)
    elif array.dtype.kind == "f":
        missing = np.isnan(array)
        if np.isinf(array).any():
            first = np.flatnonzero(np.isinf(array))[0]
            raise ValueError(f"time[{first}] is {array[first]}; {_NO_TIME}")
    elif array.dtype.kind in "biu":
        missing = np.zeros(rows, dtype=bool)
    else:
        raise ValueError(f"time holds {array.dtype}; expected numbers or dates")
    if missing.any():
        raise ValueError(f"time[{np.flatnonzero(missing)[0]}] is missing; {_NO_TIME}")
    _, ranks = np.unique(array, return_inverse=True)
    return ranks.reshape(rows).astype(np.float64)


def _array_of_times(time: Any) -> NDArray[Any]:
    """Times as an array of numbers, of ``datetime64`` in any unit, or of objects."""
    time = _tables.validated(time, "time")
    if getattr(getattr(time, "dt", None), "tz", None) is not None:
        time = time.dt.tz_convert(None)
    if type(time).__module__.partition(".")[0] == "pyarrow" and hasattr(time, "type"):
        time = time.to_numpy(zero_copy_only=False)
    if np.ma.is_masked(time):
        raise ValueError(
            f"time[{np.flatnonzero(np.ma.getmaskarray(time))[0]}] is masked; fill the value or drop the row"
        )
    if isinstance(time, (list, tuple)):  # NumPy would round integers of different signs and sizes to doubles
        return np.fromiter(time, dtype=object, count=len(time))
    array: NDArray[Any] = time.to_numpy() if hasattr(time, "to_numpy") else np.asarray(time)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _comparable(value: Any, row: int) -> Any:
    """A number, or the seconds since 1970 and the attoseconds of a date or a duration: exact, and in their order."""
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        raise ValueError(f"time[{row}] is missing; {_NO_TIME}")
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        parts = _core.date_parts(value.strip())
        if parts is None:
            raise ValueError(f"time[{row}] is {value!r}; {_EXPECTED_TIME}")
        return parts
    if isinstance(value, datetime.datetime):
        nanoseconds = getattr(value, "nanosecond", 0)  # of pandas
        if hasattr(value, "to_pydatetime"):
            value = value.to_pydatetime(warn=False)
        since = value - (_EPOCH if value.tzinfo is None else _EPOCH.replace(tzinfo=datetime.timezone.utc))
        return _parts(since, nanoseconds)
    if isinstance(value, datetime.date):
        return 86400 * (value.toordinal() - _EPOCH.toordinal()), 0
    if isinstance(value, datetime.timedelta):
        nanoseconds = getattr(value, "nanoseconds", 0)
        return _parts(value.to_pytimedelta() if hasattr(value, "to_pytimedelta") else value, nanoseconds)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return _parts_of_scalar(value, row)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float, Decimal)):
        if value in (math.inf, -math.inf):
            raise ValueError(f"time[{row}] is {value}; {_NO_TIME}")
        return value
    raise ValueError(f"time[{row}] is {value!r}; {_EXPECTED_TIME}")


def _parts(since: datetime.timedelta, nanoseconds: int) -> tuple[int, int]:
    return 86400 * since.days + since.seconds, since.microseconds * 10**12 + nanoseconds * 10**9


def _parts_of_scalar(value: Any, row: int) -> tuple[int, int]:
    """The same for ``datetime64`` and ``timedelta64``, also in units that Python's dates do not have."""
    unit, step = np.datetime_data(value.dtype)
    if unit in _PER_SECOND:
        seconds, rest = divmod(step * int(value.astype(np.int64)), _PER_SECOND[unit])
        return seconds, rest * (_ATTO // _PER_SECOND[unit])
    whole = value.astype(f"{value.dtype.kind}8[s]")
    if whole.astype(value.dtype) != value:
        raise ValueError(f"time[{row}] is {value!r}; expected a date within 292 thousand million years of 1970")
    return int(whole.astype(np.int64)), 0


def unused(name: str, names: list[str]) -> str:
    """A name that no column has."""
    while name in names:
        name += "_"
    return name
