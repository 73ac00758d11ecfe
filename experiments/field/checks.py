"""The required results of the collections."""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy.stats import norm

from ..records import Check, mean
from .datasets import by_slab, collection, rows
from .ours import DEFAULT, EVEN, FRONTIER, NARROW, SHORTEST
from .peers import PEERS
from .ranks import ERT, EVENNESS, SCORE, WIDTH, dominates, mean_ranks, score
from .table import ALPHA, METHODS, Table, difference, evenness, known_mean, peers_of, values

ONE_WIDTH = "mapie absolute"
ENOUGH_SPLITS = 2

# Target mean widths of `narrow` at 90%.
WIDTHS = {"bike": 0.48, "concrete": 0.41, "homes": 0.44, "casp": 1.28, "facebook_1": 0.70}

# Mean width and evenness at 90% that one of the goals must reach: coverage in the worst slab, or on energy the gap.
AIMS = {
    "bike": (0.545, 0.885),
    "homes": (0.480, 0.888),
    "facebook_1": (1.55, 0.898),
    "casp": (1.29, 0.893),
    "energy": (0.143, 0.067),
}

NARROWEST_SHARE = 0.9
FRONT_SHARE = 0.9
FALSE_ALARM = 0.01  # of the checks of coverage of a collection, by chance


def developed(table: Table, datasets: list[str]) -> list[Check]:
    """The checks of the collection on which widthwise was developed."""
    return [
        coverage_holds(table),
        narrow_is_narrowest(table, datasets),
        narrow_reaches(table, datasets),
        aims_reached(table, datasets),
        no_peer_dominates_all_goals(table, datasets),
        *(frontier_beats(table, name) for name in datasets),
    ]


def untouched(table: Table, datasets: list[str]) -> list[Check]:
    """The checks of the held-out collections, fixed before the third one was first run."""
    parts: dict[str, list[str]] = {}
    for name in datasets:
        parts.setdefault(collection(name), []).append(name)
    return [
        coverage_in_band(table),
        *(check(table, part, names, SCORE) for part, names in parts.items() for check in (ranks_first, separable)),
        *(check(table, part, names, ERT) for part, names in parts.items() for check in (ranks_first, separable)),
        default_on_the_front(table, datasets),
        narrow_is_mostly_narrowest(table, datasets),
    ]


def of_collection(table: Table, datasets: list[str], checks: Callable[[Table, list[str]], list[Check]]) -> list[Check]:
    """The required results. Few splits cannot distinguish similar methods; then only validity and order are checked."""
    if min(len(table[name, NARROW, ALPHA]) for name in datasets) < ENOUGH_SPLITS:
        return [coverage_holds(table), order_holds(table, datasets)]
    return checks(table, datasets)


def coverage_error(dataset: str, alpha: float, splits: int) -> float:
    """The standard error of coverage on m test rows after n calibration rows, over all splits.

    The variance is alpha (1 - alpha) (1 / n + 1 / m) for every method. This is more precise than the spread over a few
    splits.
    """
    part = rows(dataset) / 5  # rows that calibrate, and rows that test
    return math.sqrt(alpha * (1 - alpha) * 2 / part / splits)


def coverage_holds(table: Table) -> Check:
    """Coverage over all splits is at most three standard errors below the level."""
    failures = []
    for (dataset, method, alpha), records in table.items():
        error = coverage_error(dataset, alpha, len(records))
        coverage = mean([record["coverage"] for record in records])
        if method not in PEERS and coverage < 1 - alpha - 3 * error:
            failures.append(f"{dataset}, {method}, level {1 - alpha:g}: {coverage:.4f}, standard error {error:.4f}")
    return Check(
        "coverage of widthwise is not below its level by more than three standard errors, in every cell", failures
    )


def coverage_in_band(table: Table) -> Check:
    """Coverage is in the band that chance leaves in 99 of 100 collections; the rank is rounded up, by 1 / (n + 1)."""
    ours = {cell: records for cell, records in table.items() if cell[1] not in PEERS}
    bound = float(norm.isf(FALSE_ALARM / 2 / len(ours)))
    failures = []
    for (dataset, method, alpha), records in ours.items():
        error = coverage_error(dataset, alpha, len(records))
        above = mean([record["coverage"] for record in records]) - (1 - alpha)
        if not -bound * error <= above <= bound * error + 5 / rows(dataset):
            failures.append(f"{dataset}, {method}, level {1 - alpha:g}: {above:+.4f}, standard error {error:.4f}")
    return Check(
        f"coverage of widthwise differs from its level by at most {bound:.1f} standard errors, in every cell", failures
    )


