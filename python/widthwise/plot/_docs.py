"""Parameters that several displays share, described once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T", bound=Callable[..., object])

_SHARED = {
    "model_rows": [
        "model : WidthwiseRegressor or Predictor",
        "X, y",
        "    Rows with outcomes that the model was not fitted or calibrated on.",
        "y_pred : array-like, optional",
        "    Predictions. Required when the model does not contain the base model.",
        "groups : array-like of int, optional",
        "    Group of each row. Required when the calibration has groups.",
        "ax : matplotlib axes, optional",
        "    Axes to draw on; by default those of a new figure.",
    ],
    "confidence_level": ["confidence_level : float, optional", "    By default the first level of the model."],
    "intervals": ["intervals : array-like of shape (n, 2) or (n, 2, 1)"],
}


def with_shared(function: _T) -> _T:
    """Replace the lines ``{name}`` of a docstring by the shared descriptions; none is left when Python runs with -OO."""
    lines = []
    for line in (function.__doc__ or "").splitlines():
        text = line.strip()
        entry = _SHARED.get(text[1:-1]) if text.startswith("{") and text.endswith("}") else None
        indent = line[: len(line) - len(line.lstrip())]
        lines += [line] if entry is None else [indent + each for each in entry]
    function.__doc__ = "\n".join(lines) or None
    return function
