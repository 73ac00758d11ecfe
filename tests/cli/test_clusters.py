"""Clustered and ordered rows on the command line."""

import datetime
import json

import numpy as np
import pyarrow as pa
import pytest
from conftest import Program, read, write
from programs import worker_options

FIT = ["--target", "y", "--prediction", "forecast", "--exclude", "id", "--score-transform", "identity"]


def make_rows(clusters, seed, sizes=(1, 30)):
    """Rows in random order, whose errors are mostly the effect of their cluster."""
    random = np.random.default_rng(seed)
    size = random.integers(*sizes, clusters)
    patient = np.repeat([f"patient {seed}-{k}" for k in range(clusters)], size)
    effect = np.repeat(random.standard_normal(clusters), size)
    order = random.permutation(len(patient))
    x = random.uniform(0, 4, len(patient))
    y = x + effect + 0.2 * random.standard_normal(len(patient))
    rows = {"x": x, "patient": patient, "y": y, "forecast": x, "id": np.arange(len(x)) + 100_000 * seed}
    return {name: np.asarray(values)[order].tolist() for name, values in rows.items()}


@pytest.fixture(scope="module")
def clustered(tmp_path_factory):
    """A folder with tables and a model with clusters."""
    program = Program(tmp_path_factory.mktemp("clusters"))
    for name, clusters, seed in [("fit", 100, 1), ("more", 40, 2), ("new", 80, 3)]:
        for kind in ("csv", "parquet"):
            write(pa.table(make_rows(clusters, seed)), program.folder / f"{name}.{kind}")
    done = program("fit", "fit.csv", *FIT, "--cluster", "patient", "-o", "model.safetensors")
    assert done.code == 0, done.err
    assert ", in 25 clusters" in done.out and "rows are not independent" in done.out
    return program


def test_predictions_need_no_clusters(clustered):
    table = read(clustered.folder / "new.parquet")
    write(table.drop(["patient"]), clustered.folder / "unlabelled.csv")
    clustered.ok("predict", "model.safetensors", "unlabelled.csv", "-o", "out.csv")
    clustered.ok("predict", "model.safetensors", "new.parquet", "-o", "out.parquet")
    bounds = [read(clustered.folder / f"out.{kind}")["upper_0.9"].to_pylist() for kind in ("csv", "parquet")]
    assert np.array_equal(*bounds) and np.isfinite(bounds[0]).all()
    shown = json.loads(clustered.ok("inspect", "model.safetensors", "--json").out)
    assert shown["cluster"] == "patient" and shown["calibration"]["clusters"] == 25
    assert "patient" not in shown["features"]


@pytest.fixture(scope="module")
def counted_once(clustered):
    """A model in which each cluster counts once."""
    by_cluster = ["--cluster", "patient", "--cluster-coverage", "clusters"]
    clustered.ok("fit", "fit.csv", *FIT, *by_cluster, "-o", "once.safetensors")
    return "once.safetensors"


def test_the_quantile_counts_rows_and_the_size_of_the_new_cluster(clustered):
    clustered.ok("calibrate", "model.safetensors", "more.csv", "--replace", "-o", "rows.safetensors")
    new = read(clustered.folder / "new.parquet")
    sizes = np.where(np.arange(len(new)) % 2, 1.0, 12.0)
    write(new.append_column("size", pa.array(sizes)), clustered.folder / "sized.csv")
    more = read(clustered.folder / "more.parquet")
    residual = np.sort(np.abs(np.array(more["y"]) - np.array(more["forecast"])))
    counts = [
        np.unique(read(clustered.folder / f"{name}.parquet")["patient"].to_pylist(), return_counts=True)[1]
        for name in ("fit", "more")
    ]

    def widths(*options):
        clustered.ok("predict", "rows.safetensors", "sized.csv", *options, "-o", "out.csv")
        out = read(clustered.folder / "out.csv")
        return np.array(out["upper_0.9"]) - np.array(out["lower_0.9"])

    def expected(size):
        return 2 * residual[int(np.ceil(0.9 * (len(residual) + size) - 1e-9)) - 1]

    shown = json.loads(clustered.ok("inspect", "rows.safetensors", "--json").out)["cluster_rule"]
    assert shown["coverage"] == "rows" and shown["count"] == 40 and shown["rows"] == len(residual)
    assert shown["largest"] == counts[1].max() and shown["max_size"] <= counts[0].max()
    assert np.allclose(widths(), expected(shown["max_size"]))
    assert np.allclose(widths("--cluster-size", "size"), np.where(sizes == 1, expected(1), expected(12)))
    write(new.append_column("size", pa.array(np.zeros(len(new)))), clustered.folder / "bad.csv")
    error = clustered.fails(1, "predict", "rows.safetensors", "bad.csv", "--cluster-size", "size", "-o", "out.csv")
    assert "row 1: the cluster size 'size' is 0; expected a number of rows of at least 1" in error
    text = " ".join(clustered.ok("inspect", "rows.safetensors").out.split())
    assert "where each row counts once, for clusters of at most" in text


