"""calibrate and merge of models with weights: the population of the rows is stated."""

import numpy as np
import pyarrow as pa
import pytest
from conftest import read, write

FIT = ["fit", "fit.csv", "--target", "y", "--prediction", "f", "--score-transform", "identity", "--threads", "1"]
USAGE = 2


def table(n, shift, seed):
    """Rows whose errors grow with `a`, shifted in `a`, with their likelihood ratio `w`."""
    random = np.random.default_rng(seed)
    a, b = random.normal(size=n) + shift, random.normal(size=n)
    y = b + np.exp(a / 2) * random.normal(size=n)
    columns = {"a": a, "b": b, "f": b, "y": y, "w": np.exp(a - 0.5), "id": np.arange(n) + 1000 * seed}
    return pa.table(columns)


@pytest.fixture
def program(widthwise):
    for name, rows in {"fit": table(600, 0, 1), "source": table(200, 0, 2), "target": table(200, 1, 3)}.items():
        write(rows, widthwise.folder / f"{name}.csv")
    write(table(100, 1, 4).drop(["w"]), widthwise.folder / "new.csv")  # without weights
    fitted = widthwise(*FIT, "--weight", "w", "-o", "model.safetensors")
    assert fitted.code == 0, fitted
    return widthwise


@pytest.mark.parametrize("replace", [[], ["--replace"]])
def test_the_population_must_be_stated(program, replace):
    for command in (["calibrate", "model.safetensors", "target.csv"], ["merge", "model.safetensors", "source.shard"]):
        if command[0] == "merge":
            program.ok(
                "calibrate", "model.safetensors", "source.csv", "--population", "source", "--emit", "source.shard"
            )
        error = program.fails(USAGE, *command, *replace)
        assert "the population of these rows must be stated" in error
    if not replace:
        emitted = program.fails(USAGE, "calibrate", "model.safetensors", "source.csv", "--emit", "source.shard")
        assert "must be stated" in emitted
        error = program.fails(USAGE, "calibrate", "model.safetensors", "target.csv", "--population", "target")
        assert "shifted twice" in error
    assert "'other' is not one of" in program.fails(
        USAGE, "calibrate", "model.safetensors", "target.csv", "--population", "other"
    )


def test_rows_to_predict_calibrate_without_weights(program):
    arguments = ["--replace", "--population", "target", "--key", "id"]
    report = program.ok(
        "calibrate", "model.safetensors", "target.csv", *arguments, "--guarantee", "0.95", "-o", "pac.safetensors"
    )
    assert "the model no longer has weights" in " ".join(report.out.split())
    done = program.ok("calibrate", "model.safetensors", "target.csv", *arguments, "-o", "target.safetensors", "--json")
    assert done.json["weights_dropped"] is True
    assert done.json["guarantee_statement"].startswith("marginal: ")
    inside = program.ok("inspect", "target.safetensors", "--json").json
    assert inside["weight"] is None and inside["calibration"]["weighted"] is False
    assert "dropped" in inside["notes"]["weights"]
    program.ok("predict", "target.safetensors", "new.csv", "-o", "out.csv")
    # The same quantile as for a model that never had weights.
    assert program(*FIT, "--exclude", "w", "--calibration-size", "0", "-o", "plain.safetensors").code == 0
    program.ok("calibrate", "plain.safetensors", "target.csv", "--key", "id")
    program.ok("predict", "plain.safetensors", "new.csv", "-o", "plain.csv")
    widths = [np.array(read(program.folder / name)["upper_0.9"]) for name in ("out.csv", "plain.csv")]
    np.testing.assert_allclose(*widths)
    error = program.fails(USAGE, "calibrate", "target.safetensors", "source.csv", "--population", "source")
    assert "the model has no weights" in error


def test_shards_are_of_one_population(program):
    for name in ("source", "target"):
        rows = ["calibrate", "model.safetensors", f"{name}.csv", "--key", "id", "--population", name]
        program.ok(*rows, "--emit", f"{name}.shard")
    added = program.ok("merge", "model.safetensors", "source.shard", "--population", "source", "-o", "a.safetensors")
    assert "weighted" in added.out
    merged = ["merge", "model.safetensors", "target.shard", "--population", "target", "--replace"]
    assert program.ok(*merged, "-o", "b.safetensors", "--json").json["weights_dropped"] is True
    whole = ["calibrate", "model.safetensors", "target.csv", "--key", "id", "--population", "target", "--replace"]
    program.ok(*whole, "-o", "c.safetensors")
    assert (program.folder / "b.safetensors").read_bytes() == (program.folder / "c.safetensors").read_bytes()
    for shard, population in (("target", "source"), ("source", "target")):
        error = program("merge", "model.safetensors", f"{shard}.shard", "--population", population, "--replace")
        assert error.code == 1
        assert "of rows of another population" in error.err
    assert "shifted twice" in program("merge", "model.safetensors", "target.shard", "--population", "target").err
