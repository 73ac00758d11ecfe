"""The column that coverage is tested by: labels of any kind, or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _tables
from ._tables import Floats


class By(NamedTuple):
    """Name and values of a column; with labels, the values are their numbers, NaN if missing."""

    name: str
    values: Floats
    labels: list[str]


def by_of(X: Any, by: Any, rows: int | None, labelled: Sequence[str] = ()) -> By | None:
    """The column `by`, as values or as the name of a column of X. Columns named in `labelled` hold labels, as do text
    and booleans."""
    if by is None or isinstance(by, By):
        return by
    if isinstance(by, str):
        if by not in _tables.names_of(X):
            raise ValueError(f"by: X has no column {by!r}")
        name, values = by, X[by]
    else:
        name, values = _tables.name_of(by, "by"), by
    if name not in labelled and not _holds_labels(values):
        return By(name, _tables.numbers(values, "by", rows), [])
    codes, labels = _tables.labels(values, "by", rows)
    return By(name, np.where(codes < 0, np.nan, codes.astype(np.float64)), labels)


def features_without(X: Any, by: Any, features: Sequence[str]) -> Any:
    """X without the column `by`, unless it is a feature."""
    if not isinstance(by, str) or by in features or by not in _tables.names_of(X):
        return X
    return X.drop(columns=[by]) if hasattr(X, "iloc") else X.drop([by])


def _holds_labels(values: Any) -> bool:
    """Whether a column holds text, booleans or categories, rather than numbers."""
    if hasattr(values, "cat") and hasattr(values.cat, "categories"):
        return True
    if not hasattr(values, "__array__"):
        values = np.asarray(values, dtype=object if isinstance(values, (list, tuple)) else None)
    dtype = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", None)
    if kind is not None and kind in "iuf":
        return False
    if kind == "b":
        return True
    return any(isinstance(value, (str, bool, np.bool_)) for value in np.asarray(values, dtype=object))
