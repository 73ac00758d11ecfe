"""A drifting stream of real data: bike rentals by date, fitted on the first months of a service that then grew.

The level and the stream are fixed, and no setting of the method was chosen on them.
"""

import json
import random

import pytest

LEVEL = 0.9


@pytest.fixture(scope="module")
def bikes(data_folder, run, tmp_path_factory):
    """A model of the first 35% of the hours, calibrated with the next 10%, and the table of the rest, in order."""
    folder = tmp_path_factory.mktemp("bikes")
    about = json.loads((data_folder / "datasets.json").read_text())["bike"]
    header, *lines = (data_folder / about["file"]).read_text().splitlines()
    year, month = (header.split(",").index(name) for name in ("year", "month"))
    dates = [tuple(int(line.split(",")[column]) for column in (year, month)) for line in lines]
    assert dates == sorted(dates), "the file is not in the order of time"
    fitted, calibrated = int(0.35 * len(lines)), int(0.45 * len(lines))
    parts = {"fit": lines[:fitted], "calibrate": lines[fitted:calibrated], "stream": lines[calibrated:]}
    for name, rows in parts.items():
        (folder / f"{name}.csv").write_text("\n".join([header, *rows]) + "\n")
    model = folder / "bikes.safetensors"
    run("fit", folder / "fit.csv", "--target", about["target"], "--base", "trees", "--calibration-size", 0,
        "--threads", 1, "-o", model)  # fmt: skip
    run("calibrate", model, folder / "calibrate.csv")
    return model, folder / "stream.csv"


@pytest.mark.parametrize("method", ["adaptive", "decaying"])
def test_the_long_run_keeps_the_level_where_a_fixed_calibration_does_not(bikes, run, tmp_path, method):
    model, stream = bikes
    report = run("track", model, stream, "--level", LEVEL, "--method", method, "-o", tmp_path / "out.csv", "--json")
    (found,) = report["levels"]
    print(
        f"{method}: {found['coverage']:.4f}, recent {found['recent_coverage']:.4f}, fixed {found['fixed_coverage']:.4f}"
    )
    assert found["rows"] > 5000
    assert abs(found["coverage"] - LEVEL) <= 0.01
    assert found["fixed_coverage"] < LEVEL - 0.03
    # The fixed intervals are those of predict.
    evaluated = run("evaluate", model, stream, "--level", LEVEL, "--json")["levels"][0]
    assert found["fixed_coverage"] == pytest.approx(evaluated["coverage"]["share"], abs=1e-9)


def test_the_alarm_is_raised_by_date_and_not_in_random_order(bikes, run, tmp_path):
    model, stream = bikes
    alarm = run("evaluate", model, stream, "--in-order", "--json")["exchangeability"]["alarm"]
    print(f"alarm at row {alarm['row']}, errors {alarm['errors']}")
    assert alarm["errors"] == "larger" and alarm["row"] < 2000
    # Calibration rows and new rows of the whole period in random order are exchangeable.
    lines = stream.read_text().splitlines()
    rows = lines[1:]
    random.Random(0).shuffle(rows)
    half = len(rows) // 2
    for name, part in {"calibrate": rows[:half], "new": rows[half:]}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *part]) + "\n")
    shuffled = tmp_path / "shuffled.safetensors"
    run("calibrate", model, tmp_path / "calibrate.csv", "--replace", "-o", shuffled)
    found = run("evaluate", shuffled, tmp_path / "new.csv", "--in-order", "--json")["exchangeability"]
    assert found["alarm"] is None and found["rows"] == len(rows) - half
