"""Groups: each calibrated separately, by labels of any kind."""

from __future__ import annotations

import warnings
from math import ceil
from pathlib import Path

import markdown
import numpy as np
import pandas
import polars
import pyarrow
import pytest
from scipy.stats import betabinom
from sklearn.linear_model import LinearRegression

from widthwise import Calibration, Localizer, Predictor, WidthwiseRegressor, _batches, _core, report

SPREAD = {"Nord": 0.2, "Süd": 1.0, "7": 3.0}


def frame(n: int, seed: int, shares=(0.5, 0.3, 0.2)) -> pandas.DataFrame:
    rng = np.random.default_rng(seed)
    station = rng.choice(list(SPREAD), n, p=shares)
    x = rng.uniform(0, 4, n)
    y = x + np.array([SPREAD[name] for name in station]) * rng.normal(size=n)
    return pandas.DataFrame({"x": x, "station": station, "y": y})


@pytest.fixture(scope="module")
def fitted() -> WidthwiseRegressor:
    rows = frame(2000, 0)
    return WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1).fit(
        rows[["x"]], rows["y"], groups=rows["station"]
    )


def covered_by_group(model, rows):
    _, intervals = model.predict_interval(rows[["x"]], groups=rows["station"])
    inside = (intervals[:, 0, 0] <= rows["y"]) & (rows["y"] <= intervals[:, 1, 0])
    return inside.groupby(rows["station"]).agg(["sum", "size"])


def test_every_group_is_covered(fitted):
    found = covered_by_group(fitted, frame(20_000, 1))
    core = fitted.predictor_._model.calibration
    sizes = {label: len(core.scores(group)) for group, label in core.groups}
    for name, (covered, tested) in found.iterrows():
        n = sizes[name]
        k = ceil((n + 1) * 0.9 - 1e-9)
        low, high = betabinom.ppf([1e-6, 1 - 1e-6], tested, k, n + 1 - k)
        assert low <= covered <= high, name


def test_labels_are_the_same_from_every_library(fitted):
    rows = frame(300, 2)
    labels = rows["station"].tolist()
    expected = fitted.predict_interval(rows[["x"]], groups=labels)[1]
    for given in (
        np.array(labels),
        np.array(labels, dtype=object),
        rows["station"].astype("category"),
        rows["station"].astype("string"),
        pyarrow.array(labels),
        pyarrow.chunked_array([labels]),
        polars.Series(labels),
    ):
        assert np.array_equal(fitted.predict_interval(rows[["x"]], groups=given)[1], expected)


def test_the_column_of_the_fit_is_found_in_a_table():
    rows = frame(1500, 3)
    table = rows[["x", "station"]]
    model = WidthwiseRegressor(random_state=0, n_jobs=1, base_options={"rounds": 5})
    model.fit(table, rows["y"], groups="station")
    assert model.predictor_._model.group == "station"
    by_name = model.predict_interval(table)[1]
    assert np.array_equal(by_name, model.predict_interval(table, groups=rows["station"])[1])
    other = WidthwiseRegressor(random_state=0, n_jobs=1, base_options={"rounds": 5})
    other.fit(rows[["x"]], rows["y"], groups=rows["station"])
    with pytest.raises(ValueError, match="the model has groups; pass the labels of the rows, the column 'station'"):
        other.predict_interval(rows[["x"]])


def test_integers_of_any_size_are_labels():
    scores = np.arange(1.0, 41.0)
    groups = np.repeat(np.array([0, -5, 2**63 - 1, -(2**63)]), 10)
    calibration = Calibration().add(scores, groups=groups)
    assert calibration.groups == [-5, 0, 2**63 - 1, str(-(2**63))]
    assert [calibration.quantile(0.9, group=int(group)) for group in groups[::10]] == [10, 20, 30, 40]
    assert calibration.quantile(0.9, group=3) == np.inf
    large = np.full(10, 2**64 - 1, dtype=np.uint64)
    assert Calibration().add(scores[:10], groups=large).quantile(0.9, group=2**64 - 1) == 10
    text = Calibration().add(scores, groups=[str(group) for group in groups])
    assert text.to_bytes() == calibration.to_bytes()


