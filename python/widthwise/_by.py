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
    """The column `by`, see `given_labels`. Columns named in `labelled` hold labels, as do text and booleans."""
    if by is None or isinstance(by, By):
        return by
    name, values = _tables.given_labels(X, by, "by")
    name = name or "by"
    if name not in labelled and not _holds_labels(values):
        return By(name, _tables.numbers(values, "by", rows), [])
    codes, labels = _tables.labels(values, "by", rows)
    return By(name, np.where(codes < 0, np.nan, codes.astype(np.float64)), labels)


def features_without(X: Any, by: Any, features: Sequence[str]) -> Any:
    """X without the columns that `by` names, unless they are features."""
    names = [by] if isinstance(by, str) else by if isinstance(by, (list, tuple)) else []
    there = _tables.names_of(X)
    unwanted = [name for name in names if isinstance(name, str) and name in there and name not in features]
    if not unwanted:
        return X
    return X.drop(columns=unwanted) if hasattr(X, "iloc") else X.drop(unwanted)


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
