"""Ids of rows: copied by predict, named in messages, and listed by evaluate and report."""

import numpy as np
import pyarrow as pa
import pytest
from conftest import Program, read, write

FIT = ["fit", "fit.csv", "--target", "y", "--prediction", "forecast", "--score-transform", "identity", "--id", "order"]


def make_rows(rows, seed):
    random = np.random.default_rng(seed)
    x = random.uniform(0, 4, rows)
    ids = [f"A-{seed}{i:03}" for i in range(rows)]
    return {"order": ids, "x": x, "forecast": x, "y": x + random.normal(size=rows)}


@pytest.fixture(scope="module")
def ordered(tmp_path_factory):
    """A folder with tables whose rows have ids, and a model fitted with them."""
    program = Program(tmp_path_factory.mktemp("ids"))
    for name, rows, seed in [("fit", 300, 1), ("more", 40, 2), ("new", 200, 3)]:
        write(pa.table(make_rows(rows, seed)), program.folder / f"{name}.csv")
    program.ok(*FIT, "-o", "model.safetensors")
    return program


def change(program, name, column, row, value):
    """Copy a table with another value in one cell, as changed.csv."""
    table = read(program.folder / name).to_pydict()
    table[column][row] = value
    write(pa.table(table), program.folder / "changed.csv")


def test_the_model_names_the_column_and_does_not_learn_from_it(ordered):
    model = ordered.ok("inspect", "model.safetensors", "--json").json
    assert model["id"] == "order" and model["features"] == ["x"]
    assert "ids column 'order'" in " ".join(ordered.ok("inspect", "model.safetensors").out.split())


def test_predict_copies_ids(ordered):
    for columns, names in [([], ["order", "x", "forecast", "y"]), (["--columns", "x"], ["order", "x"])]:
        ordered.ok("predict", "model.safetensors", "new.csv", *columns, "--level", "0.9", "-o", "out.csv")
        found = read(ordered.folder / "out.csv")
        assert found.column_names == [*names, "lower_0.9", "upper_0.9"]
        assert found["order"].to_pylist() == make_rows(200, 3)["order"]
    table = read(ordered.folder / "new.csv").drop(["order"])
    write(table, ordered.folder / "unnamed.csv")
    ordered.ok("predict", "model.safetensors", "unnamed.csv", "-o", "out.csv")


def test_messages_name_ids(ordered):
    change(ordered, "fit.csv", "y", 16, float("nan"))
    arguments = ["changed.csv" if each == "fit.csv" else each for each in FIT]
    error = ordered.fails(1, *arguments, "-o", "other.safetensors")
    assert "changed.csv: row 17, id A-1016: 'y' is missing; remove the rows without an outcome" in error
    change(ordered, "fit.csv", "y", 16, -5.0)
    error = ordered.fails(1, *arguments, "--outcome-range", "0,", "-o", "other.safetensors")
    assert "row 17, id A-1016 is -5" in error
    change(ordered, "more.csv", "y", 3, float("inf"))
    error = ordered.fails(1, "calibrate", "model.safetensors", "changed.csv", "-o", "other.safetensors")
    assert "changed.csv: row 4, id A-2003: 'y' is infinite" in error
    change(ordered, "more.csv", "order", 3, None)
    table = read(ordered.folder / "changed.csv").to_pydict()
    table["y"][3] = float("nan")
    write(pa.table(table), ordered.folder / "changed.csv")
    error = ordered.fails(1, "evaluate", "model.safetensors", "changed.csv")
    assert "changed.csv: row 4: 'y' is missing" in error


def test_evaluate_and_report_list_rows(ordered):
    rows = make_rows(200, 3)
    level = ordered.ok("evaluate", "model.safetensors", "new.csv", "--level", "0.9", "--json").json["levels"][0]
    error = np.abs(rows["y"] - rows["forecast"])
    farthest = np.argsort(-error)[:5]
    missed = level["rows"]["missed"]
    assert [row["row"] for row in missed] == (farthest + 1).tolist()
    assert [row["id"] for row in missed] == [rows["order"][i] for i in farthest]
    assert [row["outcome"] for row in missed] == [rows["y"][i] for i in farthest]
    assert all(row["outcome"] < row["lower"] or row["outcome"] > row["upper"] for row in missed)
    assert len(level["rows"]["widest"]) == 5
    text = ordered.ok("evaluate", "model.safetensors", "new.csv").out
    assert "farthest missed" in text and missed[0]["id"] in text
    ordered.ok("report", "model.safetensors", "new.csv", "-o", "page.html")
    page = (ordered.folder / "page.html").read_text()
    assert "Outcomes farthest outside their interval" in page and missed[0]["id"] in page


def test_rows_without_ids_are_not_listed(ordered):
    level = ordered.ok("evaluate", "model.safetensors", "unnamed.csv", "--json").json["levels"][0]
    assert level["rows"] == {"widest": [], "missed": []}
    assert "farthest missed" not in ordered.ok("evaluate", "model.safetensors", "unnamed.csv").out
