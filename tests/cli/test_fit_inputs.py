"""Rows and predictions given to the program: which of them calibrate, and which are errors."""

import math

import numpy as np
import pyarrow as pa
import pytest
from conftest import read, write

LEVEL = 0.9
CALIBRATION_ROWS = 999


def least_squares(X, y):
    return np.linalg.lstsq(X, y, rcond=None)[0]


@pytest.fixture(scope="module")
def wide(tables):
    """Nearly as many features as rows: cv.csv holds predictions of five folds, fresh.csv and new.csv of the final model."""
    rng = np.random.default_rng(1)
    n, d, new = 200, 185, 5000
    X = rng.normal(size=(n + CALIBRATION_ROWS + new, d))
    y = X[:, 0] + rng.normal(size=len(X))
    folds = np.arange(n) % 5
    prediction = X @ least_squares(X[:n], y[:n])
    for fold in range(5):
        seen, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        prediction[held] = X[held] @ least_squares(X[seen], y[seen])
    table = pa.table({"x": X[:, 0], "forecast": prediction, "y": y})
    folder = tables / "wide"
    folder.mkdir()
    write(table.slice(0, n), folder / "cv.csv")
    write(table.slice(n, CALIBRATION_ROWS), folder / "fresh.csv")
    write(table.slice(n + CALIBRATION_ROWS), folder / "new.csv")
    return folder


def fit(option, *more):
    return ["fit", "cv.csv", "--target", "y", option, "forecast", "--score-transform", "identity", *more]


def coverage(file):
    table = read(file)
    y, lower, upper = (table.column(name).to_numpy() for name in ["y", "lower_0.9", "upper_0.9"])
    return np.mean((lower <= y) & (y <= upper))


def test_cross_validated_predictions_calibrate_nothing_until_the_deployed_model_has_predicted(widthwise, wide):
    widthwise.folder = wide
    done = widthwise(*fit("--cv-prediction"), "-o", "model.safetensors")
    assert done.code == 0 and "calibration rows  0" in done.out and "fitting rows      200" in done.out
    why = "cross-validated predictions only train the localizer. Calibrate it with rows that no model was fitted on"
    assert why in done.err and "'widthwise calibrate'" in done.err
    shown = widthwise.ok("inspect", "model.safetensors").out
    assert "cross-validated predictions" in shown and "the model is not calibrated" in shown

    predict = ["predict", "model.safetensors", "new.csv", "-o", "out.csv"]
    done = widthwise(*predict)
    assert done.code == 0 and why in done.err
    assert np.all(np.isinf(read(wide / "out.csv").column("upper_0.9").to_numpy()))

    assert widthwise("calibrate", "model.safetensors", "fresh.csv").code == 0
    widthwise.ok(*predict)
    # Coverage is beta-binomial with this spread; it exceeds five standard deviations once in a million.
    rows = read(wide / "new.csv").num_rows
    spread = math.sqrt(LEVEL * (1 - LEVEL) * (1 / (CALIBRATION_ROWS + 2) + 1 / rows))
    found = coverage(wide / "out.csv")
    assert found > LEVEL - 5 * spread

    widthwise(*fit("--prediction"), "-o", "misused.safetensors")
    widthwise("predict", "misused.safetensors", "new.csv", "-o", "out.csv")
    misused = coverage(wide / "out.csv")
    print(f"misused {misused:.3f}, calibrated {found:.3f}, bound {LEVEL - 5 * spread:.3f}")
    assert misused < LEVEL - 5 * spread


def test_one_kind_of_predictions_is_given(widthwise, wide):
    widthwise.folder = wide
    both = widthwise.fails(2, *fit("--cv-prediction"), "--prediction", "forecast", "-o", "no.safetensors")
    assert "give one of --prediction COL, predictions of the deployed model on rows it has not seen" in both
    shared = widthwise.fails(2, *fit("--cv-prediction"), "--calibration-size", "0.2", "-o", "no.safetensors")
    assert "do not calibrate; leave it out" in shared
    same = widthwise.fails(2, "fit", "cv.csv", "--target", "y", "--cv-prediction", "y", "-o", "no.safetensors")
    assert "--cv-prediction and --target name the same column" in same