def test_a_small_group_has_infinite_intervals_and_a_warning():
    rows = frame(2000, 4, (0.6, 0.388, 0.012))
    model = WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1)
    with pytest.warns(
        UserWarning, match="infinite for 1 of 3 groups, which have fewer than the 9 calibration rows .*: 7;"
    ):
        model.fit(rows[["x"]], rows["y"], groups=rows["station"])
    with pytest.warns(UserWarning, match="infinite for 1 of 3 groups"):
        _, intervals = model.predict_interval(rows[["x"]][:2], groups=["7", "Nord"])
    assert np.isinf(intervals[0]).all() and np.isfinite(intervals[1]).all()


def test_unknown_and_missing_labels_have_infinite_intervals(fitted):
    with pytest.warns(
        UserWarning, match=r"1 row has a group without calibration rows \(West\), .*; 1 row has no group"
    ):
        _, intervals = fitted.predict_interval(frame(3, 0)[["x"]], groups=["West", None, "Nord"])
    assert np.isinf(intervals[:2]).all() and np.isfinite(intervals[2]).all()
    with pytest.raises(ValueError, match=r"groups\[1\] is missing"):
        fitted.conformalize(frame(2, 0)[["x"]], [1.0, 2.0], groups=["Nord", None])


def test_new_rows_may_bring_new_groups():
    copy = WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1)
    rows = frame(1000, 5)
    copy.fit(rows[["x"]], rows["y"], groups=rows["station"])
    fresh = frame(300, 6)
    copy.conformalize(fresh[["x"]], fresh["y"], groups=fresh["station"].replace("Nord", "Ost"))
    assert copy.predictor_.calibration.groups == [7, "Nord", "Ost", "Süd"]
    _, intervals = copy.predict_interval(rows[["x"]][:1], groups=["Ost"])
    assert np.isfinite(intervals).all()
    with pytest.raises(ValueError, match="calibrates each group in 'station' separately; pass a group for every row"):
        copy.conformalize(fresh[["x"]] + 0.5, fresh["y"])


