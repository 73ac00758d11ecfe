"""The documents show tables and the picture of the comparison, and their claims agree with its records."""

import math
from functools import cache
from pathlib import Path

import pytest

from experiments import records
from experiments.field import checks, costs, ranks, standing, untouched
from experiments.field.datasets import DEVELOPED, by_slab
from experiments.field.ours import FRONTIER, NARROW
from experiments.field.peers import PEERS
from experiments.field.table import by_cell, difference, known_mean, methods_of, peers_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results"


COUNTS = {6: "six", 7: "seven", 13: "13", 14: "14", 15: "15", 16: "sixteen"}


@cache
def table_of(stem):
    return by_cell(records.read(RESULTS / f"{stem}.csv.gz"))


def text_of(name):
    """A document of the repository in one line."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def section(name, heading):
    """The first table of a section of a page of results."""
    page = (RESULTS / name).read_text(encoding="utf-8")
    return tables_of(page[page.index(f"## {heading}\n") :])[0]


def tables_of(text):
    """The tables of a Markdown text: consecutive lines that begin with a bar, with single blanks."""
    table, tables = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            table.append(" ".join(line.split()))
        elif table:
            tables.append("\n".join(table))
            table = []
    return tables


@pytest.mark.skipif(not (RESULTS / "field.md").exists(), reason="the comparison was not run yet")
def test_the_page_has_the_table_and_the_picture_of_the_results():
    comparison = (ROOT / "docs/other-libraries.md").read_text(encoding="utf-8")
    page = (RESULTS / "field.md").read_text(encoding="utf-8")
    in_short = page[page.index("## In short") :]
    assert tables_of(in_short)[0] in tables_of(comparison)
    assert "experiments/results/field.png" in comparison


@pytest.mark.parametrize(
    ("document", "heading"),
    [
        ("other-libraries.md", "Peers that dominate a goal"),
        ("choosing.md", "Training time of the goals"),
        ("choosing.md", "Shortest and central intervals"),
    ],
)
def test_documents_have_the_tables_of_the_results(document, heading):
    assert section("field.md", heading) in tables_of((ROOT / "docs" / document).read_text(encoding="utf-8"))


def test_performance_has_the_widths_of_the_records():
    performance = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    assert costs.width_table(table_of("field"), list(DEVELOPED)) in performance


def test_pages_have_the_tables_of_the_records():
    for stem, datasets in (("field", DEVELOPED), ("field_untouched", recorded_sets())):
        table, page = table_of(stem), (RESULTS / f"{stem}.md").read_text(encoding="utf-8")
        for made in (
            standing.rank_table(table, list(datasets)),
            standing.dominated_table(table, list(datasets)),
            *costs.sections(table, list(datasets)),
        ):
            assert made in page, (
                "run `python -m experiments.field --report` and the same of `experiments.field.untouched`"
            )


def test_the_comparison_says_how_many_methods_ran():
    table, comparison = table_of("field"), text_of("docs/other-libraries.md")
    ran = {name: len(peers_of(table, name)) for name in DEVELOPED}
    assert max(ran.values()) == 16 <= len(PEERS)  # later peers are not in the records yet
    names = {count: " and ".join(sorted(name for name in ran if ran[name] == count)) for count in set(ran.values())}
    assert (
        f"All sixteen methods ran on {names[16]}, 15 on {names[15]}, 14 on {names[14]}, and 13 on {names[13]}"
        in comparison
    )


def test_the_comparison_says_what_narrow_is_narrower_than():
    """By the means of the records, on the splits that both have. Methods that did not run on a data set do not count."""
    table, comparison, readme = table_of("field"), text_of("docs/other-libraries.md"), text_of("README.md")
    ran, narrower, ties = [], 0, []
    for name in DEVELOPED:
        peers = peers_of(table, name)
        ran.append(len(peers))
        above = {peer: difference(table, name, peer, NARROW, "width") for peer in peers}
        ties += [(peer, name) for peer, (gap, error) in above.items() if gap < error]
        width = known_mean(table, name, NARROW, "width")
        as_narrow = [peer for peer in peers if f"{known_mean(table, name, peer, 'width'):.3f}" == f"{width:.3f}"]
        narrower += not as_narrow
        for peer, (gap, _) in above.items():
            assert gap > 0, f"{peer} is narrower on {name}"
        for peer in as_narrow:
            assert f"on {name} {peer} is as narrow: {width:.3f}" in comparison.lower()
        for goal in FRONTIER:
            if round(other := known_mean(table, name, goal, "width"), 3) < round(width, 3):
                assert f"On {name} our own {goal} is narrower still: {other:.3f}." in comparison
    sets = "every data set" if narrower == len(ran) else f"{COUNTS[narrower]} of the {COUNTS[len(ran)]} data sets"
    for text in (comparison, readme):
        assert f"narrower than each of the {min(ran)} to {max(ran)} methods that ran, on {sets}" in text
        assert f"{COUNTS[max(ran)]} other methods" in text
    assert sorted(ties) == [("conformal tights", "energy"), ("ngboost", "community"), ("ngboost", "energy")]
    assert "those to NGBoost on community and energy, and to conformal tights on energy" in comparison


def test_readme_says_how_much_narrower_narrow_is():
    table = table_of("field")
    gains = {}
    for name in ("casp", "facebook_1"):
        here = {peer: ranks.shared(table, name, (NARROW, peer)) for peer in peers_of(table, name)}
        gains[name] = min(
            1 - known_mean(t, name, NARROW, "width") / known_mean(t, name, p, "width") for p, t in here.items()
        )
    assert f"by {gains['casp']:.0%} on casp and {gains['facebook_1']:.0%} on facebook_1" in text_of("README.md")


def test_the_comparison_says_what_goals_cover_in_the_worst_slab():
    table, comparison = table_of("field"), text_of("docs/other-libraries.md")
    large = [name for name in DEVELOPED if by_slab(name)]

    def span(goal):
        slabs = [known_mean(table, name, goal, "worst_slab") for name in large]
        return f"{min(slabs):.1%} to {max(slabs):.1%}"

    assert f"evenness 0.85, covers {span('evenness 0.85')} in the worst slab of the four large data sets" in comparison
    assert f"`even` covers {span('even')}" in comparison
    for name in ("homes", "facebook_1"):
        assert f"{known_mean(table, name, NARROW, 'worst_slab'):.0%} in the worst slab of {name}" in comparison


def test_no_peer_dominates_all_goals_as_the_comparison_says():
    assert checks.no_peer_dominates_all_goals(table_of("field"), list(DEVELOPED)).passed
    found = checks.no_peer_dominates_all_goals(table_of("field_untouched"), list(untouched.DATASETS)).failures
    assert found == ["abalone: quantile forest cqr"]
    assert "On abalone the quantile forest is also as even as every goal of widthwise or more even" in text_of(
        "docs/other-libraries.md"
    )


def recorded_sets():
    """The held-out data sets that have records; those of the third collection have none yet."""
    return [name for name in untouched.DATASETS if (name, "even", 0.1) in table_of("field_untouched")]


def test_the_comparison_says_what_held_out_data_sets_show():
    table, datasets = table_of("field_untouched"), recorded_sets()
    comparison = text_of("docs/other-libraries.md")
    first = [
        ranks.mean_ranks(table, datasets, standing.METHODS, measure)
        for measure in (ranks.SCORE, ranks.ERT, ranks.EVENNESS)
    ]
    assert [next(iter(found.ranks)) for found in first] == ["even"] * 3
    score, ert, evenness = (f"{found.ranks['even']:.1f}" for found in first)
    assert f"by interval score ({score}), ERT ({ert}) and worst slab or gap ({evenness})" in comparison
    width = ranks.mean_ranks(table, datasets, standing.METHODS, ranks.WIDTH).ranks
    assert f"({width['even']:.1f} and {width['evenness 0.85']:.1f})" in comparison
    known = [name for name in datasets if not math.isnan(known_mean(table, name, "evenness 0.85", "ert"))]
    above = {
        name: [other for other in methods_of(table, name) if ranks.dominates(table, name, other, "evenness 0.85")]
        for name in known
    }
    peers = {name: [peer for peer in found if peer in PEERS] for name, found in above.items()}
    front = sum(not found for found in peers.values())
    assert f"on {front} of the {len(known)} data sets with enough rows for the ERT" in comparison
    assert len(peers["wine"]) == 11 and "on wine this holds for eleven methods" in comparison


def test_training_times_in_sentences_are_those_of_the_table():
    times = {
        stem: [
            costs.span(costs.seconds_ratios(table_of(stem), datasets, "even", "evenness 0.85", with_base=with_base))
            for with_base in (False, True)
        ]
        for stem, datasets in (("field", DEVELOPED), ("field_untouched", recorded_sets()))
    }
    (alone, whole), (held_out, whole_held_out) = times["field"], times["field_untouched"]
    comparison, notes = text_of("docs/other-libraries.md"), text_of("experiments/NOTES.md")
    assert (
        f"[{alone} times](choosing.md#even-or-narrow) as long on the known data sets and {held_out} times" in comparison
    )
    assert f"together {whole} and {whole_held_out} times" in comparison
    assert f"takes {alone} times as long without the base model, {whole} times with it" in notes


def test_choosing_compares_base_models_on_the_same_splits():
    quantiles = records.select(records.read(RESULTS / "quantiles.csv.gz"), dataset="bike", method="even")
    splits = {record["split"] for record in quantiles}
    points = [record["width"] for record in table_of("field")["bike", "even", 0.1] if record["split"] in splits]
    assert len(splits) == len(points) == 3
    around = [records.mean(widths) for widths in ([record["width"] for record in quantiles], points)]
    assert (
        f"on three splits of bike, `even` has a mean width of {around[0]:.3f} around these quantiles and of {around[1]:.3f} "
        "around 400 trees for the median"
    ) in text_of("docs/choosing.md")