def test_the_step_of_outcomes(widthwise, tmp_path):
    random = np.random.default_rng(0)
    f = random.uniform(1, 9, 600)
    y = random.poisson(f)
    write(pa.table({"x": f, "f": f, "y": y}), tmp_path / "counts.csv")
    call = ["fit", "counts.csv", "--target", "y", "--prediction", "f", "--score-transform", "identity"]
    widthwise.folder = tmp_path
    told = " ".join(widthwise(*call, "-o", "plain.safetensors").out.split())
    assert "Outcomes are never negative, but " in told and "fit with --outcome-range 0, (" in told
    assert "All outcomes are whole numbers: --outcome-step 1" in told
    space = ["--outcome-range", "0,", "--outcome-step", "1"]
    told = " ".join(widthwise(*call, *space, "-o", "stepped.safetensors").out.split())
    assert "--outcome" not in told
    bounds = {}
    for name in ("plain", "stepped"):
        widthwise("predict", f"{name}.safetensors", "counts.csv", "-o", f"{name}.csv")
        found = read(tmp_path / f"{name}.csv")
        bounds[name] = [found.column(column).to_numpy() for column in ("lower_0.9", "upper_0.9")]
    assert np.array_equal(bounds["stepped"][0], np.maximum(np.ceil(bounds["plain"][0]), 0))
    assert np.array_equal(bounds["stepped"][1], np.floor(bounds["plain"][1]))
    assert "outcomes" in (text := widthwise("inspect", "stepped.safetensors").out)
    assert "at least 0, multiples of 1" in text
    assert widthwise("inspect", "stepped.safetensors", "--json").json["outcome_step"] == 1
    fresh = random.uniform(1, 9, 400)
    write(pa.table({"x": fresh, "f": fresh, "y": random.poisson(fresh)}), tmp_path / "fresh.csv")
    widthwise("report", "plain.safetensors", "fresh.csv", "-o", "plain.html")
    assert "Outcomes are never negative, but " in (page := (tmp_path / "plain.html").read_text())
    assert "All outcomes are whole numbers: --outcome-step 1" in page

    write(pa.table({"x": f, "f": f, "y": np.where(np.arange(600) == 41, 2.5, y)}), tmp_path / "off.csv")
    why = "off.csv: 'y': 1 of 600 outcomes is not a multiple of the outcome step 1: row 42 is 2.5"
    assert why in widthwise.fails(1, *[part.replace("counts", "off") for part in call], *space, "-o", "no.safetensors")
    assert why in widthwise.fails(1, "calibrate", "stepped.safetensors", "off.csv", "--replace")
    assert why in widthwise.fails(1, "track", "stepped.safetensors", "off.csv", "-o", "tracked.csv")
    found = widthwise("evaluate", "stepped.safetensors", "off.csv", "--json").json
    assert found["missed_by_range"]["rows"] == 1
    for step in ("0", "-1", "x"):
        assert "--outcome-step" in widthwise.fails(2, *call, f"--outcome-step={step}", "-o", "no.safetensors")
    why = widthwise.fails(2, *call, "--outcome-step=1", "--outcome-range=0.5,", "-o", "no.safetensors")
    assert "ends at 0.5, which is not a multiple of the outcome step 1" in why


def test_outcomes_outside_the_range_are_counted_and_named(widthwise, wide):
    widthwise.folder = wide
    y = read(wide / "cv.csv").column("y").to_numpy()
    bad = np.flatnonzero(y < 0)
    complaint = widthwise.fails(1, *fit("--prediction", "--outcome-range", "0,"), "-o", "no.safetensors")
    assert (
        f"cv.csv: 'y': {len(bad)} of 200 outcomes lie outside the outcome range (at least 0): row {bad[0] + 1}"
        in complaint
    )
    assert "(outcome_range, --outcome-range)" in complaint

    low = float(y.min())
    assert widthwise(*fit("--prediction", f"--outcome-range={low!r},"), "-o", "ranged.safetensors").code == 0
    fresh = read(wide / "fresh.csv")
    outcomes = np.maximum(fresh.column("y").to_numpy(), low)
    outcomes[[3, 900]] = low - 1
    write(fresh.set_column(2, "y", pa.array(outcomes)), wide / "outside.csv")
    complaint = widthwise.fails(1, "calibrate", "ranged.safetensors", "outside.csv")
    assert "outside.csv: 'y': 2 of 999 outcomes lie outside the outcome range (at least -" in complaint
    assert ": row 4 is -" in complaint and ", row 901 is -" in complaint
    assert "or without a range. Keep these rows" in complaint and "remove" not in complaint

    found = widthwise("evaluate", "ranged.safetensors", "outside.csv", "--json").json
    assert found["missed_by_range"]["rows"] == 2
    text = " ".join(widthwise("evaluate", "ranged.safetensors", "outside.csv").out.split())
    assert text.startswith("outside.csv: 999 rows Note: 2 of 999 outcomes lie outside the outcome range (at least -")
    assert "so these rows count as missed. Fit with a range that contains every possible outcome" in text
    widthwise("report", "ranged.safetensors", "outside.csv", "-o", "outside.html")
    page = (wide / "outside.html").read_text()
    assert page.index("2 of 999 outcomes lie outside") < page.index('<div class="verdict')
    everything = fresh.set_column(2, "y", pa.array(np.full(len(fresh), low - 1)))
    write(everything, wide / "all_outside.csv")
    missed = widthwise("evaluate", "ranged.safetensors", "all_outside.csv", "--json").json
    assert missed["levels"][0]["coverage"]["successes"] == 0


def test_a_feature_that_equals_the_target_is_an_error(widthwise, wide):
    widthwise.folder = wide
    table = read(wide / "cv.csv")
    for name in ("copy.csv", "copy.parquet"):
        write(table.append_column("y_copy", table["y"]), wide / name)
        complaint = widthwise.fails(1, "fit", name, "--target", "y", "--prediction", "forecast", "--score-transform",
                                    "identity", "-o", "no.safetensors")  # fmt: skip
        assert (
            "the features contain the outcomes: column 'y_copy' equals the outcome in every row; drop it" in complaint
        )