def order_holds(table: Table, datasets: list[str]) -> Check:
    """narrow is narrower than even and constant width; even covers the worst slab better than constant width."""
    failures = []
    for dataset in datasets:
        widths = {name: mean(values(table, dataset, name, "width")) for name in (NARROW, EVEN, ONE_WIDTH)}
        if not widths[NARROW] < min(widths[EVEN], widths[ONE_WIDTH]):
            failures.append(f"{dataset}: " + ", ".join(f"{name} {width:.4f}" for name, width in widths.items()))
        slabs = {name: known_mean(table, dataset, name, "worst_slab") for name in (EVEN, ONE_WIDTH)}
        if by_slab(dataset) and not slabs[EVEN] > slabs[ONE_WIDTH]:
            failures.append(f"{dataset}, worst slab: {EVEN} {slabs[EVEN]:.3f}, {ONE_WIDTH} {slabs[ONE_WIDTH]:.3f}")
    return Check(
        "narrow is narrower than even and constant width; even covers the worst slab better than constant width",
        failures,
    )


def narrow_is_narrowest(table: Table, datasets: list[str]) -> Check:
    failures, ties = [], []
    for dataset in datasets:
        for peer in peers_of(table, dataset):
            gain, error = difference(table, dataset, peer, NARROW, "width")
            if gain < -error:
                failures.append(f"{dataset}: {peer} is narrower by {-gain:.4f}, standard error {error:.4f}")
            elif gain < error:
                ties.append(f"{peer} on {dataset}")
    named = f"; ties within a standard error: {', '.join(ties)}" if ties else "; no ties"
    ran = [len(peers_of(table, dataset)) for dataset in datasets]
    which = f"each of the {min(ran)} to {max(ran)} peers that ran"
    return Check(f"narrow is narrower than {which} at 90%, on every data set{named}", failures)


def narrow_reaches(table: Table, datasets: list[str]) -> Check:
    failures = []
    for dataset in datasets:
        width = mean(values(table, dataset, NARROW, "width"))
        if round(width, 3) > WIDTHS.get(dataset, math.inf):
            failures.append(f"{dataset}: {width:.3f}, target {WIDTHS[dataset]}")
    wanted = ", ".join(f"{name} {width:g}" for name, width in WIDTHS.items() if name in datasets)
    return Check(f"mean width of narrow at 90% is at most: {wanted}", failures)


def aims_reached(table: Table, datasets: list[str]) -> Check:
    """One of the goals, or `even` with the shortest intervals, is at most this wide and at least this even."""
    failures, wanted = [], []
    for dataset, (width, even) in AIMS.items():
        if dataset not in datasets:
            continue
        measure, sign = ("worst slab", 1) if by_slab(dataset) else ("gap", -1)
        wanted.append(f"{dataset} {width:g} with {measure} {even:g}")
        found = {
            goal: (known_mean(table, dataset, goal, "width"), known_mean(table, dataset, goal, evenness(dataset)))
            for goal in (*FRONTIER, SHORTEST)
            if (dataset, goal, ALPHA) in table
        }
        if not any(mine[0] <= width and sign * (mine[1] - even) >= 0 for mine in found.values()):
            failures.append(
                f"{dataset}: " + ", ".join(f"{goal} {mine[0]:.3f} / {mine[1]:.3f}" for goal, mine in found.items())
            )
    return Check(f"one of the goals, or {SHORTEST}, reaches at 90%: " + ", ".join(wanted), failures)


def no_peer_dominates_all_goals(table: Table, datasets: list[str]) -> Check:
    """No peer is both narrower and at least as even as every goal."""
    failures = [
        f"{dataset}: {peer}"
        for dataset in datasets
        for peer in peers_of(table, dataset)
        if all(dominates(table, dataset, peer, goal, EVENNESS) for goal in FRONTIER)
    ]
    return Check("no peer is both narrower and at least as even as every goal on a data set", failures)