def test_clusters_that_fitted_do_not_calibrate(clustered):
    rows = make_rows(100, 1)
    rows["y"] = [y + 0.5 for y in rows["y"]]  # further visits of the patients of the fit
    write(pa.table(rows), clustered.folder / "again.csv")
    before = (clustered.folder / "model.safetensors").read_bytes()
    fit = [*FIT[:-2], "--score-transform", "exp", "--localizer-options", "max_rounds=3", "--cluster", "patient"]
    clustered.ok("fit", "fit.csv", *fit, "-o", "learnt.safetensors")
    for options in ([], ["--replace"], ["--emit", "again.shard"]):
        error = clustered.fails(1, "calibrate", "learnt.safetensors", "again.csv", *options)
        assert "75 clusters of these rows, in 'patient', were used to fit the model" in error
    report = json.loads(clustered.ok("evaluate", "learnt.safetensors", "again.csv", "--json").out)
    assert report["levels"][0]["verdict"]["word"] == "not new" and report["verdict"]["word"] == "Not new clusters"
    assert report["seen"]["fitted_clusters"] == 75 and report["seen"]["calibrated_clusters"] == 25
    assert (clustered.folder / "model.safetensors").read_bytes() == before


def hierarchical_quantile(residual, patient, level):
    """The smallest residual at which the weight of clusters, each shared by its rows, reaches level (clusters + 1)."""
    _, cluster, size = np.unique(patient, return_inverse=True, return_counts=True)
    order = np.argsort(residual)
    weight = np.cumsum((1 / size)[cluster][order])
    return residual[order][np.searchsorted(weight, level * (len(size) + 1) - 1e-9)]


def test_the_quantile_counts_clusters(clustered, counted_once):
    """The width is the hierarchical conformal quantile of the residuals of the calibration clusters."""
    clustered.ok("calibrate", counted_once, "more.csv", "--replace", "-o", "more.safetensors")
    clustered.ok("predict", "more.safetensors", "new.csv", "-o", "out.csv")
    out = read(clustered.folder / "out.csv")
    more = read(clustered.folder / "more.parquet")
    residual = np.abs(np.array(more["y"]) - np.array(more["forecast"]))
    quantile = hierarchical_quantile(residual, more["patient"].to_pylist(), 0.9)
    widths = np.array(out["upper_0.9"]) - np.array(out["lower_0.9"])
    assert np.allclose(widths, 2 * quantile)


