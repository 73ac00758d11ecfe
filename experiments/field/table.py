"""The records of the comparison by cell, with the statistics for the page and the pictures."""

from __future__ import annotations

import math

from ..records import Record, mean, standard_error
from .datasets import by_slab
from .ours import FRONTIER
from .peers import PEERS

ALPHA = 0.1  # the level of the targets

METHODS = (*FRONTIER, *PEERS)  # those that are ranked

Table = dict[tuple[str, str, float], list[Record]]


def by_cell(records: list[Record]) -> Table:
    """Records by data set, method and alpha, in the order of the splits."""
    table: Table = {}
    for record in sorted(records, key=lambda record: record["split"]):
        table.setdefault((record["dataset"], record["method"], record["alpha"]), []).append(record)
    return table


def values(table: Table, dataset: str, method: str, value: str, alpha: float = ALPHA) -> list[float]:
    return [record[value] for record in table[dataset, method, alpha]]


def known_mean(table: Table, dataset: str, method: str, value: str) -> float:
    """The mean over the splits that have the value; NaN if none has it."""
    measured = [record.get(value, math.nan) for record in table[dataset, method, ALPHA]]
    known = [number for number in measured if not math.isnan(number)]
    return mean(known) if known else math.nan


def has(table: Table, dataset: str, value: str) -> bool:
    """Whether the records of a data set have a value; older records have fewer measures."""
    return any(not math.isnan(known_mean(table, dataset, method, value)) for method in methods_of(table, dataset))


def evenness(dataset: str) -> str:
    """The measure of even coverage on this data set."""
    return "worst_slab" if by_slab(dataset) else "gap"


def methods_of(table: Table, dataset: str) -> list[str]:
    return [method for name, method, alpha in table if name == dataset and alpha == ALPHA]


def peers_of(table: Table, dataset: str) -> list[str]:
    """The peers that were measured on a data set."""
    methods = set(methods_of(table, dataset))
    return [peer for peer in PEERS if peer in methods]


def difference(table: Table, dataset: str, one: str, other: str, value: str) -> tuple[float, float]:
    """The mean difference of a value between two methods over their common splits, and its standard error."""
    others = {record["split"]: record[value] for record in table[dataset, other, ALPHA]}
    differences = [
        record[value] - others[record["split"]]
        for record in table[dataset, one, ALPHA]
        if record["split"] in others and not math.isnan(record[value] - others[record["split"]])
    ]
    return mean(differences), standard_error(differences)
