"""Parameters that several functions share, described once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T", bound=Callable[..., Any])

_SHARED = {
    "model_rows": [
        "model : WidthwiseRegressor or Predictor",
        "X, y",
        "    Rows with outcomes that the model was not fitted or calibrated on.",
        "y_pred : array-like, optional",
        "    Predictions. Required when the model does not contain the base model.",
        "groups : array-like or str, optional",
        "    Labels of the groups of the rows, or the name of their column in X, if the model has groups.",
        "ax : matplotlib axes, optional",
        "    Axes to draw on; by default those of a new figure.",
    ],
    "confidence_level": ["confidence_level : float, optional", "    By default the first level of the model."],
    "objective": [
        'goal : {"balanced", "even", "narrow"} or float, default="balanced"',
        "    What to optimise: even coverage for all inputs (balanced: nearly, 0.95), narrow mean width, or a number between",
        "    0 (narrow) and 1 (even).",
        'score_transform : str, default="auto"',
        "    Score transform. auto is exp, or affine for the goal narrow.",
        "two_sided : bool, default=False",
        "    Learn the lower and the upper half-width separately; the parameters of the lower side come first.",
        'level_window : (float, float) or "all", optional',
        "    Confidence levels to optimise, for example (0.85, 0.95). By default all levels count equally.",
        "score_options : dict, optional",
        "    Options of scores and transforms by name: ``score``, ``gamma`` and ``epsilon``; docs/options.md describes them.",
    ],
}


def with_shared(function: _T) -> _T:
    """Replace the lines ``{name}`` of a docstring with the shared descriptions; python -OO has no docstrings."""
    lines = []
    for line in (function.__doc__ or "").splitlines():
        text = line.strip()
        entry = _SHARED.get(text[1:-1]) if text.startswith("{") and text.endswith("}") else None
        indent = line[: len(line) - len(line.lstrip())]
        lines += [line] if entry is None else [indent + each for each in entry]
    function.__doc__ = "\n".join(lines) or None
    return function
