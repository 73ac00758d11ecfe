"""The command line and a program without training engines give the same bits for one model file."""

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
        ["--base", "knn", "--exclude", "f", "--goal", "narrow"],
    ],
    ids=["narrow", "even-two-sided", "net", "trees", "knn"],
)
def test_a_program_without_engines_gives_the_same_intervals(how, run, serve, tmp_path):
    linked = subprocess.run(["ldd", serve], capture_output=True, text=True, check=True).stdout
    for library in ("torch", "xgboost", "arrow", "parquet", "python"):
        assert library not in linked

    pyarrow.parquet.write_table(table(3000, 1), tmp_path / "fit.parquet")
    new = table(500, 2)
    pyarrow.parquet.write_table(new, tmp_path / "new.parquet")
    model = tmp_path / "model.safetensors"
    run("fit", tmp_path / "fit.parquet", "--target", "y", *how, "--no-compare", "-o", model)
    run("predict", model, tmp_path / "new.parquet", "--level", "0.9", "-o", tmp_path / "out.parquet")
    out = pyarrow.parquet.read_table(tmp_path / "out.parquet")

    inputs = [f"x{j}" for j in range(4)] + (["f"] if "--prediction" in how else [])
    rows = zip(*(new[name].to_pylist() for name in inputs), strict=True)
    lines = "".join(",".join("" if value is None else repr(value) for value in row) + "\n" for row in rows)
    served = subprocess.run([serve, model, "0.9"], input=lines, capture_output=True, text=True, check=True).stdout
    ours = numpy.array([[float(cell) for cell in line.split(",")] for line in served.splitlines()])
    assert numpy.isfinite(ours).all()
    assert (ours[:, 1] == out["lower_0.9"].to_numpy()).all()
    assert (ours[:, 2] == out["upper_0.9"].to_numpy()).all()
    assert (ours[:, 2] > ours[:, 1]).mean() > 0.5
