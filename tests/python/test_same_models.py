"""The same table, options and seed give the same model: the same bytes with any number of threads, and the same numbers
in Python and on the command line, except for the numbers of the calibration rows, which identify a file or an array."""

import json
import struct

import numpy as np
import pytest
from test_same_reports import NAMES, write

from examples import Rows
from widthwise import WidthwiseRegressor

FEATURES = ["--features", ",".join(NAMES)]
CASES = {
    "base model": (
        ["--base", "trees", "--base-options", "rounds=20", *FEATURES],
        {"base_options": {"rounds": 20}},
        False,
    ),
    "predictions": (["--prediction", "y_pred"], {}, True),
    "narrow": (["--prediction", "y_pred", "--goal", "narrow"], {"goal": "narrow"}, True),
    "cross": (
        ["--base", "trees", "--base-options", "rounds=5", "--calibration", "cross", *FEATURES],
        {"base_options": {"rounds": 5}, "calibration": "cross"},
        False,
    ),
}


def arrays(model):
    """The arrays of a model file by name, as bytes."""
    (size,) = struct.unpack("<Q", model[:8])
    header, data = json.loads(model[8 : 8 + size]), model[8 + size :]
    found = {name: data[slice(*about["data_offsets"])] for name, about in header.items() if name != "__metadata__"}
    return found, header["__metadata__"]


@pytest.mark.parametrize("name", CASES)
def test_same_models(name, tmp_path, program):
    arguments, options, predicted = CASES[name]
    rows, new = Rows(1200), Rows(300, seed=1)
    write(tmp_path / "fit.csv", rows)
    given = {"y_pred": rows.y_pred} if predicted else {}
    models = {}
    for threads in (1, 2, 4):
        command = [
            "fit",
            "fit.csv",
            "--target",
            "y",
            *arguments,
            "--seed",
            "3",
            "--threads",
            str(threads),
        ]
        done = program(*command, "-o", f"program{threads}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        model = WidthwiseRegressor(random_state=3, n_jobs=threads, **options)
        model.fit(rows.frame(), rows.y, **given).save(tmp_path / f"python{threads}")
        for interface in ("program", "python"):
            models[interface, threads] = (tmp_path / f"{interface}{threads}").read_bytes()
            assert models[interface, threads] == models[interface, 1], (interface, threads)

    (ours, about), (theirs, about_theirs) = arrays(models["program", 1]), arrays(models["python", 1])
    numbered = {key for key in ours if key == "calibration" or key.startswith("fold.")}
    assert {key for key in ours if ours[key] != theirs[key]} <= numbered
    assert about["note.options"] == about_theirs["note.options"]
    given = {"y_pred": new.y_pred} if predicted else {}
    intervals = [
        WidthwiseRegressor.load(tmp_path / f"{interface}1").predict_interval(new.frame(), **given)[1]
        for interface in ("program", "python")
    ]
    np.testing.assert_array_equal(*intervals)


@pytest.mark.parametrize("kind", ["years", "integers"])
def test_the_same_rows_calibrate_by_time(kind, tmp_path, program):
    rows = Rows(800)
    order = np.random.default_rng(2).permutation(800)
    dates = np.datetime64("1400-01-01") + 500 * order  # to the year 2495
    times = {"years": dates, "integers": 2**53 + order}[kind]
    write(tmp_path / "fit.csv", rows)
    header, *lines = (tmp_path / "fit.csv").read_text().splitlines()
    with_times = [f"{header},when", *(f"{line},{time}" for line, time in zip(lines, times, strict=True))]
    (tmp_path / "fit.csv").write_text("\n".join(with_times) + "\n")
    command = ["fit", "fit.csv", "--target", "y", "--prediction", "y_pred", "--time", "when", "--seed", "3"]
    done = program(*command, "--score-transform", "identity", "-o", "program", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    model = WidthwiseRegressor(random_state=3, n_jobs=1, score_transform="identity")
    bounds = []
    for given in (times, list(times.tolist())):
        model.fit(rows.frame(), rows.y, y_pred=rows.y_pred, time=given)
        bounds.append(model.predict_interval(rows.frame()[:1], y_pred=rows.y_pred[:1])[1])
    theirs = WidthwiseRegressor.load(tmp_path / "program")
    bounds.append(theirs.predict_interval(rows.frame()[:1], y_pred=rows.y_pred[:1])[1])
    latest = np.argsort(order)[600:]
    scores = np.sort(np.abs(rows.y - rows.y_pred)[latest])
    width = 2 * scores[int(np.ceil(0.9 * 201)) - 1]
    for found in bounds:
        assert found[0, 1, 0] - found[0, 0, 0] == pytest.approx(width)
