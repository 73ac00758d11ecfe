"""Python and the command line print the same reports, as text and as JSON."""

import json
import math

import numpy as np
import pytest

from examples import Rows
from widthwise import Localizer, OnlinePredictor, Predictor, plan

NAMES = ["size", "age", "noise"]
FIT = ["--target", "y", "--prediction", "y_pred", "--threads", "1", "--level", "0.9,0.999"]


def write(file, rows):
    table = np.column_stack([rows.X, rows.y_pred, rows.y])
    lines = [",".join("" if math.isnan(value) else f"{value:.17g}" for value in row) for row in table]
    file.write_text("\n".join([",".join([*NAMES, "y_pred", "y"]), *lines, ""]))
    return file.name


def without_numbers_that_are_not_finite(value):
    """As strict JSON has it: null."""
    if isinstance(value, dict):
        return {key: without_numbers_that_are_not_finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_numbers_that_are_not_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def printed(program, folder, *arguments):
    """Text and JSON of a command."""
    text, report = (program(*arguments, *options, cwd=folder) for options in ([], ["--json"]))
    assert text.returncode == report.returncode == 0, text.stderr + report.stderr
    return text.stdout, json.loads(report.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, program):
    """A folder with tables and a fitted model."""
    path = tmp_path_factory.mktemp("reports")
    write(path / "fit.csv", Rows(2000))
    write(path / "test.csv", Rows(1500, seed=1))
    done = program("fit", "fit.csv", *FIT, "-o", "model.safetensors", cwd=path)
    assert done.returncode == 0, done.stderr
    return path


def test_fit(folder, program):
    rows = Rows(2000)
    options = [*FIT, "--calibration-size", "0", "-o", "own.safetensors"]
    text, report = printed(program, folder, "fit", "fit.csv", *options)
    localizer = Localizer(confidence_level=[0.9, 0.999], random_state=0, n_jobs=1)
    localizer.fit(rows.frame(), rows.y, rows.y_pred)
    for key in ("model", "table", "left_out"):
        del report[key]
    assert without_numbers_that_are_not_finite(dict(localizer.fit_report_)) == report
    assert text.replace("own.safetensors: fitted on fit.csv, 3", "Fitted with 3") == f"{localizer.fit_report_}\n"


def test_evaluate(folder, program):
    rows = Rows(1500, seed=1)
    text, report = printed(program, folder, "evaluate", "model.safetensors", "test.csv")
    predictor = Predictor.load(folder / "model.safetensors")
    with pytest.warns(UserWarning, match="level 0.999 are infinite"):
        evaluation = predictor.evaluate(rows.frame(), rows.y, rows.y_pred)
    assert report.pop("table") == "test.csv"
    assert without_numbers_that_are_not_finite(dict(evaluation)) == report
    assert evaluation["levels"][1]["mean_width"] == math.inf
    assert text == f"test.csv: {evaluation}\n"


def test_evaluate_with_conditional_coverage(folder, program):
    rows = Rows(1500, seed=1)
    arguments = ["evaluate", "model.safetensors", "test.csv", "--level", "0.9", "--conditional"]
    text, report = printed(program, folder, *arguments)
    evaluation = Predictor.load(folder / "model.safetensors").evaluate(
        rows.frame(), rows.y, rows.y_pred, confidence_level=0.9, conditional=True
    )
    assert report["levels"][0]["ert"] == evaluation["levels"][0]["ert"] is not None
    assert text == f"test.csv: {evaluation}\n"


def test_evaluate_on_rows_that_were_seen(folder, program):
    rows = Rows(2000)
    text, report = printed(program, folder, "evaluate", "model.safetensors", "fit.csv", "--level", "0.9")
    with pytest.warns(UserWarning, match="used to fit the model"):
        evaluation = Predictor.load(folder / "model.safetensors").evaluate(
            rows.frame(), rows.y, rows.y_pred, confidence_level=0.9
        )
    assert report["seen"] == evaluation["seen"]
    assert text == f"fit.csv: {evaluation}\n"


@pytest.mark.parametrize(
    "arguments", [{"tolerance": 0.02}, {"rows": 99}, {"rows": 3}, {"rows": 500, "guarantee": 0.95}]
)
def test_plan(tmp_path, program, arguments):
    options = [word for name, value in arguments.items() for word in (f"--{name}", value)]
    text, report = printed(program, tmp_path, "plan", *options)
    made = plan(0.9, **arguments)
    assert " ".join(text.split()) == str(made) == report["summary"]
    assert (made.rows, made.mean, made.low, made.high) == tuple(report[key] for key in ("rows", "mean", "low", "high"))


def test_track(folder, program):
    rows = Rows(1500, seed=1)
    _, report = printed(program, folder, "track", "model.safetensors", "test.csv", "-o", "out.csv", "--level", "0.9")
    online = OnlinePredictor(Predictor.load(folder / "model.safetensors"), 0.9)
    online.track(rows.frame(), rows.y, rows.y_pred)
    level = report["levels"][0]
    assert online.coverage == [level["coverage"]]
    assert online.recent_coverage == [level["recent_coverage"]]
    assert online.fixed_coverage == [level["fixed_coverage"]]
