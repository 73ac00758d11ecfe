"""Groups on the command line: labels of any kind, in every command."""

import numpy as np
import pyarrow as pa
import pytest
from conftest import Program, read, write

SPREAD = {"Nord": 0.2, "Süd": 1.0, "7": 3.0, "klein": 5.0}
FIT = ["--target", "y", "--prediction", "forecast", "--group", "station", "--exclude", "id"]
FIT += ["--score-transform", "identity"]


def make_rows(n, seed):
    random = np.random.default_rng(seed)
    station = random.choice(list(SPREAD), n, p=[0.5, 0.3, 0.185, 0.015])
    x = random.uniform(0, 4, n)
    y = x + np.array([SPREAD[name] for name in station]) * random.standard_normal(n)
    return {"x": x, "station": station.tolist(), "y": y, "forecast": x, "id": np.arange(n) + 10_000 * seed}


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    """A folder with tables and a model with groups."""
    program = Program(tmp_path_factory.mktemp("groups"))
    for name, n, seed in [("fit", 1500, 1), ("more", 500, 2), ("new", 1000, 3)]:
        rows = make_rows(n, seed)
        if name == "new":
            rows["station"][:2] = ["West", None]
        for kind in ("csv", "parquet"):
            write(pa.table(rows), program.folder / f"{name}.{kind}")
    done = program("fit", "fit.csv", *FIT, "-o", "model.safetensors")
    assert done.code == 0, done.err
    assert "in 4 groups" in done.out
    assert "infinite for 1 of 4 groups, which have fewer than the 9 calibration rows that the level needs: klein" in (
        done.err
    )
    return program


def test_predictions_are_the_same_from_every_file(grouped):
    bounds = []
    for kind in ("csv", "parquet"):
        done = grouped("predict", "model.safetensors", f"new.{kind}", "-o", f"out.{kind}")
        assert (
            "1 row has a group without calibration rows (West), so the intervals are infinite; 1 row has no group"
            in (done.err)
        )
        out = read(grouped.folder / f"out.{kind}")
        bounds.append(np.column_stack([out["lower_0.9"], out["upper_0.9"]]))
    assert np.array_equal(*bounds)
    assert np.isinf(bounds[0][:2]).all()
    station = np.array(read(grouped.folder / "new.parquet")["station"].to_pylist(), dtype=object)
    widths = bounds[0][:, 1] - bounds[0][:, 0]
    assert [len(set(np.round(widths[station == name], 9))) for name in ("Nord", "Süd", "7")] == [1, 1, 1]
    assert np.isinf(widths[station == "klein"]).all()


def test_shards_and_tables_calibrate_alike(grouped):
    grouped.ok("calibrate", "model.safetensors", "more.parquet", "--key", "id", "--emit", "more.shard")
    grouped.ok("merge", "model.safetensors", "more.shard", "-o", "merged.safetensors")
    done = grouped.ok("calibrate", "model.safetensors", "more.csv", "--key", "id", "-o", "added.safetensors")
    assert "in 4 groups" in done.out
    files = [(grouped.folder / f"{name}.safetensors").read_bytes() for name in ("merged", "added")]
    assert files[0] == files[1]


def test_evaluation_shows_labels(grouped):
    found = grouped("evaluate", "model.safetensors", "new.csv", "--json").json
    labels = [place["label"] for place in found["levels"][0]["by_group"]]
    assert labels == ["7", "Nord", "Süd", "klein", "(no label)", "(not calibrated)"]


def test_evaluation_shows_means_without_infinite_intervals(grouped):
    found = grouped("evaluate", "model.safetensors", "new.csv", "--json").json
    level = found["levels"][0]
    assert level["mean_width"] is None and level["interval_score"] is None and found["crps"] is None
    assert 0 < level["infinite"] < 50 and level["infinite_share"] == level["infinite"] / 1000
    assert 0 < level["finite_mean_width"] < level["finite_interval_score"] < 20
    assert 0 < found["finite_crps"] < 5 and found["crps_infinite"] >= level["infinite"]
    text = grouped("evaluate", "model.safetensors", "new.csv").out
    assert text.count(", without infinite intervals\n") == 3
    assert "No action" not in text and "intervals are infinite: their groups have too few calibration rows" in text


def test_inspect_names_the_column(grouped):
    assert "column 'station'" in grouped.ok("inspect", "model.safetensors").out
    found = grouped.ok("inspect", "model.safetensors", "--json").json
    assert found["group"] == "station"
    assert {place["label"] for place in found["calibration"]["by_group"]} == set(SPREAD)


