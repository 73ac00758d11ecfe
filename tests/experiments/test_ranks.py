"""Statistics over the data sets: ranks, tests and fronts, compared with known values."""

import pytest

from experiments.field import ranks
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
