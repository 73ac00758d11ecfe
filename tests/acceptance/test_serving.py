"""The command line and a program without training engines give the same bits for one model file."""

import json
import subprocess

import numpy
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest


def table(rows, seed, missing=0.1):
    random = numpy.random.default_rng(seed)
    x = random.normal(size=(rows, 4))
    y = x[:, 0] + numpy.exp(x[:, 1] / 2) * random.normal(size=rows)
    f = x[:, 0] + 0.1 * random.normal(size=rows)
    x[random.random(x.shape) < missing] = numpy.nan
    columns = {f"x{j}": pyarrow.array(x[:, j], from_pandas=True) for j in range(4)}
    return pyarrow.table({**columns, "f": f, "y": y})


@pytest.mark.parametrize(
    "how",
    [
        ["--prediction", "f", "--goal", "narrow"],
        ["--prediction", "f", "--goal", "even", "--two-sided"],
        ["--prediction", "f", "--localizer", "net"],
        ["--base", "trees", "--exclude", "f"],
    ],
    ids=["narrow", "even-two-sided", "net", "trees"],
)
def test_a_program_without_engines_gives_the_same_intervals(how, run, serve, tmp_path):
    linked = subprocess.run(["ldd", serve], capture_output=True, text=True, check=True).stdout
    for library in ("torch", "xgboost", "arrow", "parquet", "python"):
        assert library not in linked

    pyarrow.parquet.write_table(table(3000, 1), tmp_path / "fit.parquet")
    new = table(500, 2)
    pyarrow.parquet.write_table(new, tmp_path / "new.parquet")
    model = tmp_path / "model.safetensors"
    run("fit", tmp_path / "fit.parquet", "--target", "y", *how, "-o", model)
    run("predict", model, tmp_path / "new.parquet", "--level", "0.9", "-o", tmp_path / "out.parquet")
    out = pyarrow.parquet.read_table(tmp_path / "out.parquet")

    lines = "".join(json.dumps({"id": i, "row": row}) + "\n" for i, row in enumerate(new.to_pylist()))
    served = subprocess.run([serve, model, "0.9", "2"], input=lines, capture_output=True, text=True, check=True).stdout
    answers = sorted(map(json.loads, served.splitlines()), key=lambda answer: answer["id"])
    lower, upper, prediction = (numpy.array([a[name] for a in answers]) for name in ("lower", "upper", "prediction"))
    assert numpy.isfinite(lower).all()
    assert (lower == out["lower_0.9"].to_numpy()).all()
    assert (upper == out["upper_0.9"].to_numpy()).all()
    assert (prediction == (new["f"] if "--prediction" in how else out["prediction"]).to_numpy()).all()
    assert (upper > lower).mean() > 0.5