def test_clusters_are_calibrated_in_each_group(clustered):
    """A patient is in both groups; in each of them, the width is the quantile of the parts of patients there."""
    for name, clusters, seed in [("fit", 100, 11), ("more", 60, 12), ("new", 50, 13)]:
        rows = make_rows(clusters, seed)
        rows["kind"] = ["far" if x > 2.5 else "near" for x in rows["x"]]
        rows["y"] = [x + (3 if x > 2.5 else 1) * (y - x) for x, y in zip(rows["x"], rows["y"], strict=True)]
        write(pa.table(rows), clustered.folder / f"kinds-{name}.csv")
    columns = ["--group", "kind", "--cluster", "patient", "--cluster-coverage", "clusters"]
    clustered.ok("fit", "kinds-fit.csv", *FIT, *columns, "-o", "kinds.safetensors")
    replaced = ["calibrate", "kinds.safetensors", "kinds-more.csv", "--replace"]
    assert "in 60 clusters of up to" in clustered.ok(*replaced, "-o", "more.safetensors").out
    clustered.ok("predict", "more.safetensors", "kinds-new.csv", "-o", "out.csv")
    out, new, more = (read(clustered.folder / name) for name in ("out.csv", "kinds-new.csv", "kinds-more.csv"))
    widths = np.array(out["upper_0.9"]) - np.array(out["lower_0.9"])
    residual = np.abs(np.array(more["y"]) - np.array(more["forecast"]))
    for kind in ("far", "near"):
        chosen = np.array(more["kind"].to_pylist()) == kind
        expected = 2 * hierarchical_quantile(residual[chosen], np.array(more["patient"].to_pylist())[chosen], 0.9)
        assert np.allclose(widths[np.array(new["kind"].to_pylist()) == kind], expected)
    text = " ".join(clustered.ok("inspect", "more.safetensors").out.split())
    assert "in 60 clusters of up to" in text and "in a group, in 2 groups" in text
    assert "group-conditional: coverage of at least the level in each group" in text
    shown = json.loads(clustered.ok("inspect", "more.safetensors", "--json").out)
    assert shown["calibration"]["clusters"] == 60 and shown["calibration"]["groups"] == 2
    report = json.loads(clustered.ok("evaluate", "more.safetensors", "kinds-new.csv", "--json").out)
    assert "in 2 groups and" in report["levels"][0]["verdict"]["text"]
    assert report["levels"][0]["verdict"]["word"] == "valid"
    # The tables of shards have rows of the same patients.
    clustered.ok("calibrate", "kinds.safetensors", "kinds-more.csv", "--key", "id", "--emit", "kinds.shard")
    clustered.ok("merge", "kinds.safetensors", "kinds.shard", "-o", "merged.safetensors")
    clustered.ok("calibrate", "kinds.safetensors", "kinds-more.csv", "--key", "id", "-o", "added.safetensors")
    merged, added = (clustered.folder / f"{name}.safetensors" for name in ("merged", "added"))
    assert merged.read_bytes() == added.read_bytes()
    unknown = new.set_column(new.column_names.index("kind"), "kind", pa.array(["near"] + ["other"] * (len(new) - 1)))
    write(unknown, clustered.folder / "kinds-unknown.csv")
    done = clustered("predict", "more.safetensors", "kinds-unknown.csv", "-o", "out.csv")
    assert done.code == 0 and "other" in done.err
    upper = np.array(read(clustered.folder / "out.csv")["upper_0.9"])
    assert np.isfinite(upper[0]) and np.isinf(upper[1:]).all()
    table = more.drop(["patient"])
    write(table, clustered.folder / "kinds-unlabelled.csv")
    error = clustered.fails(1, "calibrate", "kinds.safetensors", "kinds-unlabelled.csv")
    assert "no column 'patient', which holds the clusters" in error
    error = clustered.fails(2, "track", "more.safetensors", "kinds-new.csv", "-o", "t.csv")
    assert "track a model without" in error


def test_shards_and_tables_calibrate_alike(clustered):
    clustered.ok("calibrate", "model.safetensors", "more.parquet", "--key", "id", "--emit", "more.shard")
    clustered.ok("merge", "model.safetensors", "more.shard", "-o", "merged.safetensors")
    said = clustered.ok("calibrate", "model.safetensors", "more.csv", "--key", "id", "-o", "added.safetensors").out
    assert "in 65 clusters of up to 29 rows" in said
    assert "approximately, for clusters of at most 29 rows" in " ".join(said.split())
    merged, added = (clustered.folder / f"{name}.safetensors" for name in ("merged", "added"))
    assert merged.read_bytes() == added.read_bytes()


def test_the_verdict_counts_clusters(clustered, counted_once):
    report = json.loads(clustered.ok("evaluate", "model.safetensors", "new.csv", "--json").out)
    assert report["levels"][0]["clusters"]["judged"] == "rows"
    assert report["levels"][0]["verdict"]["word"] == "valid"
    assert "approximate range" in report["levels"][0]["verdict"]["text"]
    report = json.loads(clustered.ok("evaluate", counted_once, "new.csv", "--json").out)
    level = report["levels"][0]
    assert level["clusters"]["count"] == 80
    assert level["verdict"]["word"] == "valid"
    assert level["verdict"]["expected_low"] < 0.85
    assert "25 calibration clusters and 80 test clusters" in level["verdict"]["text"]
    assert level["weak_places"]["tested"] == 0 and level["by_width"] == []
    assert "on average over 80 clusters" in clustered.ok("evaluate", "model.safetensors", "new.csv").out
    assert "independent rows" in clustered.fails(2, "evaluate", "model.safetensors", "new.csv", "--by", "x")


