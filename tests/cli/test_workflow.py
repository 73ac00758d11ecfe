"""From a table to intervals and back: fit, inspect, calibrate, predict, evaluate."""

import filecmp
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import FIT, make_table, read, write


@pytest.fixture
def model(homes, tmp_path):
    """A copy of homes.safetensors that a test may change."""
    return shutil.copy(homes.folder / "homes.safetensors", tmp_path / "copy.safetensors")


def test_fit_reports_rows_widths_and_the_goal_in_words(homes):
    outcome = homes(*FIT, "--compare", "-o", "text.safetensors")
    assert outcome.code == 0
    assert outcome.err == ""
    for part in [
        "fitting rows      2,250",
        "calibration rows  750",
        "mean width",
        "coverage",
        "worst slab",
        "balanced (shortest), this model",
        "narrow (affine)",
        "one width",
        "These intervals are ",
        "The goal narrow would",
    ]:
        assert part in outcome.out


def test_the_json_of_fit_has_the_figures_of_the_summary(homes):
    report = homes(*FIT, "--compare", "--json", "-o", "json.safetensors").json
    assert (report["fit_rows"], report["calibration_rows"]) == (2250, 750)
    assert report["features"] == ["a", "b", "rooms", "city"] and report["left_out"] == []
    assert report["chosen"]["goal"] == "balanced" and report["other"]["goal"] == "narrow"
    # Errors grow with b, so adaptive widths are narrower at the same coverage.
    assert report["chosen"]["mean_width"] < report["fixed"]["mean_width"]
    # mean |(0.1 + b) z| = 0.6 sqrt(2 / pi)
    assert report["base_error"] == pytest.approx(0.6 * math.sqrt(2 / math.pi), rel=0.1)


def test_the_same_fit_gives_the_same_bytes(homes):
    homes(*FIT, "-o", "again.safetensors")
    assert filecmp.cmp(homes.folder / "homes.safetensors", homes.folder / "again.safetensors", shallow=False)


def test_features_are_chosen_by_name(homes):
    assert homes(*FIT, "--features", "b", "--json", "-o", "f.safetensors").json["features"] == ["b"]
    report = homes(*FIT, "--exclude", "rooms,city", "--json", "-o", "f.safetensors").json
    assert (report["features"], report["left_out"], report["other"]) == (["a", "b"], [], None)


def test_inspect_shows_the_contents_of_the_file(homes):
    inside = homes.ok("inspect", "homes.safetensors", "--json").json
    assert inside["target"] == "price" and inside["prediction"] == "forecast" and inside["base"] is None
    assert inside["localizer"]["kind"] == "trees"
    assert inside["calibration"]["rows_kept"] == 750
    assert inside["notes"]["goal"] == "balanced"
    text = homes.ok("inspect", "homes.safetensors").out
    for part in ["price", "4: a, b, rooms and city", "city (3)", "column 'forecast'", "trees", "750 rows", "level 0.9"]:
        assert part in text
    assert homes.ok("inspect", "trees.safetensors", "--json").json["base"]["kind"] == "trees"


def test_inspect_says_the_format_of_a_file(homes):
    assert homes.ok("inspect", "homes.safetensors", "--json").json["format"] == 1
    assert "format 1, checksum verified" in homes.ok("inspect", "homes.safetensors").out


def test_calibrate_adds_rows_once(homes, model):
    report = homes.ok("calibrate", model, "fresh.csv", "--json").json
    assert (report["rows_added"], report["rows_seen"]) == (2000, 2750)
    before = open(model, "rb").read()
    message = homes.fails(1, "calibrate", model, "fresh.csv")
    assert "fresh.csv: 100% of these rows are already in the calibration set" in message and "--replace" in message
    assert open(model, "rb").read() == before
    assert homes.ok("calibrate", model, "more.csv", "--json").json["rows_seen"] == 4250


def test_calibrate_finds_the_same_rows_under_another_name(homes, model):
    shutil.copy(homes.folder / "fresh.csv", homes.folder / "renamed.csv")
    homes.ok("calibrate", model, "fresh.csv")
    homes.fails(1, "calibrate", model, "renamed.csv")


def test_the_order_of_calibrations_does_not_matter(homes, tmp_path):
    for name, order in [("one", ["fresh.csv", "more.csv"]), ("two", ["more.csv", "fresh.csv"])]:
        shutil.copy(homes.folder / "homes.safetensors", tmp_path / name)
        for table in order:
            homes.ok("calibrate", tmp_path / name, table)
    assert filecmp.cmp(tmp_path / "one", tmp_path / "two", shallow=False)