def test_pooled_groups_share_a_quantile():
    rng = np.random.default_rng(7)
    n = 3000
    station = np.where(rng.random(n) < 0.5, "large", [f"s{i}" for i in rng.integers(0, 300, n)])
    x = rng.uniform(0, 4, (n, 1))
    y = x[:, 0] + np.where(station == "large", 0.1, 1) * rng.normal(size=n)
    model = WidthwiseRegressor(
        LinearRegression(), random_state=0, n_jobs=1, pool_groups="auto", score_transform="identity"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(x, y, groups=station)
    assert model.predictor_._model.pool_groups == 9
    with pytest.warns(UserWarning, match=r"which is predicted like the pooled groups; 1 row has no group"):
        _, intervals = model.predict_interval([[1.0]] * 4, groups=["s1", "s2", "never", None])
    assert np.isfinite(intervals[:3]).all() and np.isinf(intervals[3]).all()
    assert (intervals[0] == intervals[2]).all()
    labels = [bin_["label"] for bin_ in model.evaluate(x + 0.001, y, groups=station)["levels"][0]["by_group"]]
    assert labels == ["large", "(rest)"]


def test_pooling_is_refused_where_it_is_not_valid():
    rows = frame(200, 8)
    with pytest.raises(ValueError, match="guarantee 0.9 is not available for pooled groups"):
        WidthwiseRegressor(LinearRegression(), guarantee=0.9, pool_groups=5).fit(
            rows[["x"]], rows["y"], groups=rows["station"]
        )
    with pytest.raises(ValueError, match="pool_groups needs the labels of the rows; pass them as groups= to fit"):
        WidthwiseRegressor(LinearRegression(), pool_groups=5).fit(rows[["x"]], rows["y"])


def test_files_keep_labels(fitted, tmp_path):
    rows = frame(400, 9)
    fitted.save(tmp_path / "model.safetensors")
    again = WidthwiseRegressor.load(tmp_path / "model.safetensors", fitted.estimator_)
    for method, more in (("predict_interval", ()), ("predict_quantile", ([0.1, 0.9],))):
        ours = getattr(fitted, method)(rows[["x"]], *more, groups=rows["station"])
        theirs = getattr(again, method)(rows[["x"]], *more, groups=rows["station"])
        assert np.array_equal(np.asarray(ours[-1]), np.asarray(theirs[-1]))
    ours = fitted.predict_p(rows[["x"]], rows["y"], groups=rows["station"])
    assert np.array_equal(ours, again.predict_p(rows[["x"]], rows["y"], groups=rows["station"]))


def test_reports_name_groups(fitted):
    rows = frame(3000, 10)
    evaluation = fitted.evaluate(rows[["x"]], rows["y"], groups=rows["station"])
    bins = evaluation["levels"][0]["by_group"]
    assert [bin_["label"] for bin_ in bins] == ["7", "Nord", "Süd"]
    assert "Nord" in str(evaluation)
    page = report(fitted, rows[["x"]], rows["y"], groups=rows["station"])
    assert "Süd" in page.html


def test_labels_are_not_mixed_with_the_integers_of_their_hashes():
    number = _core.GroupLabels().add(["a"])[0]
    calibration = Calibration().add(np.arange(10.0), groups=["a"] * 10)
    assert calibration.quantile(0.9, group=number) == np.inf
    with pytest.raises(ValueError, match="have the same number"):
        calibration.add([1.0], groups=[number])
    x = np.arange(40.0)[:, None]
    localizer = Localizer(score_transform="identity").fit(x, x[:, 0] + np.arange(40) % 3, x[:, 0])
    scored = localizer.calibrate(x + 0.5, x[:, 0], x[:, 0] + 1 + np.arange(40) % 3, groups=["a"] * 40)
    with pytest.warns(UserWarning, match="1 row has a group without calibration rows"):
        _, intervals = Predictor(localizer, scored).predict_interval([[1.0]], [1.0], groups=np.array([number]))
    assert np.isinf(intervals).all()


def test_the_command_line_has_the_same_bits(program, tmp_path):
    frame(1500, 11).to_csv(tmp_path / "fit.csv", index=False)
    new = frame(500, 12)
    new.to_csv(tmp_path / "new.csv", index=False)
    options = ["--target", "y", "--base", "trees", "--base-options", "rounds=20", "--group", "station"]
    done = program("fit", "fit.csv", *options, "-o", "model.safetensors", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = program("predict", "model.safetensors", "new.csv", "-o", "out.parquet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = pandas.read_parquet(tmp_path / "out.parquet")
    _, intervals = Predictor.load(tmp_path / "model.safetensors").predict_interval(new)
    assert np.array_equal(out[["lower_0.9", "upper_0.9"]].to_numpy(), intervals[:, :, 0])


def test_the_document_shows_real_output():
    assert markdown.differences(Path(__file__).parents[2] / "docs/groups.md") == []


# ---- several columns as one


def flights(n, seed):
    """Two columns of labels, one of which holds commas, and an integer one."""
    rng = np.random.default_rng(seed)
    carrier, origin = rng.choice(["AA", "DL"], n), rng.choice(["New York, JFK", "Newark"], n)
    x = rng.uniform(0, 4, n)
    y = x + (1 + (carrier == "AA") + 2.0 * (origin == "Newark")) * rng.normal(size=n)
    return pandas.DataFrame({"x": x, "carrier": carrier, "origin": origin, "gate": rng.integers(0, 2, n), "y": y})


PAIR = ["carrier", "origin"]
PAIRS = ["AA, New York\\, JFK", "AA, Newark", "DL, New York\\, JFK", "DL, Newark"]


@pytest.fixture(scope="module")
def by_pair():
    rows = flights(800, 0)
    model = WidthwiseRegressor(random_state=0, n_jobs=1, score_transform="identity")
    return model.fit(rows.drop(columns="y"), rows["y"], groups=PAIR)


def test_several_columns_are_one_label(by_pair):
    assert by_pair.predictor_._model.group == "carrier, origin"
    assert by_pair.predictor_.calibration.groups == PAIRS
    rows = flights(200, 1).drop(columns="y")
    expected = by_pair.predict_interval(rows)[1]
    assert len(np.unique(np.round(expected[:, 1, 0] - expected[:, 0, 0], 9))) == 4
    labels = [f"{carrier}, {origin.replace(',', chr(92) + ',')}" for carrier, origin in rows[PAIR].to_numpy()]
    for given in (PAIR, tuple(PAIR), rows[PAIR], labels, polars.from_pandas(rows[PAIR]), pyarrow.table(rows[PAIR])):
        assert np.array_equal(by_pair.predict_interval(rows, groups=given)[1], expected)
    for kind in (polars.from_pandas(rows), pyarrow.Table.from_pandas(rows)):
        assert np.array_equal(by_pair.predict_interval(kind)[1], expected)
    for model in (by_pair, by_pair.predictor_):
        bins = model.evaluate(rows, flights(200, 1)["y"], by=PAIR)["levels"][0]["by"]
        assert bins["column"] == "carrier, origin" and sorted(place["label"] for place in bins["bins"]) == PAIRS


def test_several_columns_are_one_label_in_batches(by_pair):
    """The path of Spark and Dask; in SQL, the last argument is the joined label."""
    rows = flights(200, 1)
    expected = by_pair.predict_interval(rows.drop(columns="y"))[1]
    model = by_pair.predictor_._model
    for groups in (None, PAIR):
        intervals = _batches.Intervals.of(by_pair.predictor_, None, groups)
        intervals.check(model, list(rows.columns))
        for batch in (rows, pyarrow.Table.from_pandas(rows), pyarrow.RecordBatch.from_pandas(rows)):
            assert np.array_equal(intervals.columns(model, batch)["lower_0.9"], expected[:, 0, 0])
    with pytest.raises(ValueError, match="missing column 'origin'; found x"):
        intervals.check(model, ["x", "gate", "carrier"])
    rows["key"] = np.arange(200)
    calibrating = _batches.Calibrating.of(model, "key", "y", PAIR, None)
    needed = _batches.columns_there(list(rows.columns), calibrating.needed(model))
    assert needed == ["x", "carrier", "origin", "gate", "y", "key"]
    shard = calibrating.shard(model, [pyarrow.Table.from_pandas(rows[needed])])
    added = calibrating.finished(by_pair.predictor_, [shard], replace=True)
    assert len(added.calibration) == 200 and added.calibration.groups == PAIRS
    duckdb = pytest.importorskip("duckdb")
    import widthwise.duckdb

    connection = duckdb.connect()
    widthwise.duckdb.register(connection, by_pair)
    label = "carrier || ', ' || replace(origin, ',', '\\,')"
    found = connection.sql(f"SELECT unnest(predict_interval(x, carrier, origin, gate, {label})) FROM rows").df()
    assert np.array_equal(found["lower_0.9"], expected[:, 0, 0])


def test_several_columns_are_the_same_on_the_command_line(program, tmp_path):
    rows = flights(400, 6)
    for kind, frame in {"fit": rows[:300], "new": rows[300:]}.items():
        frame.to_csv(tmp_path / f"{kind}.csv", index=False)
    fit = ["fit", "fit.csv", "--target", "y", "--base", "trees", "--score-transform", "identity", "--exclude", "gate"]
    done = program(*fit, "--group", "carrier,origin", "-o", "model.safetensors", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert program("predict", "model.safetensors", "new.csv", "-o", "out.csv", cwd=tmp_path).returncode == 0
    predictor = Predictor.load(tmp_path / "model.safetensors")
    for groups in (None, PAIR):
        bounds = predictor.predict_interval(rows[300:], groups=groups)[1]
        assert np.array_equal(bounds[:, 0, 0], pandas.read_csv(tmp_path / "out.csv")["lower_0.9"])


def test_a_row_without_one_of_the_labels_has_no_group(by_pair):
    rows = flights(5, 2).drop(columns="y")
    rows.loc[3, "origin"] = None
    with pytest.warns(UserWarning, match="1 row has no group"):
        bounds = by_pair.predict_interval(rows)[1]
    assert np.isinf(bounds[3]).all() and np.isfinite(bounds[[0, 1, 2, 4]]).all()
    rows = flights(300, 3)
    rows.loc[7, "carrier"] = None
    with pytest.raises(ValueError, match=r"groups\[7\] is missing"):
        by_pair.conformalize(rows.drop(columns="y"), rows["y"])


def test_several_columns_give_the_same_model_as_their_joined_labels():
    rows = flights(400, 4)
    X = rows[["x"]]
    model = WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1, score_transform="identity")
    one = model.fit(X, rows["y"], groups=rows[["gate", "carrier"]]).predict_interval(
        X, groups=rows[["gate", "carrier"]]
    )
    labels = [f"{gate}, {carrier}" for gate, carrier in rows[["gate", "carrier"]].to_numpy()]
    other = model.fit(X, rows["y"], groups=labels).predict_interval(X, groups=labels)
    assert np.array_equal(one[1], other[1])


def test_the_name_of_several_columns_must_be_free():
    rows = flights(100, 5).rename(columns={"gate": "carrier, origin"})
    with pytest.raises(ValueError, match="the columns together have the name of the column 'carrier, origin'"):
        WidthwiseRegressor().fit(rows.drop(columns="y"), rows["y"], groups=PAIR)