def test_errors(grouped):
    other = [*FIT[:5], "place", *FIT[6:], "-o", "x"]
    assert "no column 'place'" in grouped.fails(2, "fit", "fit.csv", *other)
    ungrouped = [*FIT[:4], "--pool-groups", "auto", "-o", "x"]
    assert "--pool-groups needs the column of the groups: --group COL" in grouped.fails(2, "fit", "fit.csv", *ungrouped)
    conditional = [*FIT, "--pool-groups", "auto", "--guarantee", "0.95", "-o", "x"]
    assert "guarantee 0.95 is not available for pooled groups" in grouped.fails(2, "fit", "fit.csv", *conditional)
    assert "this model has groups" in grouped.fails(2, "track", "model.safetensors", "new.csv", "-o", "x.csv")
    missing = grouped.fails(1, "calibrate", "model.safetensors", "new.csv")
    assert "new.csv: row 2: 'station' is missing; remove the rows without a label" in missing


def test_pooled_groups(grouped):
    grouped.ok("fit", "fit.csv", *FIT, "--pool-groups", "90", "-o", "pooled.safetensors")
    found = grouped.ok("inspect", "pooled.safetensors", "--json").json
    assert found["pool_groups"] == 90
    assert {place["label"] for place in found["calibration"]["by_group"] if place["pooled"]} == {"7", "klein"}
    assert "2 groups with fewer than 90 rows are pooled" in grouped.ok("inspect", "pooled.safetensors").out
    level = grouped("evaluate", "pooled.safetensors", "new.csv", "--json").json["levels"][0]
    assert level["verdict"]["word"] == "valid"
    rest = next(place for place in level["by_group"] if place["label"] == "(rest)")["coverage"]["trials"]
    assert level["verdict"]["judged"]["trials"] == 1000 - rest
    assert f"leaves out {rest} rows of pooled groups" in level["verdict"]["text"]


# ---- several columns as one


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """A folder with tables of two columns of labels, one of which holds commas."""
    program = Program(tmp_path_factory.mktemp("pairs"))
    for name, seed in (("fit", 1), ("new", 2)):
        random = np.random.default_rng(seed)
        carrier, origin = random.choice(["AA", "DL"], 600), random.choice(["New York, JFK", "Newark"], 600)
        x = random.uniform(0, 4, 600)
        y = x + (1 + (carrier == "AA") + 2.0 * (origin == "Newark")) * random.standard_normal(600)
        for kind in ("csv", "parquet"):
            columns = {"x": x, "carrier": carrier.tolist(), "origin": origin.tolist(), "forecast": x, "y": y}
            write(pa.table(columns), program.folder / f"{name}.{kind}")
    return program


PAIR_FIT = ["--target", "y", "--prediction", "forecast", "--features", "x", "--score-transform", "identity"]
PAIR_LABELS = ["AA, New York\\, JFK", "AA, Newark", "DL, New York\\, JFK", "DL, Newark"]


def test_several_columns_are_one_label(pairs):
    done = pairs.ok("fit", "fit.csv", *PAIR_FIT, "--group", "carrier,origin", "-o", "one.safetensors")
    assert "in 4 groups" in done.out
    pairs.ok("fit", "fit.csv", *PAIR_FIT, "--group", "carrier", "--group", "origin", "-o", "two.safetensors")
    one, two = ((pairs.folder / f"{name}.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two
    bounds = []
    for kind in ("csv", "parquet"):
        pairs.ok("predict", "one.safetensors", f"new.{kind}", "-o", f"out.{kind}")
        out = read(pairs.folder / f"out.{kind}")
        bounds.append(np.column_stack([out["lower_0.9"], out["upper_0.9"]]))
    assert np.array_equal(*bounds)
    assert len(np.unique(np.round(bounds[0][:, 1] - bounds[0][:, 0], 9))) == 4
    found = pairs.ok("evaluate", "one.safetensors", "new.csv", "--by", "origin,carrier", "--json").json["levels"][0]
    assert sorted(place["label"] for place in found["by_group"]) == PAIR_LABELS
    assert found["by"]["column"] == "origin, carrier" and len(found["by"]["bins"]) == 4


def test_a_misspelt_group_is_named(pairs):
    message = pairs.fails(2, "fit", "fit.csv", *PAIR_FIT, "--group", "carriers,origin", "-o", "no.safetensors")
    assert "no column 'carriers'; did you mean 'carrier'?" in message
    pairs.ok("fit", "fit.csv", *PAIR_FIT, "--group", "carrier,origin", "-o", "one.safetensors")
    without = read(pairs.folder / "new.csv").drop_columns(["origin"])
    write(without, pairs.folder / "without.csv")
    message = pairs.fails(1, "predict", "one.safetensors", "without.csv", "-o", "out.csv")
    assert "no column 'origin', which holds the groups" in message
