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

from widthwise import Calibration, Localizer, Predictor, WidthwiseRegressor, _core, report

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
    return WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1, compare=False).fit(
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
    model = WidthwiseRegressor(random_state=0, n_jobs=1, compare=False, base_options={"rounds": 5})
    model.fit(table, rows["y"], groups="station")
    assert model.predictor_._model.group == "station"
    by_name = model.predict_interval(table)[1]
    assert np.array_equal(by_name, model.predict_interval(table, groups=rows["station"])[1])
    other = WidthwiseRegressor(random_state=0, n_jobs=1, compare=False, base_options={"rounds": 5})
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
    model = WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1, compare=False)
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
    copy = WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1, compare=False)
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
        LinearRegression(), random_state=0, n_jobs=1, compare=False, pool_groups="auto", score_transform="identity"
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
    with pytest.raises(ValueError, match="pass the labels of the rows as groups= to fit"):
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
