"""Rows that fitted or calibrated a model are detected in any order of rows and columns and any file format."""

import shutil

import numpy as np
import pyarrow as pa
import pytest
from conftest import FIT, make_table, read, write

DATA = 1


@pytest.fixture
def model(homes, tmp_path):
    shutil.copy(homes.folder / "homes.safetensors", tmp_path / "copy.safetensors")
    return tmp_path / "copy.safetensors"


def shuffled(homes, name, folder, rows=None):
    """The rows of a CSV file without the first, with rows and columns in another order, as Parquet."""
    table = read(homes.folder / f"{name}.csv")
    order = np.random.default_rng(0).permutation(np.arange(1, table.num_rows))[:rows]
    columns = ["price", "rooms", "forecast", "b", "city", "a"]
    write(table.select(columns).take(order), folder / f"{name}_shuffled.parquet")
    return folder / f"{name}_shuffled.parquet"


def test_rows_that_fitted_the_model_do_not_calibrate_it(homes, model, tmp_path):
    table = shuffled(homes, "train", tmp_path)
    before = model.read_bytes()
    for more in ([], ["--replace"], ["--emit", tmp_path / "rows.shard"]):
        message = homes.fails(DATA, "calibrate", model, table, *more)
        assert f"{table.name}: 75% of these rows were used to fit the model" in message
        assert "Drop these rows" in message
    assert model.read_bytes() == before and not (tmp_path / "rows.shard").exists()


def test_one_percent_of_rows_that_fitted_is_enough(homes, model, tmp_path):
    new = make_table(10_000, 21)
    some = read(homes.folder / "train.csv").take(np.arange(134))  # three quarters of them fitted
    write(new.slice(0, 9_866), tmp_path / "new.csv")
    homes.ok("calibrate", model, tmp_path / "new.csv", "-o", tmp_path / "out.safetensors")
    write(pa.concat_tables([new.slice(0, 9_866), some.cast(new.schema)]), tmp_path / "mixed.csv")
    assert "% of these rows were used to fit the model" in homes.fails(DATA, "calibrate", model, tmp_path / "mixed.csv")


def test_rows_of_the_calibration_set_do_not_calibrate_it_again(homes, model, tmp_path):
    table = shuffled(homes, "fresh", tmp_path)
    homes.ok("calibrate", model, "fresh.csv")
    message = homes.fails(DATA, "calibrate", model, table)
    assert "100% of these rows are already in the calibration set" in message and "--replace" in message
    report = homes.ok("calibrate", model, table, "--replace", "--json").json
    assert report["rows_seen"] == 1999


def test_merge_finds_rows_that_parts_have_in_common(homes, model, tmp_path):
    table = shuffled(homes, "fresh", tmp_path, rows=500)
    homes.ok("calibrate", model, "fresh.csv", "--emit", tmp_path / "a.shard")
    homes.ok("calibrate", model, table, "--emit", tmp_path / "b.shard")
    message = homes.fails(DATA, "merge", model, tmp_path / "a.shard", tmp_path / "b.shard")
    assert "b.shard: 100% of these rows are already in the calibration set" in message
    homes.ok("merge", model, tmp_path / "a.shard")
    assert "100% of these rows" in homes.fails(DATA, "merge", model, tmp_path / "b.shard")
    homes.ok("merge", model, tmp_path / "b.shard", "--replace")


def test_merge_refuses_parts_of_rows_that_fitted(homes, model, tmp_path):
    # Emitted with a model that was fitted without these rows but has the same scores, like a program without sketches.
    homes(*FIT, "--calibration-size", "0", "-o", tmp_path / "all.safetensors")
    train = read(homes.folder / "train.csv")
    for i in range(4):
        write(train.slice(20 * i, 20), tmp_path / f"{i}.csv")  # too few to be detected separately
        homes.ok("calibrate", tmp_path / "all.safetensors", tmp_path / f"{i}.csv", "--emit", tmp_path / f"{i}.shard")
    parts = [tmp_path / f"{i}.shard" for i in range(4)]
    message = homes.fails(DATA, "merge", tmp_path / "all.safetensors", *parts)
    assert "100% of these rows were used to fit the model" in message


def test_evaluate_says_when_rows_are_not_new(homes, model, tmp_path):
    table = shuffled(homes, "train", tmp_path)
    report = homes.ok("evaluate", model, table, "--json").json
    assert report["seen"]["fitted"] == pytest.approx(0.75, abs=0.01)
    assert report["seen"]["calibrated"] == pytest.approx(0.25, abs=0.01)
    assert report["levels"][0]["verdict"]["word"] == "not new"
    text = " ".join(homes.ok("evaluate", model, table).out.split())
    assert "75% of these rows were used to fit the model, 25% to calibrate it" in text
    assert "does not estimate the coverage of new rows" in text and "Valid" not in text

    homes.ok("calibrate", model, "fresh.csv", "--replace")
    assert "100% of these rows were used to calibrate the model" in homes.ok("evaluate", model, "fresh.csv").out
    assert homes.ok("evaluate", model, "test.csv", "--json").json["seen"] is None