def test_calibrate_replaces_on_request(homes, model, tmp_path):
    homes.ok("calibrate", model, "fresh.csv")
    out = tmp_path / "new.safetensors"
    report = homes.ok("calibrate", model, "fresh.csv", "--replace", "-o", out, "--json").json
    assert (report["rows_seen"], report["model"]) == (2000, str(out))
    assert homes.ok("inspect", model, "--json").json["calibration"]["rows_seen"] == 2750


def test_the_file_the_model_was_fitted_on_cannot_calibrate_it(homes, model):
    message = homes.fails(1, "calibrate", model, "train.csv", "--replace")
    assert "train.csv: 75% of these rows were used to fit the model" in message


def test_predictions_that_were_in_sample_are_noticed(homes):
    table = make_table(3000, 6)
    shrunk = np.array(table["price"]) - 0.3 * (np.array(table["price"]) - np.array(table["forecast"]))
    write(table.set_column(4, "forecast", [shrunk]), homes.folder / "in_sample.csv")
    report = homes("fit", "in_sample.csv", *FIT[2:], "-o", "in_sample.safetensors").out
    assert "of the predictions as given" in report and "out of sample" not in report
    advice = homes("evaluate", "in_sample.safetensors", "test.csv", "--json").json["verdict"]["advice"]
    assert advice[0]["kind"] == "predictions" and "was trained on the fitting or calibration rows" in advice[0]["text"]
    outcome = homes("calibrate", "in_sample.safetensors", "fresh.csv")
    assert outcome.code == 0 and "warning" in outcome.err and "in-sample" in outcome.err
    assert homes("calibrate", "in_sample.safetensors", "fresh.csv", "--emit", "fresh.shard").err == outcome.err
    merged = homes("merge", "in_sample.safetensors", "fresh.shard", "--replace")
    assert merged.code == 0 and merged.err == outcome.err.replace("calibrate", "merge", 1)


@pytest.mark.parametrize("name", ["homes", "trees"])
def test_predictions_are_the_same_from_csv_and_parquet(homes, name):
    summary = homes.ok("predict", f"{name}.safetensors", "test.csv", "--level", "0.9,0.5", "-o", "from_csv.parquet").out
    assert "from_csv.parquet: 4,000 rows" in summary
    homes.ok("predict", f"{name}.safetensors", "test.parquet", "--level", "0.9,0.5", "-o", "from_parquet.parquet")
    homes.ok("predict", f"{name}.safetensors", "test.parquet", "--level", "0.9,0.5", "-o", "from_parquet.csv")
    one, two, three = (read(homes.folder / f) for f in ["from_csv.parquet", "from_parquet.parquet", "from_parquet.csv"])
    added = ["lower_0.9", "upper_0.9", "lower_0.5", "upper_0.5"]
    if name == "trees":
        added.insert(0, "prediction")
    assert one.column_names == ["a", "b", "rooms", "city", "forecast", "price", *added]
    for column in one.column_names:
        assert one[column].to_pylist() == two[column].to_pylist() == three[column].to_pylist()


def test_the_json_of_predict_lists_the_output(homes):
    told = homes("predict", "homes.safetensors", "test.csv", "--level", "0.9,0.999", "-o", "told.csv", "--json").json
    assert told["rows"] == read(homes.folder / "told.csv").num_rows
    assert told["added"] == ["lower_0.9", "upper_0.9", "lower_0.999", "upper_0.999"]
    assert told["infinite"] == {"0.9": 0, "0.999": told["rows"]}


def test_intervals_cover_nest_and_hold_the_prediction(homes):
    homes.ok("predict", "homes.safetensors", "test.csv", "--level", "0.5", "--level", "0.9", "-o", "nested.csv")
    t = {name: np.array(values) for name, values in read(homes.folder / "nested.csv").to_pydict().items()}
    assert np.all(t["lower_0.9"] <= t["lower_0.5"]) and np.all(t["lower_0.5"] <= t["forecast"])
    assert np.all(t["forecast"] <= t["upper_0.5"]) and np.all(t["upper_0.5"] <= t["upper_0.9"])
    covered = np.mean((t["lower_0.9"] <= t["price"]) & (t["price"] <= t["upper_0.9"]))
    # 750 calibration and 4000 test rows give a standard deviation of 0.012; six of them are never exceeded.
    assert abs(covered - 0.9) < 6 * math.sqrt(0.09 * (1 / 750 + 1 / 4000))


def test_a_level_that_needs_more_rows_is_a_warning_that_says_how_many(homes):
    outcome = homes("predict", "homes.safetensors", "test.csv", "--level", "0.999", "--columns", "a", "-o", "wide.csv")
    assert outcome.code == 0
    assert "needs 999 calibration rows, the model has 750" in outcome.err
    assert np.all(np.isinf(np.array(read(homes.folder / "wide.csv")["upper_0.999"])))


