"""Intervals as columns, with the names of ``widthwise predict``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._tables import Floats


def bound_names(levels: Sequence[float]) -> list[str]:
    """Names of the columns of bounds: lower and upper for each level."""
    return [f"{side}_{level}" for level in map(_core.level_text, levels) for side in ("lower", "upper")]


def interval_frame(y_pred: Floats, intervals: Floats, levels: Sequence[float], X: Any) -> Any:
    """A frame of predictions and bounds of the library of X: polars, pyarrow, or else pandas with the index of X."""
    if len(set(levels)) < len(levels):
        raise ValueError(
            f"confidence_level contains a level twice: {list(levels)}; the columns of a frame are distinct"
        )
    bounds = np.moveaxis(intervals, 1, 2).reshape(len(y_pred), 2 * len(levels))
    columns = {"prediction": y_pred} | dict(zip(bound_names(levels), bounds.T, strict=True))
    polars, pyarrow = sys.modules.get("polars"), sys.modules.get("pyarrow")
    if polars is not None and isinstance(X, polars.DataFrame):
        return polars.DataFrame(columns)
    if pyarrow is not None and isinstance(X, (pyarrow.Table, pyarrow.RecordBatch)):
        return pyarrow.table(columns)
    import pandas as pd

    return pd.DataFrame(columns, index=getattr(X, "index", None))
