"""Randomly localised calibration: its guarantee by simulation, its quantiles, and the page."""

import math

import numpy as np
import pytest
from test_paper import CIRCUMSTANCES

from experiments import records
from experiments.field.protocol import Split
from experiments.field.table import by_cell
from experiments.localised import report, rlcp, suite


def covered_rows(repetitions, kernel, rows=30, level=0.8):
    """The number of repetitions whose new row is covered; errors grow with the key, and keys are skewed."""
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(repetitions):
        keys = random.exponential(size=(rows + 1, 1))
        scores = keys[:, 0] ** 2 * np.abs(random.normal(size=rows + 1))
        centre = rlcp.draw_centres(keys[-1:], kernel, 0.5, random)
        weight = rlcp.weights(centre, keys[:-1], kernel, 0.5)
        own = rlcp.own_weights(centre, keys[-1:], kernel, 0.5)
        covered += scores[-1] <= rlcp.quantiles(weight, own, scores[:-1], [level])[0, 0]
    return covered


@pytest.mark.parametrize("kernel", ["gaussian", "box"])
def test_marginal_coverage_is_at_least_the_level(kernel):
    repetitions, level = 6_000, 0.8
    # Five standard errors below the level: chance fails once in millions of seeds.
    least = repetitions * level - 5 * math.sqrt(repetitions * level * (1 - level))
    assert covered_rows(repetitions, kernel, level=level) >= least


def test_equal_weights_give_the_usual_quantile():
    scores = np.random.default_rng(1).normal(size=99)
    found = rlcp.quantiles(np.ones((2, 99)), np.ones(2), scores, [0.5, 0.9, 0.995])
    usual = [np.sort(scores)[49], np.sort(scores)[89], math.inf]
    np.testing.assert_array_equal(found, [usual, usual])


def test_tied_scores_count_together():
    weight = np.array([[0.4, 0.1, 0.4]])
    found = rlcp.quantiles(weight, np.array([0.1]), np.array([2.0, 1.0, 2.0]), [0.1, 0.11, 0.9, 0.91])
    np.testing.assert_array_equal(found, [[1, 2, 2, math.inf]])


def test_a_new_row_far_from_all_others_has_an_infinite_quantile():
    new, keys = np.array([[100.0]]), np.zeros((50, 1))
    weight = rlcp.weights(new, keys, "gaussian", 1.0)
    own = rlcp.own_weights(new, new, "gaussian", 1.0)
    assert rlcp.quantiles(weight, own, np.arange(50.0), [0.5])[0, 0] == math.inf


@pytest.mark.parametrize("kernel", ["gaussian", "box"])
def test_own_weights_are_the_kernel_between_a_row_and_its_centre(kernel):
    keys = np.random.default_rng(2).normal(size=(20, 3))
    centres = rlcp.draw_centres(keys, kernel, 0.3, np.random.default_rng(3))
    between = rlcp.weights(centres, keys, kernel, 0.3)
    np.testing.assert_allclose(rlcp.own_weights(centres, keys, kernel, 0.3), np.diag(between))


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_the_bandwidth_gives_the_effective_sample_size(share):
    random = np.random.default_rng(4)
    keys = random.normal(size=(3000, 2))
    bandwidth = rlcp.choose_bandwidth(keys, "gaussian", share, random)
    centres = rlcp.draw_centres(keys[:500], "gaussian", bandwidth, random)
    effective = rlcp.effective_rows(rlcp.weights(centres, keys, "gaussian", bandwidth))
    assert np.median(effective) == pytest.approx(share * 3000, rel=0.25)


def made_up_records(slab_of_localised):
    """Goals on a line from narrow to even, and localised calibration whose width is between those of 0.5 and 0.85."""
    found = []
    for dataset, count in suite.SPLITS.items():
        for split in range(count):
            for place, goal in enumerate(suite.GOALS):
                found.append(record_of(dataset, goal, split, 1 + place / 10, 0.8 + place / 50))
            for base in suite.BASES[1:3]:
                method = f"{base}, {suite.Variant('difficulty', 5)}"
                about = {"effective_rows": 100.0, "effective_rows_low": 10.0}
                found.append(record_of(dataset, method, split, 1.15, slab_of_localised) | about)
    return found


def record_of(dataset, method, split, width, slab):
    chance = 0.001 * (split % 2) * (1 if "difficulty" in method else -1)  # so that differences have a standard error
    measures = {
        "coverage": 0.9,
        "worst_slab": slab + chance,
        "ert": 1 - slab + chance,
        "gap_by_prediction": 0.1 + chance,
    }
    more = {"gap": 0.1, "infinite": 0.0}
    return {"dataset": dataset, "method": method, "split": split, "alpha": 0.1, "width": width, **measures, **more}


@pytest.mark.parametrize(("slab", "common"), [(0.9, True), (0.83, False), (0.7, False)])
def test_the_page_concludes_from_the_records(tmp_path, slab, common):
    records.write(tmp_path / "localised.csv.gz", made_up_records(slab))
    records.write_environment(tmp_path / "localised.csv.gz", CIRCUMSTANCES)
    assert all(check.passed for check in report.write(tmp_path))
    text = " ".join((tmp_path / "localised.md").read_text().split())
    assert "nan" not in text
    assert (
        "on all data sets, by worst slab and by ERT: narrow, difficulty 1/5; evenness 0.85, difficulty 1/5." in text
    ) == common


def test_goals_are_interpolated_to_the_width_of_a_method():
    table = by_cell(made_up_records(0.9))
    method = f"{suite.DEFAULT}, difficulty 1/5"
    parts = report.mixture(table, "bike", method, "worst_slab")
    assert parts == pytest.approx({suite.HALF: 0.5, suite.DEFAULT: 0.5})
    assert report.gain_over_goals(table, "bike", method, "worst_slab").value == pytest.approx(0.07, abs=0.002)


def made_up_split():
    """300 rows each to fit, to calibrate and to test; errors grow with the first column."""
    random = np.random.default_rng(0)
    X = random.uniform(0, 4, (900, 2))
    f = 5 + X[:, 0]
    y = f + 0.3 * X[:, 0] * random.normal(size=900)
    fit, cal, test = (slice(start, start + 300) for start in (0, 300, 600))
    return Split(X[fit], y[fit], f[fit], X[cal], y[cal], f[cal], X[test], y[test], f[test], base=None, seed=0)


def test_every_base_is_measured_with_and_without_localised_calibration():
    split = made_up_split()
    localizers = dict.fromkeys(suite.GOALS, suite.fit_goal(split, 0.85))
    variants = [suite.Variant("both", 5), suite.Variant("features", 5, "box"), suite.Variant("prediction", 5, None)]
    found = list(suite.measured(split, localizers, variants))
    assert len({record["method"] for record in found}) == len(found) == len(suite.GOALS) + 1 + 2 * len(suite.BASES) + 2
    for record in found:
        assert abs(record["coverage"] - 0.9) < 4.5 * math.sqrt(0.09 * 2 / 300), record["method"]
        assert record["key"] == "none" or 20 < record["effective_rows"] < 150
