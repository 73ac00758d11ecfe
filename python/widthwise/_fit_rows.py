"""The rows of a fit: features, outcomes and columns by role."""

from __future__ import annotations

from typing import Any, NamedTuple

from . import _core, _tables, _weights
from ._blocks import NO_BLOCKS, Blocks, unused
from ._groups import Groups, for_calibration
from ._predictions import Predictions
from ._tables import Floats


def first_row_of(table: _core.Table, y: Floats) -> int:
    """Number of the first row, a hash of the table: a repeated table is detected, and row numbers chosen by users do
    not collide."""
    outcomes = _core.Table.from_columns([y], ["y"], [0], len(y))
    return (table.fingerprint() ^ outcomes.fingerprint()) >> 1


class FitRows(NamedTuple):
    """Features, outcomes and further columns of the rows of a fit, with the names of the columns."""

    features: _tables.Features
    y: Floats
    target: str = ""
    groups: Groups | None = None
    group: str = ""
    weights: Floats | None = None
    weight: str = ""
    blocks: Blocks = NO_BLOCKS
    sample_weights: Floats | None = None
    ids: list[str] | None = None
    id: str = ""
    shift_to: Any = None

    def with_columns(
        self,
        *,
        groups: tuple[str, Any],
        weights: tuple[str, Any],
        blocks: tuple[Any, Any],
        sample_weight: Any,
        ids: tuple[str, list[str] | None],
        shift_to: Any,
    ) -> FitRows:
        """Read further columns: labels and ratios with their names, clusters and time, and ids."""
        n, names = len(self.y), self.features.table.names
        labels, ratios = for_calibration(groups[1], n), _weights.checked(weights[1], n)
        return self._replace(
            groups=labels,
            group="" if labels is None else groups[0] or unused("group", names),
            weights=ratios,
            weight="" if ratios is None else weights[0] or unused("weight", names),
            blocks=Blocks.of(*blocks, n, names),
            sample_weights=_weights.for_training(sample_weight, n),
            id=ids[0],
            ids=ids[1],
            shift_to=shift_to,
        )

    def core(self, predictions: Predictions | None = None) -> _core.Rows:
        """The rows as C++ reads them."""
        table = self.features.table
        return _core.Rows(
            table,
            self.y,
            None if predictions is None else predictions.values,
            first_row=first_row_of(table, self.y),
            groups=None if self.groups is None else self.groups.numbers,
            labels=None if self.groups is None else self.groups.labels,
            weights=self.weights,
            clusters=self.blocks.clusters,
            times=self.blocks.times,
            sample_weights=self.sample_weights,
            ids=self.ids,
        )

    def names(self, predictions: Predictions | None = None) -> dict[str, str]:
        """The names of the columns by role; the model file identifies columns by their names, so they differ."""
        features = self.features.table.names
        target = unused(self.target, features)  # an array may have inherited the name of a feature
        prediction = unused("y_pred" if predictions is None else predictions.name, [target, *features])
        upper = "" if predictions is None else predictions.upper
        return {
            "target": target,
            "prediction": prediction,
            "upper_prediction": upper and unused(upper, [target, prediction, *features]),
            "group": self.group,
            "weight": self.weight,
            "cluster": self.blocks.cluster,
            "time": self.blocks.time,
            "id": self.id,
        }
