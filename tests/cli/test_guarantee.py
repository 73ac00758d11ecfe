"""Marginal and training-conditional guarantees from the command line."""

import filecmp
import shutil

import numpy as np
import pytest
from conftest import read

FIT = [
    "fit",
    "train.csv",
    "--target",
    "price",
    "--base",
    "trees",
    "--base-options",
    "rounds=20",
    "--features",
    "a,b,rooms,forecast",
    "--score-transform",
    "identity",
    "--threads",
    "1",
]


@pytest.fixture
def model(homes, tmp_path):
    """trees.safetensors, refitted with a confidence of 0.95; it has 750 calibration rows."""
    file = tmp_path / "pac.safetensors"
    assert homes(*FIT, "--guarantee", "0.95", "-o", file).code == 0
    return file


def width(homes, model, *options):
    """The width of the intervals, which is the same for all rows."""
    out = model.parent / "out.csv"
    homes.ok("predict", model, "test.csv", "-o", out, *options)
    table = read(out)
    widths = np.array(table["upper_0.9"]) - np.array(table["lower_0.9"])
    assert np.ptp(widths) < 1e-9
    return widths[0]


def test_fit_keeps_the_guarantee_in_the_model(homes, model):
    inside = homes.ok("inspect", model, "--json").json
    assert inside["guarantee"] == 0.95
    level = inside["levels"][0]
    # The 689th of 750: P(Bin(750, 0.9) >= 689) = 0.0471, and of 688 it is 0.0612.
    assert (level["min_rows"], level["mean"]) == (29, pytest.approx(689 / 751))
    assert "training-conditional: coverage of at least the level for 95.0% of calibration sets" in " ".join(
        homes.ok("inspect", model).out.split()
    )
    assert homes.ok("inspect", "trees.safetensors", "--json").json["guarantee"] == "marginal"
    assert "marginal: coverage of at least the level" in homes.ok("inspect", "trees.safetensors").out


def test_a_model_differs_by_its_guarantee_alone(homes, model, tmp_path):
    marginal = shutil.copy(homes.folder / "trees.safetensors", tmp_path / "marginal.safetensors")
    pac = width(homes, model)
    assert 1 < pac / width(homes, marginal) < 1.3
    assert width(homes, model, "--guarantee", "marginal") == width(homes, marginal)
    assert width(homes, marginal, "--guarantee", "0.95") == pac
    assert width(homes, model, "--guarantee", "0.999") > pac
    # Predicting with another guarantee does not change the file.
    assert homes.ok("inspect", model, "--json").json["guarantee"] == 0.95


def test_calibrate_keeps_the_guarantee_or_sets_another(homes, model, tmp_path):
    report = homes.ok("calibrate", model, "fresh.csv", "-o", tmp_path / "kept.safetensors", "--json").json
    assert report["guarantee"] == 0.95
    back = tmp_path / "back.safetensors"
    homes.ok("calibrate", model, "fresh.csv", "--guarantee", "marginal", "-o", back)
    plain = tmp_path / "plain.safetensors"
    homes.ok("calibrate", "trees.safetensors", "fresh.csv", "-o", plain)
    assert filecmp.cmp(back, plain, shallow=False)
    text = homes.ok("calibrate", model, "more.csv", "--guarantee", "0.99").out
    assert "Intervals of level 0.9 with guarantee 0.99 cover " in text
    assert homes.ok("inspect", model, "--json").json["guarantee"] == 0.99


def test_merged_parts_keep_the_guarantee(homes, model, tmp_path):
    part = tmp_path / "fresh.shard"
    homes.ok("calibrate", "trees.safetensors", "fresh.csv", "--emit", part)
    assert homes.ok("merge", model, part, "--json").json["guarantee"] == 0.95
    whole = tmp_path / "whole.safetensors"
    homes.ok("calibrate", "trees.safetensors", "fresh.csv", "--guarantee", "0.95", "-o", whole)
    assert width(homes, model) == width(homes, whole)


