"""The protocol of the comparison, our methods and the page, on small synthetic data; CI also makes a quick run."""

import math

import numpy as np
import pytest

from experiments import records
from experiments.data import Dataset
from experiments.field import checks, ours, report, suite, untouched
from experiments.field.peers import PEERS, Peer
from experiments.field.protocol import LEVELS, crps_of, decile_gap, make_split, measure
from experiments.field.table import by_cell
from widthwise import Localizer


@pytest.fixture(scope="module")
def split():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (1500, 2))
    y = 5 + X[:, 0] + 0.3 * X[:, 0] * rng.normal(size=1500)
    return make_split(Dataset("made up", ["a", "b"], "y", X, y), 0)


def test_the_parts_of_a_split_share_no_rows(split):
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
        localizer = Localizer(goal="narrow", two_sided=two_sided, n_jobs=1)
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
    assert math.isnan(low["ert"]) and math.isnan(low["gap_by_prediction"]) and math.isnan(low["crps"])


def test_the_crps_is_the_weighted_sum_of_interval_scores_that_the_page_names(split):
    margin = np.quantile(np.abs(split.y_cal - split.f_cal), LEVELS)
    intervals = np.stack([split.f_test[:, None] - margin, split.f_test[:, None] + margin], axis=1)
    found = measure(split, intervals)
    scores = dict(zip(LEVELS, [record["interval_score"] for record in found], strict=True))
    expected = sum(weight * scores[level] for level, weight in report.CRPS_WEIGHTS.items())
    assert found[1]["crps"] == pytest.approx(expected)
    assert list(report.CRPS_WEIGHTS.values()) == pytest.approx([0.395 * 0.32, 0.0675 * 0.1, 0.0375 * 0.05])
    assert crps_of(intervals[:, ::-1], split.y_test) == pytest.approx(found[1]["crps"], rel=0.05)  # crossing is sorted


def made_up_records(narrow=0.4, splits=20, datasets=("bike", "concrete"), worst_slab=0.885):
    found = []
    names = [*ours.FRONTIER, "narrow, symmetric", *PEERS]
    for dataset in datasets:
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
                            "worst_slab": worst_slab,
                            "gap": 0.05,
                            "interval_score": 1.2 * width,
                            "seconds": 1.0,
                        }
                    )
    return found


def test_the_page_is_written_from_the_records(tmp_path):
    records.write(tmp_path / "field.csv.gz", made_up_records())
    about = records.environment() | {"processor_seconds": 60, "workers": 2}
    records.write_environment(tmp_path / "field.csv.gz", about)
    found = report.write(tmp_path)
    assert all(check.passed for check in found), [str(check) for check in found]
    text = (tmp_path / "field.md").read_text()
    assert "| narrow | 20 | 0.4050 ± 0.0011 |  | 0.900 | 0.885 |" in text
    assert "No peer failed." in text and (tmp_path / "field_ranks.png").exists()
    assert (tmp_path / "field_bike.png").stat().st_size > 10_000


def page_of(table, failures=()):
    return report.page(report.FIELD, table, ["bike", "concrete"], [], list(failures), "")


def test_the_page_shows_the_ert_if_the_records_have_it():
    measured = [record | {"ert": 0.012} for record in made_up_records(splits=5)]
    old = by_cell(made_up_records(splits=5))
    assert "| ert |" not in page_of(old).replace("interval score | ert |", "")
    text = page_of(by_cell(measured))
    assert "| gap | ert | width 68% |" in text and "| 0.050 | 0.012 |" in text


def test_the_page_shows_the_crps_if_the_records_have_it(tmp_path):
    measured = [
        record | {"ert": 0.012, "crps": 0.1234 if record["alpha"] == 0.1 else math.nan}
        for record in made_up_records(splits=5)
    ]
    records.write(tmp_path / "new.csv.gz", [*measured, *made_up_records(splits=5, datasets=["homes"])])
    table = by_cell(records.read(tmp_path / "new.csv.gz"))
    text = report.page(report.FIELD, table, ["bike", "concrete", "homes"], [], [], "")
    assert "| gap | ert | crps | width 68% |" in text and "| 0.012 | 0.1234 |" in text
    assert "| gap | width 68% |" in text  # homes, whose cells are empty
    assert "0.1264 times the interval score at 68%" in " ".join(text.split())
    assert "| interval score | crps | ert |" in text
    assert "crps" not in page_of(by_cell(made_up_records(splits=5)))


def test_the_page_lists_the_peers_that_failed():
    failure = {"kind": "failure", "dataset": "bike", "method": "ngboost", "split": 0, "error": "ValueError: too few"}
    without = [record for record in made_up_records(splits=5) if record["method"] != "ngboost"]
    text = page_of(by_cell(without), [failure, failure | {"split": 1}])
    assert "- ngboost on bike, 2 splits: ValueError: too few" in text


def test_a_peer_that_raises_is_recorded_and_one_of_ours_is_not_caught(monkeypatch):
    def broken(split):
        raise ValueError("too few")

    rng = np.random.default_rng(0)
    data = Dataset("made up", ["a"], "y", rng.uniform(size=(100, 1)), rng.uniform(size=100))
    monkeypatch.setattr(suite, "load", lambda name: data)
    monkeypatch.setattr(suite, "PEERS", {"broken": Peer(broken), "large": Peer(broken, max_rows=99)})
    monkeypatch.setattr(ours, "methods", lambda split, variants: iter(()))
    (record,) = suite.work(suite.Job("made up", 0, "goals"))
    assert (record["kind"], record["method"], record["error"]) == ("failure", "broken", "ValueError: too few")
    monkeypatch.setattr(ours, "methods", lambda split, variants: broken(split))
    with pytest.raises(ValueError, match="too few"):
        suite.work(suite.Job("made up", 0, "goals"))


