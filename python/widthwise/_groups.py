"""Groups of rows: labels of any kind as the numbers that the C++ library calibrates by."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core, _tables
from ._warn import warn

_MISSING = -1


class Groups(NamedTuple):
    """Numbers of the groups of rows, and their labels; None if all labels are integers."""

    numbers: NDArray[np.int64]
    labels: _core.GroupLabels | None


class _Texts(NamedTuple):
    """Distinct labels as text, and the position of each row's label, or -1 if it is missing."""

    labels: list[str]
    codes: NDArray[np.int64]


def column_of(model: _core.Model, X: Any, groups: Any) -> Any:
    """The groups given, see `given_or_labels`."""
    return _tables.given_or_labels(X, groups, model.group, "groups")


def for_calibration(groups: Any, rows: int, name: str = "groups") -> Groups | None:
    """Groups, or what `name` says, of rows to calibrate with, each of which needs a label."""
    if groups is None:
        return None
    found = _read(groups, rows, name)
    if not isinstance(found, _Texts):
        return Groups(found, None)
    missing = np.flatnonzero(found.codes == _MISSING)
    if len(missing):
        raise ValueError(f"{name}[{missing[0]}] is missing; drop such rows, or give them a label")
    labels = _core.GroupLabels()
    return Groups(np.array(labels.add(found.labels), dtype=np.int64)[found.codes], labels)


def for_prediction(model: _core.Model, groups: Any, rows: int, *, warns: bool = False) -> NDArray[np.int64] | None:
    """Groups of rows to predict. If it `warns`, then of rows whose group was not calibrated."""
    if groups is None:
        if model.group:
            raise ValueError(
                f"the model has groups; pass the labels of the rows, the column {model.group!r}, as groups="
            )
        return None
    found = _read(groups, rows)
    if isinstance(found, _Texts):
        used = np.bincount(found.codes + 1, minlength=len(found.labels) + 1)
        numbers, warning = model.find_labels(["", *found.labels], used.tolist())
        array = np.array(numbers, dtype=np.int64)[found.codes + 1]
    else:
        array, warning = model.find_integers(found)
    if warning and warns:
        warn(warning)
    return array


def label_of(value: Any) -> str:
    """The label of a group; empty if the value is missing."""
    _, labels = _tables.labels([value], "group", 1)
    return labels[0] if labels else ""


def _read(groups: Any, rows: int, name: str = "groups") -> NDArray[np.int64] | _Texts:
    """Integers of 64 bits as they are, other labels as text."""
    if isinstance(groups, np.ndarray) and groups.ndim != 1:
        raise ValueError(f"X has {_core.count_of(rows, 'row')}, {name} has shape {groups.shape}")
    dtype = getattr(groups, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iu" and not np.ma.is_masked(groups):
        array = np.asarray(groups)
        if array.shape != (rows,):
            raise ValueError(f"X has {_core.count_of(rows, 'row')}, {name} has shape {array.shape}")
        # The smallest and largest integers are labels like texts: 64 bits hold no others, or mean something else.
        if dtype.itemsize < 8 or not len(array) or (array.min() > -(2**63) + 2 and array.max() < 2**63):
            return np.ascontiguousarray(array, dtype=np.int64)
    codes, labels = _tables.labels(groups, name, rows)
    return _Texts(labels, codes)
