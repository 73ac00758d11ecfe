"""Statistics over the data sets of a collection: ranks, tests and Pareto fronts. Smaller scores are better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range, wilcoxon

from .datasets import by_slab
from .table import ALPHA, Table, known_mean, methods_of

WIDTH, SCORE, CRPS, ERT, EVENNESS = "width", "interval score", "crps", "ert", "evenness"
MEASURES = (WIDTH, SCORE, CRPS, ERT, EVENNESS)
SIGNIFICANCE = 0.05


def shared(table: Table, dataset: str, methods: Sequence[str]) -> Table:
    """The records of methods on a data set at 90%, of the splits that all of them have.

    Slow methods have only the first splits of large data sets; means over other splits are not comparable with theirs.
    """
    found = {method: table[dataset, method, ALPHA] for method in methods if (dataset, method, ALPHA) in table}
    splits = (
        set.intersection(*({record["split"] for record in records} for records in found.values())) if found else set()
    )
    return {
        (dataset, method, ALPHA): [record for record in records if record["split"] in splits]
        for method, records in found.items()
    }


def score(table: Table, dataset: str, method: str, measure: str) -> float:
    """A measure at 90%, or the CRPS of all levels, averaged over the splits; NaN if the method was not run or the measure not taken."""
    if method not in methods_of(table, dataset):
        return math.nan
    if measure == EVENNESS:  # more coverage in the worst slab is better
        return (
            -known_mean(table, dataset, method, "worst_slab")
            if by_slab(dataset)
            else known_mean(table, dataset, method, "gap")
        )
    return known_mean(table, dataset, method, measure.replace(" ", "_"))


def _has(table: Table, dataset: str, method: str, measure: str) -> bool:
    return not math.isnan(score(table, dataset, method, measure))


@dataclass(frozen=True)
class Ranks:
    """Mean ranks of the methods that were run on all data sets of a collection, from the best to the worst.

    Attributes
    ----------
    ranks : mean ranks by method
    datasets : the number of data sets
    p_value : of Friedman's test that all methods rank alike
    critical_difference : mean ranks that differ by less are not distinguished by Nemenyi's test at 5%
    """

    ranks: dict[str, float]
    datasets: int
    p_value: float
    critical_difference: float


def mean_ranks(table: Table, datasets: Sequence[str], methods: Sequence[str], measure: str) -> Ranks | None:
    """Rank the methods by a measure on every data set that has it; None if that is not possible.

    Ranked are the methods that have the measure on all of these data sets, on the splits that all of them have.
    """
    known = {name: {method for method in methods if _has(table, name, method, measure)} for name in datasets}
    known = {name: measured for name, measured in known.items() if measured}
    names = [method for method in methods if all(method in measured for measured in known.values())]
    count, k = len(known), len(names)
    if count < 2 or k < 3:
        return None
    tables = {name: shared(table, name, names) for name in known}
    values = np.array([[score(tables[name], name, method, measure) for method in names] for name in known])
    ranks = rankdata(values, axis=1).mean(axis=0)
    order = np.argsort(ranks, kind="stable")
    quantile = studentized_range.ppf(1 - SIGNIFICANCE, k, np.inf) / math.sqrt(2)
    return Ranks(
        {names[place]: float(ranks[place]) for place in order},
        count,
        float(friedmanchisquare(*values.T).pvalue) if np.ptp(values, axis=1).any() else 1.0,
        float(quantile * math.sqrt(k * (k + 1) / (6 * count))),
    )


@dataclass(frozen=True)
class Comparison:
    """One method against another over the data sets that both have: wins, losses, and a signed-rank test."""

    wins: int
    losses: int
    p_value: float


def compare(table: Table, datasets: Sequence[str], one: str, other: str, measure: str) -> Comparison | None:
    """Compare two methods with Wilcoxon's signed-rank test, on the splits that both have; None without data sets.

    Widths, interval scores and the CRPS are compared by their ratio, because their units differ between data sets.
    """
    tables = {name: shared(table, name, (one, other)) for name in datasets}
    pairs = [tuple(score(tables[name], name, method, measure) for method in (one, other)) for name in datasets]
    pairs = [pair for pair in pairs if not any(map(math.isnan, pair))]
    if not pairs:
        return None
    ratio = measure in (WIDTH, SCORE, CRPS)
    differences = [math.log(mine / theirs) if ratio else mine - theirs for mine, theirs in pairs]
    p_value = float(wilcoxon(differences).pvalue) if any(differences) else 1.0
    return Comparison(sum(value < 0 for value in differences), sum(value > 0 for value in differences), p_value)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction of p-values for the number of tests."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def dominates(table: Table, dataset: str, one: str, other: str, evenness: str = ERT) -> bool:
    """Whether a method is not wider and not less even than another, and better in one of both, on their common splits."""
    here = shared(table, dataset, (one, other))
    pairs = [
        (score(here, dataset, one, measure), score(here, dataset, other, measure)) for measure in (WIDTH, evenness)
    ]
    return all(mine <= theirs for mine, theirs in pairs) and any(mine < theirs for mine, theirs in pairs)


def front(table: Table, dataset: str, methods: Sequence[str]) -> list[str]:
    """The methods that no other one dominates in width and ERT, from the narrowest to the most even."""
    known = [method for method in methods if not math.isnan(score(table, dataset, method, ERT))]
    best = [method for method in known if not any(dominates(table, dataset, other, method) for other in known)]
    return sorted(best, key=lambda method: score(table, dataset, method, WIDTH))