def test_too_few_rows_are_said_to_be_too_few_for_the_guarantee(homes, model, tmp_path):
    outcome = homes("predict", model, "test.csv", "--level", "0.999", "-o", tmp_path / "out.csv")
    assert outcome.code == 0
    assert (
        "intervals of level 0.999 with guarantee 0.95 are infinite: the level needs 2,995 calibration rows"
        in outcome.err
    )


def test_plan_takes_the_guarantee(homes):
    answer = homes.ok("plan", "--rows", "1000", "--guarantee", "0.95", "--json").json
    assert (answer["guarantee"], answer["min_rows"], answer["mean"]) == (0.95, 29, 916 / 1001)
    text = " ".join(homes.ok("plan", "--rows", "1000", "--guarantee", "0.95").out.split())
    assert "In 95% of calibration sets they cover at least 90%" in text
    tolerance = homes.ok("plan", "--tolerance", "0.02", "--guarantee", "0.95", "--json").json
    assert tolerance["high"] <= 0.92
    assert tolerance["rows"] > homes.ok("plan", "--tolerance", "0.02", "--json").json["rows"]


@pytest.mark.parametrize(
    "guarantee, hint", [("1", ""), ("0", ""), ("95", "; did you mean 0.95?"), ("pac", ""), ("", "")]
)
def test_a_wrong_guarantee_is_bad_usage(homes, guarantee, hint):
    message = homes.fails(2, "plan", "--rows", "100", "--guarantee", guarantee)
    assert message == (
        f"widthwise plan: --guarantee: '{guarantee}' is neither 'marginal' nor a confidence between 0 and 1, such as 0.95"
        + hint
    )


def test_evaluate_expects_the_coverage_of_the_guarantee(homes, model):
    found = homes.ok("evaluate", model, "test.csv", "--json").json
    expected = found["levels"][0]["verdict"]
    plain = homes.ok("evaluate", model, "test.csv", "--guarantee", "marginal", "--json").json
    assert (found["guarantee"], plain["guarantee"]) == (0.95, "marginal")
    assert expected["word"] == "valid"
    assert expected["expected_low"] > plain["levels"][0]["verdict"]["expected_low"]
    assert expected["expected_high"] > plain["levels"][0]["verdict"]["expected_high"]


SCHEMES = {
    "rows": ([], "marginal: coverage of at least the level", "if new rows are exchangeable"),
    "groups": (["--group", "city"], "group-conditional: coverage of at least the level in each group", "exchangeable"),
    "pooled": (["--group", "city", "--pool-groups", "20"], "group-conditional", "of all pooled groups"),
    "weights": (["--weight", "b"], "weighted: coverage of at least the level", "likelihood ratios"),
    "learnt": (["--shift-to", "fresh.csv"], "approximate: coverage of about the level", "not guaranteed"),
    "clusters": (
        ["--cluster", "rooms", "--folds", "2"],
        "marginal: coverage of at least the level",
        "each row counts once",
    ),
    "clusters once": (
        ["--cluster", "rooms", "--folds", "2", "--cluster-coverage", "clusters"],
        "marginal: coverage of at least the level",
        "each cluster counts once",
    ),
    "time": (["--time", "a"], "marginal: coverage", "coverage of later rows is not guaranteed unless"),
    "folds": (["--calibration", "cross", "--folds", "5"], "cross-calibration: coverage", "1 - 2 alpha - d"),
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_inspect_states_the_guarantee_of_every_scheme_with_its_conditions(homes, tmp_path, scheme):
    options, kind, condition = SCHEMES[scheme]
    file = tmp_path / "model.safetensors"
    fitted = homes(*FIT, *options, "-o", file)
    assert fitted.code == 0, fitted
    stated = homes.ok("inspect", file, "--json").json["guarantee_statement"]
    assert stated.startswith(kind)
    assert condition in stated
    assert stated in " ".join(homes.ok("inspect", file).out.split())
    evaluated = homes("evaluate", file, "test.csv", "--json")
    assert evaluated.json["guarantee_statement"] == stated
    if scheme in ("learnt", "folds"):
        assert "at least the level" not in stated