def test_harder_clusters_are_not_valid(clustered):
    rows = make_rows(80, 5)
    rows["y"] = (10 * np.array(rows["y"])).tolist()
    write(pa.table(rows), clustered.folder / "hard.csv")
    report = json.loads(clustered.ok("evaluate", "model.safetensors", "hard.csv", "--json").out)
    assert report["levels"][0]["verdict"]["word"] == "too low"


def test_few_clusters_give_infinite_intervals_and_a_warning(clustered):
    write(pa.table(make_rows(20, 7)), clustered.folder / "few.csv")
    done = clustered("fit", "few.csv", *FIT, "--cluster", "patient", "-o", "few.safetensors")
    assert done.code == 0
    assert "intervals of level 0.9 are infinite: the level needs" in done.err
    assert "calibration rows for clusters of up to" in done.err
    report = json.loads(clustered.ok("evaluate", "few.safetensors", "new.csv", "--json").out)
    assert report["levels"][0]["verdict"]["word"] == "infinite"
    by_cluster = ["--cluster", "patient", "--cluster-coverage", "clusters"]
    done = clustered("fit", "few.csv", *FIT, *by_cluster, "-o", "few.safetensors")
    assert done.code == 0
    assert "intervals of level 0.9 are infinite: the level needs 9 calibration clusters, the model has 5" in done.err
    report = json.loads(clustered.ok("evaluate", "few.safetensors", "new.csv", "--json").out)
    assert report["levels"][0]["verdict"]["word"] == "infinite"


def test_missing_clusters_and_other_schemes_are_refused(clustered):
    table = read(clustered.folder / "more.parquet")
    write(table.drop(["patient"]), clustered.folder / "unlabelled.csv")
    for command in ("calibrate", "evaluate"):
        error = clustered.fails(1, command, "model.safetensors", "unlabelled.csv")
        assert "no column 'patient', which holds the clusters" in error
    fit = ["fit", "fit.csv", *FIT, "-o", "no.safetensors", "--cluster", "patient"]
    error = clustered.fails(2, *fit, "--group", "patient", "--pool-groups", "20")
    assert "clusters in 'patient' and pooled groups cannot be combined: a new cluster adds several rows" in error
    assert "a split by time separates the rows of a cluster" in clustered.fails(2, *fit, "--time", "id")
    assert "not available for calibration by clusters" in clustered.fails(2, *fit, "--guarantee", "0.95")
    assert "model counts clusters" in clustered.fails(2, "track", "model.safetensors", "new.csv", "-o", "t.csv")
    error = clustered.fails(2, "evaluate", "model.safetensors", "new.csv", "--conditional")
    assert "the classifier needs independent rows, but this model has clusters" in error
    rows = make_rows(30, 8)
    rows["patient"][4] = None
    write(pa.table(rows), clustered.folder / "missing.csv")
    error = clustered.fails(1, "fit", "missing.csv", *fit[2:])
    assert "row 5: 'patient' is missing; remove the rows without a label" in error
    rows["patient"] = ["one"] * len(rows["x"])
    write(pa.table(rows), clustered.folder / "one.csv")
    assert "found rows of one cluster" in clustered.fails(1, "fit", "one.csv", *fit[2:])


def time_rows(n, seed=0):
    random = np.random.default_rng(seed)
    days = np.arange(n) // 3
    x = random.uniform(0, 4, n)
    # Errors grow with time, so the latest rows have the widest intervals.
    y = x + (1 + days / days.max()) * random.standard_normal(n)
    order = random.permutation(n)
    dates = (np.datetime64("2024-01-01") + days).astype(str)
    hours = (np.datetime64("2024-01-01T00:00:00") + days * np.timedelta64(86400, "s")).astype(str)
    rows = {"x": x, "y": y, "forecast": x, "day": days, "date": dates, "moment": hours}
    return {name: np.asarray(values)[order].tolist() for name, values in rows.items()}


