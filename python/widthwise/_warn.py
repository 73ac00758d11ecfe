"""Warnings that name the line of the caller."""

from __future__ import annotations

import sys
import warnings

# Libraries that call this package for the user, as GridSearchCV does, or that this package calls back through.
_BETWEEN = frozenset({"widthwise", "sklearn", "joblib"})


def warn(text: str) -> None:
    """Warn at the line that called this package: the nearest one outside it, and outside scikit-learn and joblib."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)
