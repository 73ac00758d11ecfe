"""Calibration in shards: any partition and order of the rows gives the same model; mismatched shards are errors."""

import shutil

import numpy as np
import pyarrow as pa
import pytest
from conftest import FIT, make_table, write

USAGE, DATA = 2, 1


@pytest.fixture
def folder(homes, tmp_path):
    """The program in a folder with a copy of the model and rows with keys, as one table and in shards."""
    shutil.copy(homes.folder / "homes.safetensors", tmp_path / "homes.safetensors")
    table = make_table(1000, 12)
    # Keys beyond 2^53, where adjacent integers round to the same double, and negative keys.
    keys = (np.random.default_rng(0).permutation(1000) - 500).astype(np.int64) + np.int64(1 << 62)
    keys[::7] *= -1
    table = table.append_column("id", pa.array(keys))
    write(table, tmp_path / "rows.csv")
    write(table, tmp_path / "rows.parquet")
    order = np.random.default_rng(1).permutation(1000)
    for i, shard in enumerate(np.split(order, [10, 400])):
        write(table.take(shard), tmp_path / f"shard{i}.{'csv' if i == 1 else 'parquet'}")
    homes.folder = tmp_path
    return homes


PARTS = ["shard0.parquet", "shard1.csv", "shard2.parquet"]


def bytes_of(program, name):
    return (program.folder / name).read_bytes()


def test_any_partition_and_order_gives_the_same_model_to_the_byte(folder):
    folder.ok("calibrate", "homes.safetensors", "rows.csv", "--key", "id", "-o", "whole.safetensors")
    whole = bytes_of(folder, "whole.safetensors")
    folder.ok("calibrate", "homes.safetensors", "rows.parquet", "--key", "id", "-o", "again.safetensors")
    assert bytes_of(folder, "again.safetensors") == whole

    before = bytes_of(folder, "homes.safetensors")
    for i, table in enumerate(PARTS):
        folder.ok("calibrate", "homes.safetensors", table, "--key", "id", "--emit", f"{i}.shard")
    assert bytes_of(folder, "homes.safetensors") == before
    for order in (["0.shard", "1.shard", "2.shard"], ["2.shard", "0.shard", "1.shard"]):
        folder.ok("merge", "homes.safetensors", *order, "-o", "merged.safetensors")
        assert bytes_of(folder, "merged.safetensors") == whole
    for table in PARTS:
        folder.ok("calibrate", "homes.safetensors", table, "--key", "id")
    assert bytes_of(folder, "homes.safetensors") == whole


def test_without_keys_the_order_of_the_parts_does_not_matter(folder):
    for i, table in enumerate(PARTS):
        folder.ok("calibrate", "homes.safetensors", table, "--emit", f"{i}.shard")
    folder.ok("merge", "homes.safetensors", "0.shard", "1.shard", "2.shard", "-o", "one.safetensors")
    folder.ok("merge", "homes.safetensors", "2.shard", "-o", "two.safetensors")
    folder.ok("merge", "two.safetensors", "1.shard", "0.shard")
    assert bytes_of(folder, "one.safetensors") == bytes_of(folder, "two.safetensors")


def test_merge_prints_the_report_of_calibrate(folder):
    told = folder.ok("calibrate", "homes.safetensors", "rows.csv", "--key", "id", "--emit", "rows.shard").out
    assert told == "rows.shard: the scores of 1,000 rows, for 'widthwise merge homes.safetensors'.\n"
    as_json = ["--json", "-o", "out.safetensors"]
    shard = folder.ok(
        "calibrate", "homes.safetensors", "rows.csv", "--key", "id", "--emit", "rows.shard", "--json"
    ).json
    assert shard == {"shard": "rows.shard", "rows_seen": 1000, "rows_kept": 1000}
    calibrated = folder.ok("calibrate", "homes.safetensors", "rows.csv", "--key", "id", *as_json)
    merged = folder.ok("merge", "homes.safetensors", "rows.shard", *as_json)
    assert merged.json == calibrated.json and merged.json["rows_added"] == 1000
    replaced = folder.ok("merge", "homes.safetensors", "rows.shard", "--replace", *as_json).json
    assert (replaced["rows_added"], replaced["rows_seen"]) == (1000, 1000)
    assert "of which 1,000 are new" in folder.ok("merge", "homes.safetensors", "rows.shard").out


