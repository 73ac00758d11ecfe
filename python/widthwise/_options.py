"""Convert parameters of the Python interface to values that C++ reads."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from . import _core, _tables

Goal = str | float
LevelWindow = str | tuple[float, float]
Levels = float | Sequence[float] | NDArray[np.float64]
Guarantee = str | float

SCORE_OPTIONS = ("score", "gamma", "epsilon")


def levels_of(confidence_level: Levels | None, by_default: list[float]) -> list[float]:
    """One or more levels as a list."""
    if confidence_level is None:
        if not by_default:
            raise ValueError("confidence_level is None; expected a number or a list of numbers between 0 and 1")
        return by_default
    if is_level(confidence_level):
        return [confidence_level]
    levels = np.atleast_1d(_tables.floats(confidence_level, "confidence_level"))
    if levels.ndim != 1 or not len(levels):
        raise ValueError("confidence_level must be a number or a list of numbers between 0 and 1")
    return [level_of(float(level)) for level in levels]


def level_of(confidence_level: Any) -> float:
    """One level."""
    level = real(confidence_level, "confidence_level")
    if 0 < level < 1:
        return level
    hint = f"; did you mean {level / 100:g}?" if 1 < level < 100 else ""
    raise ValueError(
        f"confidence_level: expected a number strictly between 0 and 1, such as 0.9, found {level:g}{hint}"
    )


def is_level(value: Any) -> TypeGuard[float]:
    """Whether this is one level as Python writes it, which needs no conversion."""
    return type(value) is float and 0 < value < 1


def probabilities_of(given: Any, name: str) -> list[float]:
    """One or more probabilities of quantiles as a list."""
    values = np.atleast_1d(_tables.floats(given, name))
    if values.ndim != 1 or not len(values) or not ((values > 0) & (values < 1)).all():
        raise ValueError(f"{name} is {given!r}; expected one or more numbers strictly between 0 and 1")
    return [float(value) for value in values]


def distinct_levels_of(confidence_level: Levels) -> list[float]:
    """The default levels of a model; raise for duplicates."""
    levels = levels_of(confidence_level, [])
    if len(set(levels)) < len(levels):
        raise ValueError(f"confidence_level contains a level twice: {levels}")
    return levels


def whole(value: Any, name: str, minimum: int = 0, maximum: int = 2**64 - 1) -> int:
    """The value of a parameter as an int; raise unless it is a whole number in range."""
    if isinstance(value, Integral) and not isinstance(value, bool) and minimum <= int(value) <= maximum:
        return int(value)
    raise ValueError(f"{name} is {value!r}; expected a whole number from {minimum} to {maximum}")


def real(value: Any, name: str) -> float:
    """The value of a parameter as a float; raise unless it is a number."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"{name} is {value!r}; expected a number")


def word(value: Any, name: str) -> str:
    """The value of a parameter as text; C++ checks which words are valid."""
    if isinstance(value, str) and _tables.is_utf8(value):
        return value
    raise ValueError(f"{name} is {value!r}; expected a word")


def range_of(outcome_range: Any) -> tuple[float, float]:
    """The ends of a range of outcomes."""
    if outcome_range is None:
        return -math.inf, math.inf
    ends = _tables.floats(outcome_range, "outcome_range")
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ValueError(f"outcome_range is {outcome_range!r}; expected two numbers, the smaller one first")
    return float(ends[0]), float(ends[1])


def step_of(outcome_step: Any) -> float | str:
    """The step of outcomes, or "none"."""
    if outcome_step is None:
        return "none"
    step = real(outcome_step, "outcome_step")
    if not 0 < step < math.inf:
        raise ValueError(f"outcome_step is {outcome_step!r}; expected a positive number, such as 1 for whole numbers")
    return step


def file_of(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> bytes:
    """The name of a file in the encoding of the file system."""
    file = os.fsencode(path)
    if b"\0" in file:
        raise ValueError(f"{os.fspath(path)!r}: the name of a file cannot contain a NUL character")
    return file


def guarantee_text(guarantee: Guarantee) -> str:
    """The text of a guarantee for C++."""
    if isinstance(guarantee, str) and guarantee == "marginal":
        return guarantee
    if isinstance(guarantee, Real) and 0 < guarantee < 1:
        return repr(float(guarantee))
    raise ValueError(
        f"guarantee is {guarantee!r}; expected 'marginal' or a confidence strictly between 0 and 1, such as 0.95"
    )


def guarantee_of(text: str) -> Guarantee:
    """The guarantee from the text of C++: "marginal" or a confidence."""
    return text if text == "marginal" else float(text)


def level_window_of(level_window: LevelWindow | None) -> tuple[float, float, float] | None:
    """A window of levels for C++: its ends, and the weight of the levels outside."""
    if level_window is None:
        return None
    if isinstance(level_window, str):
        if level_window != "all":
            raise ValueError(f"level_window is {level_window!r}; expected 'all' or two levels, such as (0.8, 0.95)")
        return 0.5, 0.5, 1.0
    ends = _tables.floats(level_window, "level_window")
    if ends.shape != (2,):
        raise ValueError(f"level_window is {level_window!r}; expected 'all' or two levels, such as (0.8, 0.95)")
    return float(ends[0]), float(ends[1]), 0.0


def goal_text(goal: Goal | None) -> str:
    """The text of a goal for C++."""
    if goal is None:
        return ""
    if isinstance(goal, str) and _tables.is_utf8(goal):
        return goal
    if isinstance(goal, Real) and not isinstance(goal, bool):
        return repr(float(goal))
    raise ValueError(f"goal is {goal!r}; expected 'even', 'narrow' or a number from 0 to 1")


def option_text(value: Any, name: str) -> str:
    """The text of an option for C++, which checks it (FitOptions::table)."""
    if value is None:
        return "auto"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str) and _tables.is_utf8(value):
        if is_number(value):
            raise ValueError(f"{name} is the string {value!r}; expected a number without quotes")
        return value
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        return repr(float(value))
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes)):
        return ",".join(option_text(part, name) for part in value)
    raise ValueError(f"{name} is {value!r}; expected a number, a word, True, False or a list")


def is_number(text: str) -> bool:
    """Whether a string is the text of a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def option_texts(options: Mapping[str, Any] | None, name: str) -> dict[str, str]:
    """The texts of options for C++, by name."""
    if options is None:
        return {}
    if not isinstance(options, Mapping) or not all(isinstance(key, str) for key in options):
        raise ValueError(f"{name} is {options!r}; expected a dict of options by name")
    return {key: option_text(value, f"{name}[{key!r}]") for key, value in options.items()}


def score_texts(options: Mapping[str, Any] | None) -> dict[str, str]:
    """The options of scores and transforms for C++, by name."""
    texts = option_texts(options, "score_options")
    for name in texts:
        if name not in SCORE_OPTIONS:
            raise ValueError(f"score_options contains {name!r}; expected {', '.join(SCORE_OPTIONS)}")
    return texts


def fit_options_of(
    further: Mapping[str, Any] | None, goal: Goal | None, guarantee: Guarantee, **options: Any
) -> dict[str, str]:
    """All options of a fit by name, checked by C++; `further` are options without a separate parameter."""
    texts = {"goal": goal_text(goal) or "auto", "guarantee": guarantee_text(guarantee)}
    texts |= {name: option_text(value, name) for name, value in options.items()}
    for name, text in option_texts(further, "fit_options").items():
        if name in (*texts, "folds", "calibration", "calibration_size"):
            raise ValueError(f"fit_options contains {name!r}, which has a parameter of its own")
        texts[name] = text
    _core.check_fit_options(texts)
    return texts
