"""Copies of rows in the table of a fit, for estimators that are split and fitted in Python."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core, _tables
from ._blocks import Blocks
from ._groups import Groups
from ._tables import Floats


class RowColumns(NamedTuple):
    """What is known of the rows of a fit beside features and outcomes."""

    groups: Groups | None
    weights: Floats | None
    blocks: Blocks
    sample_weights: Floats | None

    def take(self, rows: Any) -> RowColumns:
        """The columns of some of the rows."""
        return RowColumns(
            None if self.groups is None else Groups(self.groups.numbers[rows], self.groups.labels),
            None if self.weights is None else self.weights[rows],
            self.blocks.take(rows),
            None if self.sample_weights is None else self.sample_weights[rows],
        )


class Copies(NamedTuple):
    """Equal numbers for copies of one row, or None if rows are separate observations; with a warning about them."""

    first: NDArray[np.int64] | None = None
    warning: str = ""

    @classmethod
    def of(cls, features: _tables.Features, y: Floats, columns: RowColumns, options: dict[str, str]) -> Copies:
        """Find the copies that the option `duplicates` is about, as the fit of C++ does."""
        first, warning = _core.row_copies(
            table=features.table,
            y=y,
            groups=None if columns.groups is None else columns.groups.numbers,
            weights=columns.weights,
            clusters=columns.blocks.clusters,
            times=columns.blocks.times,
            options=options,
        )
        return cls(first, warning)

    def take(self, rows: Any) -> Copies:
        """The copies among some of the rows."""
        return self if self.first is None else self._replace(first=np.ascontiguousarray(self.first[rows]))

    def distinct(self, rows: Any) -> Any:
        """Of some rows, the first one of each content, in their order."""
        if self.first is None:
            return rows
        return rows[np.sort(np.unique(self.first[rows], return_index=True)[1])]

    def without(self, train: Any, test: Any) -> Any:
        """The training rows without the copies of test rows."""
        return train if self.first is None else train[~np.isin(self.first[train], self.first[test])]

    def blocks(self) -> Blocks:
        """Copies as rows that no split separates."""
        return Blocks(clusters=self.first)

    def check(self, folds: list[tuple[Any, Any]]) -> None:
        """Raise if folds of cross-calibration separate copies."""
        for number, (train, test) in enumerate(folds, 1):
            separated = len(train) - len(self.without(train, test))
            if separated:
                raise ValueError(
                    f"fold {number} of {len(folds)} of cv trains on {separated} copies of its test rows; pass cv as a "
                    "number, set duplicates='drop', or duplicates='keep' if equal rows are separate observations"
                )


NO_COPIES = Copies()
