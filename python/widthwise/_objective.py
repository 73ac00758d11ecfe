"""Picklable width objective, shared by the adapters to training packages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core, _tables
from ._options import Goal, LevelWindow, goal_text, level_window_of, score_texts
from ._tables import Floats


class PortableObjective:
    """A C++ objective together with its options, so that it can be pickled and copied.

    Attributes
    ----------
    core : _core.WidthObjective
    two_sided : bool
    """

    def __init__(
        self,
        goal: Goal | None,
        score_transform: str,
        two_sided: bool,
        level_window: LevelWindow | None,
        score_options: Mapping[str, Any] | None,
    ) -> None:
        self._options = (goal, score_transform, two_sided, level_window, score_options)
        self.core = _core.WidthObjective(
            goal_text(goal), score_transform, two_sided, level_window_of(level_window), score_texts(score_options)
        )
        self.two_sided = two_sided

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._options

    def __repr__(self) -> str:
        return f"goal={self.core.goal!r}, score_transform={self.core.transform!r}, two_sided={self.two_sided}"


class HasObjective:
    """Public attributes of the losses of this package."""

    unit: float | None
    _default_unit: float | None = None

    def __init__(
        self,
        goal: Goal | None = None,
        score_transform: str = "auto",
        *,
        two_sided: bool = False,
        level_window: LevelWindow | None = None,
        unit: float | None = None,
        score_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()  # of torch.nn.Module
        self._objective = PortableObjective(goal, score_transform, two_sided, level_window, score_options)
        self._given_unit = checked_unit(None if unit is None else float(unit))
        self.unit = self._given_unit or self._default_unit

    @property
    def goal(self) -> str:
        return self._objective.core.goal

    @property
    def score_transform(self) -> str:
        return self._objective.core.transform

    @property
    def two_sided(self) -> bool:
        return self._objective.two_sided

    @property
    def parameter_count(self) -> int:
        return self._objective.core.parameter_count

    def _trained_rows(
        self, table: _core.Table, y: Any, y_pred: Any, unit: float | None
    ) -> tuple[_core.TrainedRows, Floats]:
        """The rows of a training loop for a model, and their outcomes."""
        outcomes = _tables.numbers(y, "y", table.rows)
        residuals = outcomes - _tables.numbers(y_pred, "y_pred", table.rows)
        rows = _core.TrainedRows(
            features=table.names,
            target=_tables.name_of(y, "y"),
            prediction=_tables.name_of(y_pred, "y_pred"),
            residuals=residuals,
            unit=unit or self.unit or _core.unit_near(float(np.mean(np.abs(residuals)))),
        )
        return rows, outcomes


def checked_unit(unit: float | None) -> float | None:
    """The power of two nearest to the unit, so that dividing residuals by it is exact; or None."""
    if unit is None:
        return None
    if not (unit > 0 and math.isfinite(unit)):
        raise ValueError(f"unit is {unit!r}; expected a positive number, such as the mean absolute residual")
    return _core.unit_near(unit)