def test_an_uncalibrated_model_is_reported_and_can_be_calibrated(homes):
    outcome = homes(*FIT, "--calibration-size", "0", "-o", "raw.safetensors")
    assert outcome.code == 0 and "the model is not calibrated, so its intervals are infinite" in outcome.err
    homes.ok("calibrate", "raw.safetensors", "fresh.csv")
    assert homes.ok("inspect", "raw.safetensors", "--json").json["calibration"]["rows_seen"] == 2000


def test_the_range_cuts_intervals(homes):
    minimum = min(read(homes.folder / "train.csv")["price"].to_pylist())
    homes(*FIT, "--outcome-range", f"{minimum!r},", "-o", "cut.safetensors")
    homes.ok("predict", "cut.safetensors", "test.csv", "--level", "0.99", "-o", "cut.csv")
    assert min(read(homes.folder / "cut.csv")["lower_0.99"].to_pylist()) == minimum


def test_missing_features_are_fine(homes):
    table = make_table(500, 8)
    gaps = [None if i % 3 == 0 else value for i, value in enumerate(table["b"].to_pylist())]
    write(table.set_column(1, "b", [gaps]), homes.folder / "gaps.csv")
    for name in ("homes", "trees"):
        homes.ok("predict", f"{name}.safetensors", "gaps.csv", "-o", "gaps_out.csv")
        assert np.all(np.isfinite(np.array(read(homes.folder / "gaps_out.csv")["upper_0.9"])))


def test_evaluate_finds_an_honest_model_valid(homes):
    report = homes.ok("evaluate", "homes.safetensors", "test.csv", "--by", "rooms", "--json").json
    (level,) = report["levels"]
    assert report["rows"] == 4000 and level["level"] == 0.9
    assert level["verdict"]["word"] == "valid"
    assert level["coverage"]["low"] < level["coverage"]["share"] < level["coverage"]["high"]
    assert sum(part["coverage"]["trials"] for part in level["by_width"]) == 4000
    assert [part["low"] for part in level["by"]["bins"]] == [1, 2, 3, 4]
    assert set(level["worst_slab"]["direction"]) == {"a", "b", "rooms", "city"}
    text = homes.ok("evaluate", "homes.safetensors", "test.csv", "--by", "a").out
    for part in ["coverage", "worst slab", "median width", "interval score", "Valid. ", "by width", "by a"]:
        assert part in text


def test_evaluate_finds_drift(homes):
    table = make_table(2000, 9)
    drifted = np.array(table["forecast"]) + 2 * (np.array(table["price"]) - np.array(table["forecast"]))
    write(table.set_column(5, "price", [drifted]), homes.folder / "drift.csv")
    (level,) = homes.ok("evaluate", "homes.safetensors", "drift.csv", "--json").json["levels"]
    assert level["verdict"]["word"] == "too low"
    assert "Not valid here." in homes.ok("evaluate", "homes.safetensors", "drift.csv").out


def test_xgboost_as_base_model(homes):
    arguments = [
        "fit",
        "train.csv",
        "--target",
        "price",
        "--base",
        "trees",
        "--exclude",
        "forecast,city",
        "--threads",
        "2",
    ]
    outcome = homes(*arguments, "--folds", "2", "--json", "-o", "xgb.safetensors")
    if "XGBoost" in outcome.err and outcome.code == 2:
        pytest.skip(outcome.err)
    assert outcome.code == 0, outcome
    assert homes.ok("inspect", "xgb.safetensors", "--json").json["base"]["kind"] == "trees"
    homes.ok("predict", "xgb.safetensors", "test.csv", "-o", "xgb.csv")
    assert "prediction" in read(homes.folder / "xgb.csv").column_names
    assert homes.ok("evaluate", "xgb.safetensors", "test.csv", "--json").json["levels"][0]["verdict"]["word"] == "valid"


def test_no_engine_is_loaded_at_the_start(homes):
    program = shutil.which(homes.path)
    if not Path(program).read_bytes().startswith(b"\x7fELF"):
        pytest.skip("the command of the wheel is a script")
    listed = subprocess.run(
        [program], env={"LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True, check=True
    ).stdout
    assert "libstdc++" in listed and "torch" not in listed and "xgboost" not in listed


def test_a_net_as_localizer_or_a_plain_word_why_not(homes):
    outcome = homes(*FIT, "--localizer", "net", "-o", "net.safetensors")
    if outcome.code == 2:
        assert outcome.err.splitlines()[-1] == (
            "widthwise fit: the localizer 'net' is not in this build; configure with -DWIDTHWISE_TORCH=ON or use the "
            "localizer trees"
        )
    else:
        assert homes.ok("inspect", "net.safetensors", "--json").json["localizer"]["kind"] == "net"
