"""Identifiers of rows, which messages and lists of rows name."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core, _tables
from ._blocks import unused


def ids_of_fit(ids: Any, rows: int, names: list[str]) -> tuple[str, list[str] | None]:
    """The name of the column and its texts; `names` are the columns of X."""
    if ids is None:
        return "", None
    if isinstance(ids, str):
        raise TypeError(f"ids is {ids!r}; expected the ids of the rows, such as X[{ids!r}]")
    return _tables.name_of(ids, "") or unused("id", names), _texts_of(ids, rows)


def ids_of(model: _core.Model, X: Any, ids: Any, rows: int | None = None) -> list[str] | None:
    """Those given, the column of X with this name, or by default the column of the fit, if X has it."""
    if ids is None or isinstance(ids, str):
        ids = _tables.given_or_labels(X, ids, model.id, "ids")
    return None if ids is None else _texts_of(ids, rows)


def _texts_of(ids: Any, rows: int | None) -> list[str]:
    """Ids as text, empty where one is missing."""
    codes, labels = _tables.labels(ids, "ids", rows)
    texts = np.array(["", *labels], dtype=object)[np.asarray(codes) + 1]
    return list(texts)
