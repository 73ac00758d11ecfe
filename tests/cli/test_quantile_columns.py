"""Lower and upper quantiles as predictions, in two columns of a table or trained by the program."""

import json

import numpy as np
import pyarrow as pa
import pytest
from conftest import Program, read, write

QUICK = ["--threads", "1", "--localizer-options", "max_rounds=60"]


def make_rows(rows, seed):
    random = np.random.default_rng(seed)
    x = random.uniform(size=rows)
    scale = 0.2 + 2 * x
    y = x + scale * (random.exponential(size=rows) - 0.7)
    return pa.table({"x": x, "q05": x - 0.5 * scale, "q95": x + 1.5 * scale, "y": y})


@pytest.fixture(scope="module")
def program(tables):
    folder = tables / "quantiles"
    folder.mkdir()
    for name, rows, seed in [("train", 2000, 1), ("test", 1000, 2)]:
        write(make_rows(rows, seed), folder / f"{name}.csv")
    return Program(folder)


def fit(*more):
    return ["fit", "train.csv", "--target", "y", *QUICK, *more]


def covered(table):
    y = table["y"].to_numpy()
    return np.mean((table["lower_0.9"].to_numpy() <= y) & (y <= table["upper_0.9"].to_numpy()))


def test_two_columns_of_quantiles_are_fitted_calibrated_and_predicted(program):
    fitted = program(*fit("--prediction", "q05", "--upper-prediction", "q95"), "-o", "model.safetensors")
    assert (fitted.code, fitted.err) == (0, ""), fitted
    shown = " ".join(program("inspect", "model.safetensors").out.split())
    assert "predictions are read from the columns 'q05' and 'q95', a lower and an upper quantile" in shown
    about = json.loads(program("inspect", "model.safetensors", "--json").out)
    assert (about["prediction"], about["upper_prediction"], about["features"]) == ("q05", "q95", ["x"])
    predicted = program("predict", "model.safetensors", "test.csv", "-o", "out.csv")
    assert (predicted.code, predicted.err) == (0, ""), predicted
    table = read(program.folder / "out.csv")
    centre = (table["q05"].to_numpy() + table["q95"].to_numpy()) / 2
    np.testing.assert_allclose(table["prediction"].to_numpy(), centre, rtol=1e-12)
    assert 0.86 < covered(table) < 0.95
    again = program("calibrate", "model.safetensors", "test.csv", "-o", "again.safetensors", "--replace")
    assert again.code == 0, again


def test_the_program_trains_quantiles_itself(program):
    fitted = program(*fit("--base", "quantiles", "--base-options", "rounds=40", "--exclude", "q05,q95"), "-o", "own.st")
    assert (fitted.code, fitted.err) == (0, ""), fitted
    predicted = program("predict", "own.st", "test.csv", "-o", "own.csv")
    assert predicted.code == 0, predicted
    assert 0.86 < covered(read(program.folder / "own.csv")) < 0.95


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--prediction", "q05", "--upper-prediction", "q05"],
            "--prediction and --upper-prediction name the same column",
        ),
        (["--prediction", "q05", "--upper-prediction", "y"], "--upper-prediction and --target name the same column"),
        (["--base", "trees", "--upper-prediction", "q95"], "the base model that is trained here predicts the rows"),
        (["--prediction", "q05", "--upper-prediction", "q96"], "q96"),
        (["--prediction", "q05", "--upper-prediction", "q95", "--calibration", "cross"], "one column of predictions"),
        (["--base", "quantiles", "--base-options", "lower=0.9,upper=0.1"], "a lower quantile below the upper one"),
    ],
)
def test_columns_that_do_not_fit_are_refused(program, arguments, message):
    refused = program(*fit(*arguments), "-o", "refused.st")
    assert refused.code != 0
    assert message in refused.err
