"""Sections of the page over all data sets: who is narrowest and most even, mean ranks, and tests against each peer."""

from __future__ import annotations

import math

from ..records import markdown_table, paragraph
from .ours import DEFAULT, EVEN, FRONTIER, NARROW, SHORTEST
from .peers import PEERS
from .ranks import (
    CRPS,
    ERT,
    EVENNESS,
    MEASURES,
    SCORE,
    WIDTH,
    compare,
    dominates,
    front,
    holm,
    mean_ranks,
    score,
    shared,
)
from .table import ALPHA, METHODS, Table, evenness, has, known_mean, methods_of, peers_of

TESTED = (DEFAULT, EVEN, NARROW)

Parts = dict[str, list[str]]  # the data sets of a page, by the collection that they belong to


def sections(table: Table, datasets: list[str], parts: Parts, picture: str) -> list[str]:
    """The sections; those that need measures or data sets that the records do not have are left out.

    With more than one part, the mean ranks are also those of each part.
    """
    found = []
    if any(front(table, name, METHODS) for name in datasets):
        found += ["## Who is narrowest, who is most even", leaders(table, datasets), LEADERS]
        found += ["## Peers that dominate a goal", dominated_table(table, datasets), DOMINATED]
    if mean_ranks(table, datasets, METHODS, WIDTH):
        found += ["## Mean ranks", rank_table(table, datasets), RANKS, f"![Mean ranks]({picture})"]
        for part, names in parts.items() if len(parts) > 1 else ():
            if mean_ranks(table, names, METHODS, WIDTH):
                found += [f"### Mean ranks on the {part}, {len(names)} data sets", rank_table(table, names)]
        found += ["## Tests against each peer", *(test_table(table, datasets, goal) for goal in TESTED), TESTS]
    return found


LEADERS = paragraph(
    "Means at 90% over the splits that all methods of a data set have, among the four goals and all peers; goals of "
    "widthwise are in bold. The front holds the methods for which no other one is both narrower and more even, by the ERT, from "
    "the narrowest to the most even. The last column names the methods that are both narrower and more even than the default."
)


def leaders(table: Table, datasets: list[str]) -> str:
    """The narrowest and the most even method of each data set, and the front between them."""
    rows = []
    for name in datasets:
        measured = [method for method in METHODS if method in methods_of(table, name)]
        here = shared(table, name, measured)
        best = {measure: _best(here, name, measured, measure) for measure in (WIDTH, ERT, EVENNESS)}
        above = [method for method in measured if dominates(here, name, method, DEFAULT)]
        rows.append(
            [
                name,
                *best.values(),
                ", ".join(map(_marked, front(here, name, measured))),
                ", ".join(map(_marked, above)) or "on the front",
            ]
        )
    header = ["", "narrowest", "most even by ERT", "most even by slab or gap", "front", "default"]
    return markdown_table(header, rows)


DOMINATED = paragraph(
    "Peers that are not wider and not less even than a goal at 90%, and better in one of both, on the splits that both "
    "have: by the worst slab, or the gap on small data sets, and by the ERT. Cells of the second and third column are "
    "mean width / coverage in the worst slab, or gap."
)


def dominated_table(table: Table, datasets: list[str]) -> str:
    """The peers that dominate any goal on a data set, with the figures of both."""
    rows = []
    for name in datasets:
        goals = [goal for goal in (*FRONTIER, SHORTEST) if goal in methods_of(table, name)]
        for peer in peers_of(table, name):
            by_slab_or_gap = [goal for goal in goals if dominates(table, name, peer, goal, EVENNESS)]
            by_ert = [goal for goal in goals if dominates(table, name, peer, goal)]
            if by_slab_or_gap or by_ert:
                here = shared(table, name, (peer, *goals))
                splits = len(here[name, peer, ALPHA])
                rows.append(
                    [
                        name,
                        f"{peer}, {splits} split{'s' if splits > 1 else ''}: {_width_and_evenness(here, name, peer)}",
                        "; ".join(f"{goal} {_width_and_evenness(here, name, goal)}" for goal in by_slab_or_gap),
                        "; ".join(by_ert),
                    ]
                )
    return markdown_table(["", "peer", "dominates by slab or gap", "dominates by ERT"], rows)


def _width_and_evenness(table: Table, dataset: str, method: str) -> str:
    return f"{known_mean(table, dataset, method, 'width'):.3f} / {known_mean(table, dataset, method, evenness(dataset)):.3f}"


def _best(table: Table, dataset: str, methods: list[str], measure: str) -> str:
    known = {method: found for method in methods if not math.isnan(found := score(table, dataset, method, measure))}
    return _marked(min(known, key=lambda method: known[method])) if known else ""


def _marked(method: str) -> str:
    return f"**{method}**" if method in FRONTIER else method


RANKS = paragraph(
    "Rank 1 is the narrowest or most even method of a data set. Methods that were not run on every data set have no "
    "rank. On each data set, methods are compared on the splits that all ranked methods have: the first 5 where slow "
    "methods have only these. `evenness` is the worst slab, or the gap on small data sets. In the picture, bars join methods that Nemenyi's "
    "test at 5% does not distinguish."
)


def rank_table(table: Table, datasets: list[str]) -> str:
    """Mean ranks by every measure, in the order of the ranks by width."""
    ranks = {measure: mean_ranks(table, datasets, METHODS, measure) for measure in MEASURES}
    known = {measure: found for measure, found in ranks.items() if found}
    methods = list(dict.fromkeys(method for found in known.values() for method in found.ranks))
    rows = [
        [_marked(method), *(f"{found.ranks[method]:.2f}" if method in found.ranks else "" for found in known.values())]
        for method in methods
    ]
    rows.append(["critical difference", *(f"{found.critical_difference:.2f}" for found in known.values())])
    rows.append(["p-value of Friedman's test", *(f"{found.p_value:.2g}" for found in known.values())])
    return markdown_table(["", *known], rows)


TESTS = paragraph(
    "Cells are data sets on which the goal is better and worse than the peer, and the p-value of Wilcoxon's signed-rank "
    "test over the data sets, with Holm's correction for the number of peers. On each data set, both are compared on the "
    "splits that both have."
)


def test_table(table: Table, datasets: list[str], goal: str) -> str:
    """One goal against every peer by width, interval score, ERT and, if the records have it, CRPS."""
    peers = [peer for peer in PEERS if any(peer in methods_of(table, name) for name in datasets)]
    measures = [WIDTH, SCORE, *([CRPS] if any(has(table, name, CRPS) for name in datasets) else []), ERT]
    columns = []
    for measure in measures:
        found = {peer: result for peer in peers if (result := compare(table, datasets, goal, peer, measure))}
        adjusted = dict(zip(found, holm([result.p_value for result in found.values()]), strict=True))
        columns.append(
            [
                f"{found[peer].wins} : {found[peer].losses}, p {adjusted[peer]:.2g}" if peer in found else ""
                for peer in peers
            ]
        )
    rows = [[peer, *cells] for peer, *cells in zip(peers, *columns, strict=True)]
    return markdown_table([f"**{goal}** and", *measures], rows)