def test_the_latest_rows_calibrate(tmp_path):
    program = Program(tmp_path)
    rows = time_rows(1200)
    write(pa.table(rows), tmp_path / "rows.csv")
    typed = {
        "date32": pa.array(rows["date"]).cast(pa.date32()),
        "date64": pa.array(rows["date"]).cast(pa.date32()).cast(pa.date64()),
        **{unit: pa.array(rows["moment"]).cast(pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
        "seconds": pa.array(np.array(rows["day"], dtype="timedelta64[s]")),
    }
    write(pa.table(rows | typed), tmp_path / "rows.parquet")
    columns = [("rows.csv", name) for name in ("day", "date", "moment")]
    columns += [("rows.parquet", name) for name in ("day", "date", *typed)]
    widths = []
    for table, column in columns:
        fit = ["--target", "y", "--prediction", "forecast", "--features", "x", "--score-transform", "identity"]
        said = program.ok("fit", table, *fit, "--time", column, "-o", f"{column}.safetensors").out
        assert "the coverage of later rows is not guaranteed" in " ".join(said.split())
        program.ok("predict", f"{column}.safetensors", "rows.csv", "-o", "out.csv")
        out = read(tmp_path / "out.csv")
        widths.append(out["upper_0.9"][0].as_py() - out["lower_0.9"][0].as_py())
    latest = np.array(rows["day"]) >= 300
    scores = np.sort(np.abs(np.array(rows["y"]) - np.array(rows["x"]))[latest])
    assert widths == pytest.approx([2 * scores[int(np.ceil(0.9 * (len(scores) + 1))) - 1]] * len(columns))


def test_times_are_compared_without_rounding(tmp_path):
    program = Program(tmp_path)
    rows = time_rows(1200)
    day = np.array(rows["day"])
    years = [datetime.date(1500, 1, 1) + datetime.timedelta(days=900 * int(k)) for k in day]
    large = [2**53 + int(k) for k in day]
    times = {
        "year": pa.array([str(date) for date in years]),
        "fraction": pa.array([f"2024-01-31 05:00:00.{k:018d}" for k in day]),
        "large": pa.array(large),
        "largest": pa.array([2**64 - 1 - 400 + int(k) for k in day], pa.uint64()),
        "lowest": pa.array([-(2**63) + int(k) for k in day]),
    }
    write(pa.table(rows | times), tmp_path / "rows.csv")
    typed = {
        "far": pa.array(years).cast(pa.timestamp("us")),
        "near": pa.array([2**60 + int(k) for k in day], pa.timestamp("ns")),
        "early": pa.array([-(2**63) + int(k) for k in day], pa.timestamp("ms")),
        "duration": pa.array(large, pa.duration("s")),
    }
    write(pa.table(rows | times | typed), tmp_path / "rows.parquet")
    columns = [("rows.csv", name) for name in times] + [("rows.parquet", name) for name in (*times, *typed)]
    latest = day >= 300
    scores = np.sort(np.abs(np.array(rows["y"]) - np.array(rows["x"]))[latest])
    width = 2 * scores[int(np.ceil(0.9 * (len(scores) + 1))) - 1]
    fit = ["--target", "y", "--prediction", "forecast", "--features", "x", "--score-transform", "identity"]
    for table, column in columns:
        program.ok("fit", table, *fit, "--time", column, "-o", "model.safetensors")
        program.ok("predict", "model.safetensors", "rows.csv", "-o", "out.csv")
        out = read(tmp_path / "out.csv")
        assert out["upper_0.9"][0].as_py() - out["lower_0.9"][0].as_py() == pytest.approx(width), (table, column)


def test_times_that_are_none_are_refused(tmp_path):
    program = Program(tmp_path)
    rows = time_rows(300)
    rows["date"][7] = "31.12.2024"
    write(pa.table(rows), tmp_path / "rows.csv")
    fit = ["fit", "rows.csv", "--target", "y", "--prediction", "forecast", "--features", "x", "-o", "m.safetensors"]
    error = program.fails(1, *fit, "--time", "date")
    assert "row 8: 'date' is '31.12.2024'; expected a number, or a date such as 2024-01-31" in error
    workers = worker_options(0, 2, "127.0.0.1:9091")
    assert "fit without workers" in program.fails(2, *fit, "--time", "day", *workers)


def test_times_have_no_training_conditional_guarantee(tmp_path):
    program = Program(tmp_path)
    write(pa.table(time_rows(300)), tmp_path / "rows.csv")
    fit = ["fit", "rows.csv", "--target", "y", "--prediction", "forecast", "--features", "x", "-o", "m.safetensors"]
    fit += ["--score-transform", "identity", "--time", "day"]
    error = program.fails(2, *fit, "--guarantee", "0.95")
    assert "guarantee 0.95 is not available with the time in 'day': a training-conditional guarantee needs" in error
    program.ok(*fit)
    for command in (["predict", "-o", "out.csv"], ["calibrate"], ["evaluate"]):
        error = program.fails(2, *command, "m.safetensors", "rows.csv", "--guarantee", "0.95")
        assert "is not available with the time in 'day'" in error