def test_rows_that_come_twice_are_refused(folder):
    folder.ok("calibrate", "homes.safetensors", "shard0.parquet", "--key", "id", "--emit", "0.shard")
    folder.ok("calibrate", "homes.safetensors", "rows.csv", "--key", "id", "--emit", "all.shard")
    message = folder.fails(DATA, "merge", "homes.safetensors", "0.shard", "all.shard")
    assert message.startswith("widthwise merge: all.shard: rows of this shard are already in the calibration")
    folder.ok("merge", "homes.safetensors", "0.shard")
    before = bytes_of(folder, "homes.safetensors")
    message = folder.fails(DATA, "merge", "homes.safetensors", "0.shard")
    assert "0.shard: rows of this shard are already in the calibration set" in message and "--replace" in message
    message = folder.fails(DATA, "calibrate", "homes.safetensors", "rows.csv", "--key", "id")
    assert "rows.csv: the row with key " in message and "--replace" in message
    assert bytes_of(folder, "homes.safetensors") == before


def test_a_key_that_two_rows_of_a_table_have_is_named(folder):
    table = make_table(50, 5)
    write(table.append_column("id", pa.array([*range(-48, 1), -7])), folder.folder / "twice.csv")
    before = bytes_of(folder, "homes.safetensors")
    for more in ([], ["--emit", "x.shard"], ["--replace"]):
        message = folder.fails(DATA, "calibrate", "homes.safetensors", "twice.csv", "--key", "id", *more)
        assert message == (
            "widthwise calibrate: twice.csv: two rows have key -7 in 'id'; expected a unique integer per row"
        )
    assert not (folder.folder / "x.shard").exists()
    assert bytes_of(folder, "homes.safetensors") == before


@pytest.mark.parametrize("key, words", [("city", "is not a number"), ("a", "is not a 64-bit integer")])
def test_a_key_is_a_whole_number(folder, key, words):
    message = folder.fails(DATA, "calibrate", "homes.safetensors", "rows.csv", "--key", key)
    assert f"rows.csv: column '{key}', row 1: " in message and words in message


def test_a_misspelt_key_suggests_the_nearest(folder):
    message = folder.fails(USAGE, "calibrate", "homes.safetensors", "rows.csv", "--key", "idd")
    assert message == "widthwise calibrate: rows.csv: no column 'idd'; did you mean 'id'?"


def test_a_part_of_another_model_is_refused(folder):
    write(make_table(1000, 13), folder.folder / "train.csv")
    assert folder(*FIT, "--seed", "5", "-o", "other.safetensors").code == 0
    folder.ok("calibrate", "other.safetensors", "shard1.csv", "--key", "id", "--emit", "other.shard")
    message = folder.fails(DATA, "merge", "homes.safetensors", "other.shard")
    assert message.startswith("widthwise merge: other.shard: found scores of another model (fingerprint ")
    assert message.endswith("or of rows of another population; score these rows again with this model")


def test_a_calibrated_model_still_takes_parts_that_were_made_before(folder):
    folder.ok("calibrate", "homes.safetensors", "shard0.parquet", "--key", "id", "--emit", "0.shard")
    folder.ok("calibrate", "homes.safetensors", "shard1.csv", "--key", "id")
    folder.ok("merge", "homes.safetensors", "0.shard")


def test_a_damaged_part_is_bad_data(folder):
    folder.ok("calibrate", "homes.safetensors", "shard0.parquet", "--emit", "0.shard")
    content = bytes_of(folder, "0.shard")
    before = bytes_of(folder, "homes.safetensors")
    for size in (0, 7, 100, len(content) // 2, len(content) - 1):
        (folder.folder / "cut.shard").write_bytes(content[:size])
        assert "cut.shard" in folder.fails(DATA, "merge", "homes.safetensors", "cut.shard")
    assert "not a calibration shard: found a model" in folder.fails(
        DATA, "merge", "homes.safetensors", "homes.safetensors"
    )
    for command in (["inspect"], ["predict", "shard0.parquet", "-o", "x.csv"]):
        message = folder.fails(DATA, command[0], "0.shard", *command[1:])
        assert "0.shard: not a model file: found a calibration shard" in message
    assert "nosuch.shard" in folder.fails(DATA, "merge", "homes.safetensors", "nosuch.shard")
    assert bytes_of(folder, "homes.safetensors") == before


def test_emit_writes_no_model(folder):
    for more in (["--replace"], ["-o", "x.safetensors"]):
        folder.fails(USAGE, "calibrate", "homes.safetensors", "rows.csv", "--emit", "x.shard", *more)
    folder.fails(USAGE, "merge", "homes.safetensors")
