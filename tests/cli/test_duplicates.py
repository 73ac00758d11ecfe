"""Copies of rows in the table of `fit` on the command line."""

import numpy as np
import pyarrow as pa
import pytest
from conftest import Program, read, write
from programs import fit_with_workers
from pyarrow import parquet

# Trees that predict a row they were fitted on by its own outcome.
MEMORY = "rounds=60,learning_rate=0.3,max_depth=12,min_child_weight=0,lambda=0,subsample=1,column_sample=1"
FIT = ["--target", "y", "--base", "trees", "--base-options", MEMORY, "--score-transform", "identity", "--threads", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Each row twice in twice.csv, once in once.csv; new rows in new.csv."""
    program = Program(tmp_path_factory.mktemp("duplicates"))
    random = np.random.default_rng(0)
    a, b = random.uniform(-1, 1, (2, 3000))
    rows = pa.table({"a": a, "b": b, "y": np.sin(3 * a) + b + 0.5 * random.standard_normal(3000)})
    write(rows[:600], program.folder / "once.csv")
    write(pa.concat_tables([rows[:600]] * 2), program.folder / "twice.csv")
    parquet.write_table(pa.concat_tables([rows[:600]] * 2), program.folder / "twice.parquet", row_group_size=300)
    write(rows[600:], program.folder / "new.csv")
    return program


def coverage(folder, *options):
    done = folder("fit", "twice.csv", *FIT, "-o", "model.safetensors", *options)
    assert done.code == 0, done.err
    return done, folder("evaluate", "model.safetensors", "new.csv", "--json").json["levels"][0]["coverage"]["share"]


def test_copies_are_kept_on_one_side_with_a_warning(folder):
    done, share = coverage(folder)
    told = " ".join(done.err.split())
    assert "50.0% of the rows (600 of 1200) are copies of other rows, which is more than chance allows" in told
    assert "calibration rows 150" in " ".join(done.out.split())
    assert share > 0.85
    report = folder("fit", "twice.csv", *FIT, "-o", "model.safetensors", "--json").json
    assert any("are copies of other rows" in text for text in report["warnings"])


@pytest.mark.parametrize("choice", ["cluster", "drop"])
def test_an_explicit_choice_gives_no_warning(folder, choice):
    done, share = coverage(folder, "--duplicates", choice)
    assert done.err == ""
    assert share > 0.85


def test_drop_is_the_fit_of_the_distinct_rows(folder):
    bounds = []
    for table, choice in (("twice.csv", "drop"), ("once.csv", "keep")):
        folder.ok("fit", table, *FIT, "--duplicates", choice, "-o", "model.safetensors")
        folder.ok("predict", "model.safetensors", "new.csv", "-o", "out.csv")
        bounds.append(np.array(read(folder.folder / "out.csv")["upper_0.9"]))
    np.testing.assert_array_equal(*bounds)


def test_keep_allows_equal_rows(folder):
    done, share = coverage(folder, "--duplicates", "keep")
    assert done.err == ""
    assert share < 0.87  # copies of calibration rows fitted the model


def test_several_workers_refuse_copies(folder):
    trees = ["--target", "y", "--base", "trees", "--base-options", "rounds=2", "--score-transform", "exp"]
    workers = fit_with_workers(2, "twice.parquet", *trees, "-o", "model.safetensors", cwd=folder.folder)
    for worker in workers:
        assert "several workers cannot keep copies on one side of every split" in " ".join(worker.stderr.split())
