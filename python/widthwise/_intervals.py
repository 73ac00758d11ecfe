"""Intervals as columns, with the names of ``widthwise predict``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._tables import Floats


def bound_names(levels: Sequence[float]) -> list[str]:
    """Names of the columns of bounds: lower and upper for each level."""
    return [f"{side}_{level}" for level in map(_core.level_text, levels) for side in ("lower", "upper")]


def interval_frame(y_pred: Floats, intervals: Floats, levels: Sequence[float], X: Any) -> Any:
    """A pandas frame of predictions and bounds, with the index of X if X has one."""
    import pandas as pd

    if len(set(levels)) < len(levels):
        raise ValueError(
            f"confidence_level contains a level twice: {list(levels)}; the columns of a frame are distinct"
        )
    bounds = np.moveaxis(intervals, 1, 2).reshape(len(y_pred), 2 * len(levels))
    frame = pd.DataFrame(bounds, columns=bound_names(levels), index=getattr(X, "index", None))
    frame.insert(0, "prediction", y_pred)
    return frame
