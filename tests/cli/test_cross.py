"""Cross-calibration on the command line."""

import json

import numpy as np
import pyarrow as pa
import pytest
from conftest import Program, read, write

FIT = ["--target", "y", "--base", "trees", "--base-options", "rounds=5", "--score-transform", "identity"]
CROSS = [*FIT, "--calibration", "cross"]


def make_rows(n, seed):
    random = np.random.default_rng(seed)
    x = random.uniform(0, 4, n)
    return {"x": x, "kind": random.choice(["a", "b"], n).tolist(), "y": x + random.standard_normal(n), "forecast": x}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    program = Program(tmp_path_factory.mktemp("cross"))
    for name, n, seed in [("fit", 60, 1), ("new", 400, 2), ("many", 1001, 3)]:
        write(pa.table(make_rows(n, seed)), program.folder / f"{name}.csv")
    done = program("fit", "fit.csv", *CROSS, "--exclude", "forecast", "-o", "model.safetensors")
    assert done.code == 0, done.err
    assert "60, in 5 folds" in done.out
    return program


def test_a_model_predicts_and_is_evaluated(folder):
    folder.ok("predict", "model.safetensors", "new.csv", "-o", "out.csv")
    out = read(folder.folder / "out.csv")
    lower, upper, y = (np.array(out[name]) for name in ("lower_0.9", "upper_0.9", "y"))
    assert (np.array(out["prediction"]) <= upper).all()
    assert np.mean((lower <= y) & (y <= upper)) > 0.8
    found = json.loads(folder.ok("evaluate", "model.safetensors", "new.csv", "--json").out)
    assert "Cross-calibration with 60 rows in 5 folds guarantees at least 68.9%" in found["verdict"]["evidence"]


def test_inspect_shows_folds_and_guarantee(folder):
    out = " ".join(folder.ok("inspect", "model.safetensors").out.split())
    assert "60 rows, each calibrates the model of its fold; 5 folds" in out
    assert "covers at least 68.9% of new outcomes on average over training sets" in out
    assert json.loads(folder.ok("inspect", "model.safetensors", "--json").out)["fold_rows"] == [12] * 5


def test_jackknife_has_a_fold_per_row(folder):
    folder.ok("fit", "fit.csv", *CROSS, "--folds", "all", "--exclude", "forecast", "-o", "each.safetensors")
    assert "covers at least 80.0%" in " ".join(folder.ok("inspect", "each.safetensors").out.split())


def test_predictions_of_a_deployed_model(folder):
    options = ["--target", "y", "--prediction", "forecast", "--score-transform", "identity", "--calibration", "cross"]
    folder.ok("fit", "fit.csv", *options, "-o", "given.safetensors")
    folder.ok("predict", "given.safetensors", "new.csv", "-o", "given.csv")
    out = read(folder.folder / "given.csv")
    widths = np.array(out["upper_0.9"]) - np.array(out["lower_0.9"])
    residuals = np.sort(np.abs(np.subtract(*(read(folder.folder / "fit.csv")[name] for name in ("y", "forecast")))))
    np.testing.assert_allclose(widths, 2 * residuals[54], rtol=1e-9)  # ceil(0.9 * 61) = 55


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "fit.csv", *CROSS, "--group", "kind", "-o", "no"], "does not calibrate groups separately"),
        (["fit", "fit.csv", *CROSS, "--guarantee", "0.95", "-o", "no"], "has no guarantee 0.95"),
        (
            ["fit", "fit.csv", *CROSS, "--calibration-size", "20", "-o", "no"],
            "every row calibrates the model of its fold",
        ),
        (["fit", "many.csv", *CROSS, "--folds", "all", "-o", "no"], "a model per fold, at most 1000; found 1001 folds"),
        (["fit", "fit.csv", *FIT, "--folds", "all", "-o", "no"], "needs cross-calibration"),
        (["calibrate", "model.safetensors", "new.csv"], "fit with split calibration"),
        (
            ["predict", "model.safetensors", "new.csv", "--quantile", "0.9", "-o", "no.csv"],
            "fit with split calibration",
        ),
        (["predict", "model.safetensors", "new.csv", "--guarantee", "0.9", "-o", "no.csv"], "split calibration"),
        (["track", "model.safetensors", "new.csv", "-o", "no.csv"], "split calibration"),
    ],
)
def test_errors_name_the_remedy(folder, arguments, message):
    done = folder(*arguments)
    assert done.code != 0
    assert message in done.err
