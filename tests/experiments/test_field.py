"""The protocol of the field, our methods and the page, on small synthetic data; CI also makes a quick run."""

import math

import numpy as np
import pytest

from experiments import records
from experiments.data import Dataset
from experiments.field import ours, report
from experiments.field.peers import PEERS
from experiments.field.protocol import LEVELS, decile_gap, make_split, measure
from experiments.field.table import by_cell
from widthwise import Localizer


@pytest.fixture(scope="module")
def split():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (1500, 2))
    y = 5 + X[:, 0] + 0.3 * X[:, 0] * rng.normal(size=1500)
    return make_split(Dataset("made up", ["a", "b"], "y", X, y), 0)


def test_a_split_keeps_its_rows_apart(split):
    assert [len(split.y_fit), len(split.y_cal), len(split.y_test)] == [900, 300, 300]
    rows = np.concatenate([split.X_fit, split.X_cal, split.X_test])
    assert len(np.unique(rows, axis=0)) == 1500
    assert np.abs(split.y_fit).mean() == pytest.approx(1)
    in_sample = np.abs(split.y_fit - split.base.predict(split.X_fit)).mean()
    assert np.abs(split.y_fit - split.oof).mean() > 1.1 * in_sample


def test_our_rows_are_valid_and_nested(split):
    found = {name: (intervals, seconds) for name, intervals, seconds in ours.methods(split, "trees")}
    assert set(ours.FRONTIER) <= set(found)
    for name, (intervals, seconds) in found.items():
        assert intervals.shape == (300, 2, len(LEVELS)) and seconds > 0
        for record, level in zip(measure(split, intervals), LEVELS, strict=True):
            # 300 rows calibrate, 300 test.
            assert abs(record["coverage"] - level) < 4.5 * math.sqrt(level * (1 - level) * 2 / 300), name
        assert (np.diff(intervals[:, 1], axis=1) >= 0).all(), name


def test_the_mean_of_a_localizer_with_itself_is_that_localizer(split):
    for two_sided in (False, True):
        localizer = Localizer(goal="narrow", two_sided=two_sided, n_jobs=1, compare=False)
        localizer.fit(split.X_fit, split.y_fit, split.oof)
        averaged = ours.averaged_intervals(split, localizer, localizer)
        assert averaged == pytest.approx(ours.intervals_of(split, localizer), abs=1e-9)


def test_intervals_are_cut_to_what_was_seen_and_never_negative(split):
    crossed = np.stack([np.full((300, 3), 9.0), np.full((300, 3), -9.0)], axis=1)
    assert [record["width"] for record in measure(split, crossed)] == [0, 0, 0]
    wide = np.stack([np.full((300, 3), -1e6), np.full((300, 3), math.inf)], axis=1)
    for record in measure(split, wide):
        assert record["width"] == pytest.approx(split.y_fit.max() - split.y_fit.min())


def test_the_gap_orders_equal_widths_by_the_prediction():
    covered = np.arange(100) < 90  # all misses at the largest predictions
    predictions = np.arange(100.0)
    assert decile_gap(np.ones(100), predictions, covered, 0.9) == pytest.approx((9 * 0.1 + 0.9) / 10)
    even = np.arange(100) % 10 != 0
    assert decile_gap(np.ones(100), predictions, even, 0.9) == pytest.approx(0)


def test_records_have_every_measure_at_the_level_of_the_slab(split):
    margin = np.quantile(np.abs(split.y_cal - split.f_cal), LEVELS)
    intervals = np.stack([split.f_test[:, None] - margin, split.f_test[:, None] + margin], axis=1)
    intervals[0, 1] = np.inf
    intervals[1] = intervals[1, ::-1].copy()
    low, middle, _ = measure(split, intervals)
    # 300 rows are few for a classifier.
    assert abs(middle["ert"]) < 0.2 and 0.01 < middle["ert_error"] < 0.03
    assert 0.01 < middle["gap_by_prediction"] < 0.3
    assert middle["interval_score"] > middle["width"]
    assert (middle["empty"], middle["infinite"]) == (1 / 300, 1 / 300)
    assert math.isnan(low["ert"]) and math.isnan(low["gap_by_prediction"])


def made_up_records(narrow=0.4, splits=20):
    found = []
    names = [*ours.FRONTIER, "narrow, one-sided", *PEERS]
    for dataset in ("bike", "concrete"):
        for split in range(splits):
            for name in names:
                width = narrow if name == "narrow" else 0.5 if name in PEERS else 0.45
                for alpha in report.ALPHAS:
                    found.append(
                        {
                            "dataset": dataset,
                            "method": name,
                            "alpha": alpha,
                            "split": split,
                            "width": width + 0.01 * (split % 2),
                            "coverage": 1 - alpha,
                            "worst_slab": 0.85,
                            "gap": 0.05,
                            "seconds": 1.0,
                        }
                    )
    return found


def test_the_page_is_written_from_the_records(tmp_path):
    records.write(tmp_path / "field.json", made_up_records())
    about = records.environment() | {"processor_seconds": 60, "workers": 2}
    records.write_environment(tmp_path / "field.json", about)
    checks = report.write(tmp_path)
    assert all(check.passed for check in checks), [str(check) for check in checks]
    text = (tmp_path / "field.md").read_text()
    assert "| narrow | 20 | 0.4050 ± 0.0011 |  | 0.900 | 0.850 |" in text
    assert (tmp_path / "field_bike.png").stat().st_size > 10_000


def test_the_page_shows_the_ert_if_the_records_have_it():
    measured = [record | {"ert": 0.012} for record in made_up_records(splits=5)]
    old = by_cell(made_up_records(splits=5))
    assert "ert" not in report.page(old, ["bike", "concrete"], [], "").split()
    text = report.page(by_cell(measured), ["bike", "concrete"], [], "")
    assert "| gap | ert | width 68% |" in text and "| 0.050 | 0.012 |" in text


def test_checks_fail_with_the_numbers_that_failed():
    checks = report.check(by_cell(made_up_records(narrow=0.6)))
    assert checks[1].failures[0] == "bike: mapie absolute is narrower by 0.1000, standard error 0.0000"
    assert "bike: 0.605, target 0.48" in checks[2].failures


def test_coverage_is_judged_by_what_chance_allows_so_many_rows():
    found = [record | {"coverage": record["coverage"] - 0.015} for record in made_up_records()]
    failures = report.coverage_holds(by_cell(found)).failures
    assert "bike, narrow, level 0.9: 0.8850, standard error 0.0020" in failures
    assert not any(failure.startswith("concrete, narrow, level 0.9:") for failure in failures)


def test_few_splits_are_asked_for_validity_and_order_alone():
    valid, order = report.check(by_cell(made_up_records(splits=2)))
    assert valid.passed
    assert order.failures == ["bike, worst slab: even 0.850, mapie absolute 0.850"]
    _, order = report.check(by_cell(made_up_records(splits=2, narrow=0.6)))
    assert order.failures[0] == "bike: narrow 0.6050, even 0.4550, mapie absolute 0.5050"