def test_the_quick_form_never_runs_on_untouched_data():
    assert [job.dataset for job in untouched.jobs(quick=True)] == ["airfoil"]
    assert len(untouched.DATASETS) == 35 and "airfoil" not in untouched.DATASETS
    assert untouched.splits("yacht") > untouched.splits("blog") >= checks.ENOUGH_SPLITS
    assert untouched.splits("college") == untouched.splits("yacht")
    assert untouched.splits("rodents") == untouched.splits("blog")  # both are sampled


HELD_OUT = ["wine", "yacht", "college", "taxis"]


def test_the_page_of_held_out_data_names_the_collections_and_ranks_each(tmp_path):
    found = [record | {"ert": 0.01} for record in made_up_records(datasets=HELD_OUT, splits=5)]
    records.write(tmp_path / "field_untouched.csv.gz", found)
    about = records.environment() | {"processor_seconds": 60, "workers": 2}
    records.write_environment(tmp_path / "field_untouched.csv.gz", about)
    report.write(tmp_path, untouched.COLLECTION)
    text = (tmp_path / "field_untouched.md").read_text()
    assert "The third collection has 16 data sets: doctor_visits, rodents, hotel_rates" in " ".join(text.split())
    assert "### Mean ranks on the second collection, 2 data sets" in text
    assert "### Mean ranks on the third collection, 2 data sets" in text


def test_the_ranks_of_the_default_are_checked_on_each_collection():
    def ranked(default):
        """Records where peers differ, with this interval score of the default."""
        scores = dict(zip(PEERS, np.linspace(1, 2, len(PEERS)), strict=True)) | {ours.DEFAULT: default}
        return by_cell(
            [
                record | {"ert": 0.01, "interval_score": scores.get(record["method"], 3.0)}
                for record in made_up_records(datasets=HELD_OUT, splits=2)
            ]
        )

    table = ranked(0.5)
    assert checks.ranks_first(table, "third collection", HELD_OUT[2:], "interval score").passed
    apart = checks.separable(table, "third collection", HELD_OUT[2:], "interval score")
    assert apart.failures[0] == f"{next(iter(PEERS))}: 2.00" and len(apart.failures) == len(PEERS)
    first = checks.ranks_first(ranked(1.01), "third collection", HELD_OUT[2:], "interval score")
    assert first.failures == [f"{next(iter(PEERS))}: 1.00"]
    names = [check.name for check in checks.untouched(table, HELD_OUT)]
    assert sum(name.startswith("second collection: ") for name in names) == 4
    assert sum(name.startswith("third collection: ") for name in names) == 4


def test_the_default_may_miss_the_front_on_a_tenth_of_the_data_sets():
    names = [*untouched.DATASETS[:10]]
    found = [record | {"ert": 0.01} for record in made_up_records(datasets=names, splits=2)]
    for record in found:
        if record["method"] == "ngboost":
            narrower = record["dataset"] == names[0]
            record["width"], record["ert"] = (0.1, 0.0) if narrower else (0.6, 0.0)
    assert checks.default_on_the_front(by_cell(found), names).name.endswith("9 of 10")
    assert checks.default_on_the_front(by_cell(found), names).passed
    below = checks.default_on_the_front(by_cell(found), names[:9])
    assert [failure.split(" has ")[0] for failure in below.failures] == [f"{names[0]}: ngboost"]


def test_the_held_out_data_has_checks_of_its_own():
    wide = by_cell([record | {"ert": 0.01} for record in made_up_records(datasets=("wine", "yacht"), splits=5)])
    coverage, *_, front, narrowest = checks.untouched(wide, ["wine", "yacht"])
    assert coverage.passed and front.passed and narrowest.passed
    even = [
        record | {"ert": 0.01 - 0.005 * (record["method"] == "ngboost"), "coverage": record["coverage"] - 0.03}
        for record in made_up_records(narrow=0.6, datasets=("wine", "yacht"), splits=5)
        if record["method"] != "evenness 0.85"
    ]
    even += [record | {"method": "evenness 0.85"} for record in even if record["method"] == "mapie absolute"]
    coverage, *_, front, narrowest = checks.untouched(by_cell(even), ["wine", "yacht"])
    assert any(failure.startswith("wine, narrow, level 0.9: -0.0300") for failure in coverage.failures)
    assert front.failures[0].startswith("wine: ngboost has width 0.5040 and ERT 0.0050, the default")
    assert narrowest.name.endswith("0 of 2") and len(narrowest.failures) == 2


def of_field(found):
    table = by_cell(found)
    return checks.of_collection(table, ["bike", "concrete"], checks.developed)


def test_checks_fail_with_the_numbers_that_failed():
    found = of_field(made_up_records(narrow=0.6))
    assert found[1].failures[0] == "bike: mapie absolute is narrower by 0.1000, standard error 0.0000"
    assert "bike: 0.605, target 0.48" in found[2].failures


def test_coverage_is_judged_by_what_chance_allows_so_many_rows():
    found = [record | {"coverage": record["coverage"] - 0.015} for record in made_up_records()]
    failures = checks.coverage_holds(by_cell(found)).failures
    assert "bike, narrow, level 0.9: 0.8850, standard error 0.0020" in failures
    assert not any(failure.startswith("concrete, narrow, level 0.9:") for failure in failures)


def test_few_splits_are_asked_for_validity_and_order_alone():
    valid, order = of_field(made_up_records(splits=1))
    assert valid.passed
    assert order.failures == ["bike, worst slab: even 0.885, mapie absolute 0.885"]
    _, order = of_field(made_up_records(splits=1, narrow=0.6))
    assert order.failures[0] == "bike: narrow 0.6000, even 0.4500, mapie absolute 0.5000"