def frontier_beats(table: Table, dataset: str) -> Check:
    """For each peer, one of our goals is narrower and as even, within one paired standard error."""
    slab = by_slab(dataset)
    sign = 1 if slab else -1  # more coverage in the worst slab is better, a larger gap worse
    failures = []
    for peer in peers_of(table, dataset):
        best = None
        for goal in FRONTIER:
            width, _ = difference(table, dataset, goal, peer, "width")
            gain, error = difference(table, dataset, goal, peer, evenness(dataset))
            if width < 0 and sign * gain >= -error:
                break
            if width < 0 and (best is None or sign * gain > best[1]):
                best = (goal, sign * gain, error)
        else:
            text = (
                f"{best[0]} is worse by {-best[1]:.3f} (standard error {best[2]:.3f})"
                if best
                else "no goal is narrower"
            )
            failures.append(f"{peer}: {text}")
    what = "covers the worst slab as well" if slab else "has no larger gap over deciles of width"
    return Check(f"{dataset}: for each peer, one goal is narrower and {what}, within a standard error", failures)


def ranks_first(table: Table, part: str, datasets: list[str], measure: str) -> Check:
    """No peer has a smaller mean rank than the default. Ranks are those of the page, where the goals are ranked too."""
    name = f"{part}: the default has a smaller mean rank by {measure} than every peer"
    if (found := mean_ranks(table, datasets, METHODS, measure)) is None or DEFAULT not in found.ranks:
        return Check(name, ["there are no mean ranks"])
    mine = found.ranks[DEFAULT]
    ahead = [goal for goal, rank in found.ranks.items() if goal not in PEERS and rank < mine]
    name += f": it has {mine:.2f}" + (f"; goals of widthwise with a smaller one: {', '.join(ahead)}" if ahead else "")
    return Check(name, [f"{peer}: {rank:.2f}" for peer, rank in found.ranks.items() if peer in PEERS and rank <= mine])


def separable(table: Table, part: str, datasets: list[str], measure: str) -> Check:
    """Nemenyi's test distinguishes the default from every peer with a rank, in favour of the default."""
    name = f"{part}: Nemenyi's test at 5% distinguishes the default by {measure} from every peer with a mean rank"
    if (found := mean_ranks(table, datasets, METHODS, measure)) is None or DEFAULT not in found.ranks:
        return Check(name, ["there are no mean ranks"])
    least = found.ranks[DEFAULT] + found.critical_difference
    return Check(
        f"{name}, which needs a rank of at least {least:.2f}",
        [f"{peer}: {rank:.2f}" for peer, rank in found.ranks.items() if peer in PEERS and rank < least],
    )


def default_on_the_front(table: Table, datasets: list[str]) -> Check:
    """No peer is both narrower and more even, by the ERT, than the default, except on a few data sets."""
    above = {
        dataset: [peer for peer in peers_of(table, dataset) if dominates(table, dataset, peer, DEFAULT)]
        for dataset in datasets
    }
    failures = [
        f"{dataset}: {peer} has width {score(table, dataset, peer, WIDTH):.4f} and ERT "
        f"{score(table, dataset, peer, ERT):.4f}, the default {score(table, dataset, DEFAULT, WIDTH):.4f} and "
        f"{score(table, dataset, DEFAULT, ERT):.4f}"
        for dataset, peers in above.items()
        for peer in peers
    ]
    reached = sum(not peers for peers in above.values())
    return Check(
        f"the default is on the Pareto front of width and ERT on at least {FRONT_SHARE:.0%} of the data sets, so that no "
        f"peer is both narrower and more even: {reached} of {len(datasets)}",
        failures if reached < FRONT_SHARE * len(datasets) else [],
    )


def narrow_is_mostly_narrowest(table: Table, datasets: list[str]) -> Check:
    failures = []
    for dataset in datasets:
        peer = min(peers_of(table, dataset), key=lambda method: score(table, dataset, method, WIDTH))
        apart, error = difference(table, dataset, peer, NARROW, "width")
        if apart < 0:
            failures.append(f"{dataset}: {peer} is narrower by {-apart:.4f}, standard error {error:.4f}")
    name = f"narrow is narrower than every peer on at least 90% of the data sets: {{}} of {len(datasets)}"
    reached = len(datasets) - len(failures)
    return Check(name.format(reached), failures if reached < NARROWEST_SHARE * len(datasets) else [])
