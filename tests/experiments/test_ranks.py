"""Statistics over the data sets: ranks, tests and fronts, compared with known values."""

import math

import numpy as np
import pytest

from experiments.field import equal_coverage, ranks, standing
from experiments.field.diagram import cliques
from experiments.field.table import by_cell


def table_of(widths, erts=None):
    """A table from widths by method and data set; ERTs are those given or constant."""
    return by_cell(
        [
            {
                "dataset": dataset,
                "method": method,
                "alpha": 0.1,
                "split": 0,
                "width": width,
                "interval_score": width,
                "worst_slab": 0.9,
                "gap": 0.05,
                "ert": erts[method] if erts else 0.0,
            }
            for method, by_dataset in widths.items()
            for dataset, width in by_dataset.items()
        ]
    )


SETS = ["yacht", "wine", "bike", "homes", "energy"]
WIDTHS = {
    "narrow": dict.fromkeys(SETS, 1.0),
    "ngboost": dict.fromkeys(SETS, 2.0),
    "mapie cqr": dict.fromkeys(SETS, 3.0),
    "gaussian net": {"yacht": 4.0},
}


def test_only_methods_with_all_data_sets_are_ranked():
    found = ranks.mean_ranks(table_of(WIDTHS), SETS, list(WIDTHS), ranks.WIDTH)
    assert found.ranks == {"narrow": 1, "ngboost": 2, "mapie cqr": 3}
    # Demsar (2006): q of Nemenyi's test for three methods at 5% is 2.343.
    assert found.critical_difference == pytest.approx(2.343 * (3 * 4 / 6 / 5) ** 0.5, abs=1e-3)
    assert found.p_value == pytest.approx(0.0067, abs=1e-4)
    assert cliques(found) == [(1, 2), (2, 3)]


def with_few_splits():
    """narrow and ngboost have two splits; mapie cqr has the first alone, on which it is narrower than ngboost."""
    table = table_of(WIDTHS)
    for name in SETS:
        for method, second in (("narrow", 1.0), ("ngboost", 0.5), ("gaussian net", 1.0)):
            if records := table.get((name, method, 0.1)):
                first = {**records[0], "width": {"ngboost": 4.0}.get(method, records[0]["width"])}
                table[name, method, 0.1] = [first, {**records[0], "split": 1, "width": second}]
    return table


def test_methods_are_compared_on_the_splits_that_all_of_them_have():
    table = with_few_splits()
    assert ranks.mean_ranks(table, SETS, list(WIDTHS), ranks.WIDTH).ranks == {"narrow": 1, "mapie cqr": 2, "ngboost": 3}
    assert ranks.compare(table, SETS, "ngboost", "mapie cqr", ranks.WIDTH).losses == 5
    assert ranks.compare(table, SETS, "ngboost", "narrow", ranks.WIDTH).losses == 5
    assert ranks.dominates(table, "bike", "mapie cqr", "ngboost")
    here = ranks.shared(table, "bike", ["ngboost", "mapie cqr", "absent"])
    assert {method: len(records) for (_, method, _), records in here.items()} == {"ngboost": 1, "mapie cqr": 1}
    assert ranks.shared(table, "bike", ["absent"]) == {}


def test_the_page_names_the_peers_that_dominate_a_goal():
    text = standing.dominated_table(table_of({**WIDTHS, "even": {"bike": 2.5}}), ["bike"])
    assert "| bike | ngboost, 1 split: 2.000 / 0.900 | even 2.500 / 0.900 | even |" in text
    assert "mapie cqr" not in text


def test_less_than_two_data_sets_have_no_ranks():
    assert ranks.mean_ranks(table_of(WIDTHS), ["yacht"], list(WIDTHS), ranks.WIDTH) is None


def test_comparisons_count_data_sets_and_test_them():
    table = table_of(WIDTHS)
    found = ranks.compare(table, SETS, "narrow", "ngboost", ranks.WIDTH)
    assert (found.wins, found.losses, found.p_value) == (5, 0, 0.0625)
    assert ranks.compare(table, SETS, "narrow", "ngboost", ranks.ERT) == ranks.Comparison(0, 0, 1.0)
    assert ranks.compare(table, SETS, "narrow", "gaussian net", ranks.WIDTH).wins == 1
    assert ranks.compare(table, SETS, "narrow", "absent", ranks.WIDTH) is None


def test_holm_multiplies_by_the_tests_that_are_left():
    assert ranks.holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert ranks.holm([0.9, 0.8]) == [1, 1] and ranks.holm([]) == []


def test_the_front_holds_what_no_other_method_dominates():
    erts = {"narrow": 0.03, "ngboost": 0.01, "mapie cqr": 0.02, "gaussian net": 0.0}
    table = table_of(WIDTHS, erts)
    assert ranks.front(table, "yacht", list(WIDTHS)) == ["narrow", "ngboost", "gaussian net"]
    assert ranks.dominates(table, "yacht", "ngboost", "mapie cqr")
    assert not ranks.dominates(table, "yacht", "ngboost", "ngboost")


def test_widths_are_compared_at_equal_coverage():
    """Widths that grow with coverage, of a method that covers more by chance and is a tenth narrower at equal coverage."""
    draws = np.random.default_rng(0).normal(0.9, 0.01, (2, 8)) + [[0.01], [0]]
    table = {
        ("homes", method, 0.1): [
            {"split": split, "coverage": at, "width": factor * math.exp(5 * at)} for split, at in enumerate(coverages)
        ]
        for method, factor, coverages in zip(("narrow", "mapie absolute"), (0.9, 1), draws, strict=True)
    }
    found = equal_coverage.compare(table, "homes", "narrow", "mapie absolute")
    assert found.splits == 8 and found.coverages[0] > found.coverages[1]
    assert found.at_equal_coverage == pytest.approx(0.9) and found.ratio > 0.91
    assert found.standard_error == pytest.approx(0, abs=1e-9)
    same = {cell: [record | {"coverage": 0.9} for record in records] for cell, records in table.items()}
    found = equal_coverage.compare(same, "homes", "narrow", "mapie absolute")
    assert found.at_equal_coverage == pytest.approx(found.ratio) and found.standard_error > 0
