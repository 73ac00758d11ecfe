"""Clustered and ordered rows: splits that keep them together, and calibration that counts clusters."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit

from widthwise import Calibration, Localizer, Predictor, WidthwiseRegressor, _core
from widthwise._blocks import times_of


def frame(clusters: int, seed: int, size: int = 20) -> pandas.DataFrame:
    """Rows in random order, whose errors are mostly the effect of their cluster."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(clusters), size)
    x = rng.uniform(0, 4, len(patient))
    y = x + rng.normal(size=clusters)[patient] + 0.2 * rng.normal(size=len(patient))
    rows = pandas.DataFrame({"x": x, "patient": [f"{seed}-{k}" for k in patient], "y": y})
    return rows.sample(frac=1, random_state=seed).reset_index(drop=True)


class Watched(RegressorMixin, BaseEstimator):
    """A linear regression that records the rows of each fit, by their x."""

    fits: list[set[float]] = []

    def fit(self, X, y):
        Watched.fits.append(set(np.asarray(X)[:, 0]))
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


def regressor(estimator=None, **options) -> WidthwiseRegressor:
    options = {"random_state": 0, "n_jobs": 1, "score_transform": "identity"} | options
    return WidthwiseRegressor(estimator if estimator is not None else LinearRegression(), **options)


@pytest.fixture(scope="module")
def fitted() -> WidthwiseRegressor:
    rows = frame(100, 0)
    return regressor().fit(rows[["x"]], rows["y"], clusters=rows["patient"])


def clusters_in(rows: pandas.DataFrame, xs: set[float]) -> set[str]:
    return set(rows["patient"][rows["x"].isin(xs)])


def test_p_values_and_one_sided_bounds_agree_with_the_intervals(fitted):
    rows = frame(50, 2)
    X, y = rows[["x"]], rows["y"].to_numpy()
    p = fitted.predict_p(X, y)
    for level in (0.5, 0.8, 0.9):
        bounds = fitted.predict_interval(X, confidence_level=level)[1][:, :, 0]
        inside = (bounds[:, 0] <= y) & (y <= bounds[:, 1])
        decided = np.abs(p - (1 - level)) > 1e-9
        assert np.array_equal(inside[decided], (p > 1 - level)[decided])
    quantiles = fitted.predict_quantile(X, [0.1, 0.9])
    assert np.isfinite(quantiles).all() and (quantiles[:, 0] < quantiles[:, 1]).all()


@pytest.mark.parametrize("cv", [5, GroupKFold(4)])
def test_no_cluster_is_on_two_sides(cv):
    rows = frame(40, 1)
    Watched.fits = []
    model = regressor(Watched(), cv=cv).fit(rows[["x"]], rows["y"], clusters=rows["patient"])
    folds, final = Watched.fits[:-1], Watched.fits[-1]
    fitting = clusters_in(rows, final)
    assert len(final) == 30 * 20 and len(fitting) == 30  # a quarter of the clusters calibrates
    assert model.predictor_.calibration.clusters == 10
    seen = []
    for xs in folds:
        assert len(clusters_in(rows, xs)) * 20 == len(xs)
        seen += sorted(fitting - clusters_in(rows, xs))
    assert sorted(seen) == sorted(fitting)  # each cluster is predicted by one fold


def test_a_splitter_that_separates_clusters_is_refused():
    rows = frame(20, 1)
    with pytest.raises(ValueError, match="of cv separates rows of one cluster; use a splitter by groups"):
        regressor(cv=KFold(3)).fit(rows[["x"]], rows["y"], clusters=rows["patient"])
    with pytest.raises(ValueError, match="GroupKFold needs groups; pass the labels of the rows to fit as clusters="):
        regressor(cv=GroupKFold(3)).fit(rows[["x"]], rows["y"])


def test_every_path_counts_clusters(fitted):
    """An estimator, the base model, given predictions and a localizer: the same quantile of clusters."""
    rows, more, new = frame(60, 2), frame(40, 3), frame(30, 4)
    trees = WidthwiseRegressor(random_state=0, n_jobs=1, base_options={"rounds": 5})
    trees.fit(rows[["x"]], rows["y"], clusters=rows["patient"])
    given = regressor(estimator=None).set_params(estimator=None)
    given.fit(rows[["x"]], rows["y"], y_pred=rows["x"], clusters=rows["patient"])
    for model in (fitted, trees, given):
        assert model.predictor_._model.cluster == "patient"
        assert model.predictor_.calibration.clusters in (15, 25)
    localizer = Localizer(score_transform="identity", n_jobs=1)
    localizer.fit(rows[["x"]], rows["y"], rows["x"], clusters=rows["patient"])
    calibration = localizer.calibrate(more[["x"]], more["y"], more["x"], clusters=more["patient"])
    assert calibration.clusters == 40
    with pytest.raises(ValueError, match="pass the labels of the rows, the column 'patient', as clusters="):
        localizer.calibrate(new[["x"]], new["y"], new["x"])
    predictor = Predictor(localizer, calibration)
    _, intervals = predictor.predict_interval(new[["x"]], new["x"])
    residual = np.sort(np.abs(more["y"] - more["x"]))
    width = residual[int(np.ceil(0.9 * 41 * 20)) - 1]  # 40 clusters of 20 rows; the new row counts as one cluster
    assert np.allclose(intervals[:, 1, 0] - new["x"], width)
    assert predictor.evaluate(new, new["y"], new["x"])["levels"][0]["clusters"]["count"] == 30


def test_a_graph_has_the_quantile_of_clusters(fitted):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    import widthwise.onnx

    X = frame(5, 4)[["x"]]
    proto = widthwise.onnx.export(fitted)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {"x": X.to_numpy(np.float32), "prediction": fitted.predict(X)}
    _, upper = session.run(None, given)
    np.testing.assert_allclose(upper, fitted.predict_interval(X)[1][:, 1], rtol=1e-12)


def test_new_clusters_are_covered_and_judged(fitted, tmp_path):
    new = frame(400, 5)
    found = fitted.evaluate(new[["x"]], new["y"], clusters=new["patient"])
    level = found["levels"][0]
    assert level["verdict"]["word"] == "valid"
    assert level["clusters"]["coverage"] > 0.75
    assert "weak places are not searched" in str(found)
    with pytest.raises(ValueError, match="calibrated by clusters"):
        fitted.evaluate(new[["x"]], new["y"])
    more = frame(30, 6)
    fitted.save(tmp_path / "model.safetensors")
    again = WidthwiseRegressor.load(tmp_path / "model.safetensors", fitted.estimator_)
    again.conformalize(more[["x"]], more["y"], clusters=more["patient"])
    assert again.predictor_.calibration.clusters == 55
    with pytest.raises(ValueError, match="calibrated by clusters"):
        again.conformalize(new[["x"]], new["y"])


def test_few_clusters_warn():
    rows = frame(12, 7)
    with pytest.warns(UserWarning, match="needs 180 calibration rows for clusters of up to 20 rows, the model has 60"):
        model = regressor().fit(rows[["x"]], rows["y"], clusters=rows["patient"])
    with pytest.warns(UserWarning, match="needs 180 calibration rows"):
        assert np.isinf(model.predict_interval(rows[["x"]])[1]).all()
    assert np.isfinite(model.predict_interval(rows[["x"]], cluster_sizes=np.full(len(rows), 6))[1]).all()
    with pytest.warns(UserWarning, match="needs 9 calibration clusters, the model has 3; add new clusters"):
        model = regressor(cluster_coverage="clusters").fit(rows[["x"]], rows["y"], clusters=rows["patient"])
    with pytest.warns(UserWarning, match="needs 9 calibration clusters"):
        assert np.isinf(model.predict_interval(rows[["x"]])[1]).all()
    with pytest.raises(ValueError, match="5 folds for the 2 clusters of the fitting rows"):
        few = frame(4, 8)
        regressor().fit(few[["x"]], few["y"], clusters=few["patient"])


def test_combinations_without_a_guarantee_are_refused(fitted):
    rows = frame(30, 9)
    X, y, patient = rows[["x"]], rows["y"], rows["patient"]
    with pytest.raises(ValueError, match="clusters in 'patient' and pooled groups cannot be combined"):
        regressor(pool_groups=20).fit(X, y, groups=patient, clusters=patient)
    with pytest.raises(ValueError, match="found both clusters and time"):
        regressor().fit(X, y, clusters=patient, time=rows["x"])
    with pytest.raises(ValueError, match="not available for calibration by clusters"):
        regressor(guarantee=0.95).fit(X, y, clusters=patient)
    with pytest.raises(TypeError, match=r"expected labels or times of the rows, such as X\['patient'\]"):
        regressor().fit(rows[["x", "patient"]], y, clusters="patient")
    with pytest.raises(ValueError, match=r"clusters\[3\] is missing"):
        regressor().fit(X, y, clusters=patient.where(patient.index != 3))
    with pytest.raises(ValueError, match="not available for calibration by clusters"):
        fitted.predictor_.with_guarantee(0.95)
    plain = regressor().fit(X, y)
    with pytest.raises(ValueError, match="the rows have clusters, but the model was calibrated without"):
        plain.evaluate(frame(10, 10)[["x"]], frame(10, 10)["y"], clusters=frame(10, 10)["patient"])


def test_a_calibration_counts_clusters():
    calibration = Calibration().add([1.0, 2.0, 3.0, 9.0], clusters=["a", "a", "a", "b"])
    assert calibration.clusters == 2
    assert calibration.quantile(1 / 3, cluster_coverage="clusters") == 3.0  # the three rows of a have weight 1 of 3
    assert calibration.quantile(2 / 3, cluster_coverage="clusters") == 9.0
    assert calibration.quantile(2 / 7) == 2.0  # each row has weight 1, and the new row that of the largest cluster
    assert calibration.quantile(4 / 7) == 9.0 and calibration.quantile(5 / 7) == np.inf
    assert calibration.quantile(0.8, cluster_size=1) == 9.0 and calibration.quantile(0.4, cluster_size=1) == 2.0
    assert calibration.p_values([9.0], cluster_size=1) == [2 / 5] and calibration.p_values([9.0]) == [4 / 7]
    for size in (0, np.nan):
        with pytest.raises(ValueError, match="cluster"):
            calibration.quantile(0.5, cluster_size=size)
    with pytest.raises(ValueError, match="expected 'rows' or 'clusters'"):
        calibration.quantile(0.5, cluster_coverage="row")
    with pytest.raises(ValueError, match="the calibration has none"):
        Calibration().add([1.0]).quantile(0.5, cluster_size=2)
    assert Calibration.from_bytes(calibration.to_bytes()) == calibration
    with pytest.raises(ValueError, match="these rows have no clusters"):
        calibration.add([1.0])


def test_a_calibration_counts_clusters_in_each_group():
    calibration = Calibration().add(
        [1.0, 2.0, 3.0, 9.0, 50.0, 60.0], clusters=["a", "a", "a", "b", "a", "b"], groups=["x"] * 4 + ["y"] * 2
    )
    assert calibration.clusters == 2 and calibration.groups == ["x", "y"]
    assert calibration.quantile(2 / 7, group="x") == 2.0  # the new row has the weight of the largest cluster in a group
    assert calibration.quantile(1 / 3, group="x", cluster_coverage="clusters") == 3.0
    assert calibration.quantile(2 / 3, group="y", cluster_coverage="clusters") == 60.0
    assert calibration.quantile(2 / 3, group="y", cluster_size=1) == 60.0
    assert calibration.quantile(0.9, group="y") == np.inf and calibration.quantile(0.1, group="z") == np.inf
    assert Calibration.from_bytes(calibration.to_bytes()) == calibration
    with pytest.raises(ValueError, match="these rows have no groups"):
        calibration.add([1.0], clusters=["a"])


def test_a_model_calibrates_the_clusters_of_each_group(tmp_path):
    rows, more = frame(160, 21), frame(60, 22)
    kind = [(rows["x"] > 2).astype(int), (more["x"] > 2).astype(int)]
    model = regressor(cluster_coverage="clusters")
    model.fit(rows[["x"]], rows["y"], groups=kind[0].rename("kind"), clusters=rows["patient"])
    assert "in each group" in model.predictor_.guarantee_statement
    more["patient"] = [f"new {label}" for label in more["patient"]]
    model.conformalize(more[["x"]], more["y"], groups=kind[1], clusters=more["patient"])
    _, intervals = model.predict_interval(more[["x"]], groups=kind[1])
    assert np.isfinite(intervals).all()
    _, unknown = model.predict_interval(more[["x"]], groups=np.full(len(more), 7))
    assert np.isinf(unknown).all()
    model.save(tmp_path / "model.safetensors")
    loaded = Predictor.load(tmp_path / "model.safetensors")
    read = loaded.predict_interval(more[["x"]], y_pred=model.predict(more[["x"]]), groups=kind[1])[1]
    assert np.array_equal(read, intervals)
    test = frame(40, 23)
    test["patient"] = [f"test {label}" for label in test["patient"]]
    found = model.evaluate(test[["x"]], test["y"], groups=(test["x"] > 2).astype(int), clusters=test["patient"])
    assert "in 2 groups" in found["levels"][0]["verdict"]["text"]


def visits(patients: int, seed: int) -> pandas.DataFrame:
    """Patients whose number of visits is related to their errors: 15% of them have 50 visits and errors six times as
    large as those of the others, who have 2."""
    rng = np.random.default_rng(seed)
    hard = rng.random(patients) < 0.15
    patient = np.repeat(np.arange(patients), np.where(hard, 50, 2))
    x = rng.normal(size=len(patient))
    y = x + np.where(hard, 6.0, 1.0)[patient] * rng.normal(size=len(patient))
    return pandas.DataFrame({"x": x, "patient": patient + 100_000 * seed, "y": y})


def test_sizes_of_clusters_widen_intervals():
    rows, more, new = visits(60, 1), visits(60, 2), visits(40, 3)
    localizer = Localizer(score_transform="identity", n_jobs=1, max_cluster_size=80)
    localizer.fit(rows[["x"]], rows["y"], rows["x"], clusters=rows["patient"])
    calibration = localizer.calibrate(more[["x"]], more["y"], more["x"], clusters=more["patient"])
    predictor = Predictor(localizer, calibration)
    residual = np.sort(np.abs(more["y"] - more["x"]))

    def half_width(size: int) -> float:
        rank = int(np.ceil(0.9 * (len(residual) + size) - 1e-9))
        return residual[rank - 1] if rank <= len(residual) else np.inf

    def widths(**given) -> np.ndarray:
        return predictor.predict_interval(new[["x"]], new["x"], **given)[1][:, 1, 0] - new["x"].to_numpy()

    if np.isinf(half_width(80)):
        with pytest.warns(UserWarning, match="720 calibration rows for clusters of up to 80 rows"):
            assert np.isinf(widths()).all()
    else:
        assert np.allclose(widths(), half_width(80))
    sizes = np.where(np.arange(len(new)) % 2, 1, 30)
    assert np.allclose(widths(cluster_sizes=sizes), np.where(sizes == 1, half_width(1), half_width(30)))
    p = [predictor.predict_p(new[["x"]], new["y"], new["x"], cluster_sizes=np.full(len(new), n)) for n in (1, 30)]
    assert (p[0] <= p[1]).all() and (p[0] < p[1]).any()
    upper = [predictor.predict_quantile(new[["x"]], 0.9, new["x"], cluster_sizes=np.full(len(new), n)) for n in (1, 30)]
    assert (upper[0] <= upper[1]).all()
    for bad in (0, np.nan, -3):
        with pytest.raises(ValueError, match="row 1: the cluster size is .*; expected a number of rows of at least 1"):
            widths(cluster_sizes=np.full(len(new), bad))
    with pytest.raises(ValueError, match="cluster_sizes has 3"):
        widths(cluster_sizes=[1, 2, 3])


def test_options_of_clusters_need_clusters(fitted):
    rows = frame(30, 9)
    for options in ({"cluster_coverage": "clusters"}, {"max_cluster_size": 5}):
        with pytest.raises(ValueError, match="is for clusters, but the rows have none; pass their clusters"):
            regressor(**options).fit(rows[["x"]], rows["y"])
    with pytest.raises(ValueError, match="max_cluster_size has no effect if each cluster counts once"):
        regressor(cluster_coverage="clusters", max_cluster_size=5).fit(rows[["x"]], rows["y"], clusters=rows["patient"])
    with pytest.raises(ValueError, match="expected rows or clusters"):
        regressor(cluster_coverage="row").fit(rows[["x"]], rows["y"], clusters=rows["patient"])
    plain = regressor().fit(rows[["x"]], rows["y"])
    with pytest.raises(ValueError, match="the model has no clusters; leave them out"):
        plain.predict_interval(rows[["x"]], cluster_sizes=np.ones(len(rows)))


def test_evaluate_measures_rows_and_clusters():
    rows, new = visits(400, 4), visits(300, 5)
    for form in ("rows", "clusters"):
        model = regressor(cluster_coverage=form).fit(rows[["x"]], rows["y"], clusters=rows["patient"])
        found = model.evaluate(new[["x"]], new["y"], clusters=new["patient"])["levels"][0]
        shares = found["clusters"]
        assert shares["judged"] == form and shares["differ"]
        assert "Coverage is related to the size of clusters, by more than chance" in found["verdict"]["text"]
        assert found["verdict"]["word"] == "valid"
        judged = shares["coverage_of_rows"] if form == "rows" else shares["coverage"]
        assert 0.85 < judged < 0.97
        if form == "rows":
            assert "approximate range" in found["verdict"]["text"]
        else:
            assert shares["coverage_of_rows"] < 0.7
    same = frame(400, 6)
    model = regressor().fit(same[["x"]], same["y"], clusters=same["patient"])
    new = frame(100, 7)
    assert not model.evaluate(new[["x"]], new["y"], clusters=new["patient"])["levels"][0]["clusters"]["differ"]


def test_clusters_that_fitted_do_not_calibrate():
    rows = frame(60, 11)
    model = regressor().fit(rows[["x"]], rows["y"], clusters=rows["patient"])
    fitted = model.predictor_._model
    more = frame(60, 12)
    more["patient"] = more["patient"].str.replace("12-", "11-")  # further visits of the same patients
    for replace in (False, True):
        with pytest.raises(ValueError, match="45 clusters of these rows, in 'patient', were used to fit the model"):
            model.conformalize(more[["x"]], more["y"], clusters=more["patient"], replace=replace)
    later = regressor(calibration_size=0).fit(rows[["x"]], rows["y"], clusters=rows["patient"])
    with pytest.raises(ValueError, match="60 clusters of these rows"):
        later.conformalize(more[["x"]], more["y"], clusters=more["patient"])
    assert later.predictor_.calibration.rows_seen == 0

    # Further rows of calibration clusters are rows of these clusters.
    def calibrates(label: str) -> bool:
        try:
            one = more[more["patient"] == label]
            regressor().fit(rows[["x"]], rows["y"], clusters=rows["patient"]).conformalize(
                one[["x"]], one["y"], clusters=one["patient"]
            )
        except ValueError:
            return False
        return True

    assert model.predictor_._model is fitted
    known = [label for label in sorted(set(more["patient"]))[:12] if calibrates(label)]
    assert 0 < len(known) < 12
    one = more[more["patient"] == known[0]]
    model.conformalize(one[["x"]], one["y"], clusters=one["patient"])
    assert model.predictor_.calibration.clusters == 15
    assert model.predictor_._model.cluster_bound == 40
    with pytest.warns(
        UserWarning, match="45 of 60 clusters were used to fit the model; 15 of 60 clusters were used to"
    ):
        found = model.evaluate(more[["x"]], more["y"], clusters=more["patient"])
    assert found["levels"][0]["verdict"]["word"] == _core.SEEN_VERDICT
    assert found["verdict"]["word"] == "Not new clusters"
    assert "not new clusters" in found["seen"]["text"]


def test_a_localizer_refuses_its_clusters_if_it_learnt_from_them():
    rng = np.random.default_rng(0)
    rows, more = frame(40, 13), frame(40, 13)
    more["x"], more["y"] = more["x"] + 0.01, more["y"] + rng.normal(size=len(more))
    learnt = Localizer(n_jobs=1, localizer_options={"max_rounds": 3})
    learnt.fit(rows[["x"]], rows["y"], rows["x"], clusters=rows["patient"])
    given = Localizer(score_transform="identity", n_jobs=1)
    given.fit(rows[["x"]], rows["y"], y_pred_cv=rows["x"], clusters=rows["patient"])
    for localizer in (learnt, given):
        with pytest.raises(ValueError, match="40 clusters of these rows, in 'patient', were used to fit the model"):
            localizer.calibrate(more[["x"]], more["y"], more["x"], clusters=more["patient"])
        scores = Calibration().add([1.0, 2.0], clusters=["13-1", "new"])
        with pytest.raises(ValueError, match="1 cluster of these rows"):
            Predictor(localizer, scores)
    # Predictions of a deployed model that has not seen the rows, and one width: nothing was learnt from the clusters.
    plain = Localizer(score_transform="identity", n_jobs=1)
    plain.fit(rows[["x"]], rows["y"], rows["x"], clusters=rows["patient"])
    assert plain.calibrate(more[["x"]], more["y"], more["x"], clusters=more["patient"]).clusters == 40


def days(n: int) -> pandas.Series:
    return pandas.Series(np.datetime64("2024-01-01") + np.arange(n) // 4, name="day")


@pytest.mark.parametrize("cv", [4, TimeSeriesSplit(4)])
def test_time_splits_keep_the_latest_rows_for_calibration(cv):
    rng = np.random.default_rng(0)
    n = 800
    time = days(n)
    order = rng.permutation(n)
    X = pandas.DataFrame({"x": np.arange(n, dtype=float)})
    y = (X["x"] + rng.normal(size=n)).rename("y")
    Watched.fits = []
    regressor(Watched(), cv=cv).fit(X.iloc[order], y.iloc[order], time=time.iloc[order])
    assert Watched.fits[-1] == set(range(600))
    for xs in Watched.fits[:-1]:
        assert {int(x) // 4 for x in xs} & {int(x) // 4 for x in set(range(600)) - xs} == set()
    if isinstance(cv, int):
        assert Watched.fits[0] == set(range(152, 600)) or Watched.fits[0] == set(range(148, 600))


def test_times_are_numbers_dates_or_text():
    rng = np.random.default_rng(1)
    X = pandas.DataFrame({"x": rng.uniform(0, 4, 400)})
    y = (X["x"] + rng.normal(size=400) * (1 + np.arange(400) / 100)).rename("y")
    time = days(400)
    widths = []
    for given in (time, time.astype(str), time.dt.tz_localize("UTC"), np.arange(400) // 4, (np.arange(400) // 4) / 7):
        model = regressor().fit(X, y, time=given)
        intervals = model.predict_interval(X[:1])[1]
        widths.append(intervals[0, 1, 0] - intervals[0, 0, 0])
    assert len(set(widths)) == 1
    with pytest.raises(ValueError, match=r"time\[0\] is 'yesterday'; expected a number, or a date"):
        regressor().fit(X, y, time=["yesterday"] * 400)
    with pytest.raises(ValueError, match=r"time\[2\] is missing"):
        regressor().fit(X, y, time=time.where(time.index != 2))


def far_days(n: int) -> list[datetime.date]:
    """Days from 1500 to 2500, four rows each."""
    return [datetime.date(1500, 1, 1) + datetime.timedelta(days=(1000 * 365 * 4 // n) * (i // 4)) for i in range(n)]


def far_times(n: int) -> dict[str, Any]:
    """Times in one order, which rounding to nanoseconds or doubles would change."""
    dates = far_days(n)
    moments = [datetime.datetime.combine(day, datetime.time(1, 2, 3)) for day in dates]
    blocks = np.arange(n) // 4
    zone = datetime.timezone(datetime.timedelta(hours=5))
    return {
        "dates": dates,
        "datetimes": moments,
        "aware": [moment.replace(tzinfo=zone) for moment in moments],
        "text": [str(day) for day in dates],
        "text with fractions": [f"2024-01-31T05:00:00.{block:018d}" for block in blocks],
        "datetime64[D]": np.array(dates, dtype="datetime64[D]"),
        "datetime64[us]": np.array(moments, dtype="datetime64[us]"),
        "datetime64[Y]": (blocks - 10**9).astype("datetime64[Y]"),
        "objects of datetime64": np.array([np.datetime64(day) for day in dates] + [None], dtype=object)[:-1],
        "durations": blocks.astype("timedelta64[ns]") + np.timedelta64(2**60, "ns"),
        "pandas": pandas.Series(np.array(moments, dtype="datetime64[s]")),
        "pandas objects": pandas.Series(moments, dtype=object),
        "pandas with a zone": pandas.Series(np.array(moments, dtype="datetime64[s]")).dt.tz_localize("Asia/Tokyo"),
        "pandas nanoseconds": [pandas.Timestamp("2024-01-31") + pandas.Timedelta(int(k), "ns") for k in blocks],
        "pyarrow": pyarrow.array(moments, pyarrow.timestamp("us", "UTC")),
        "pyarrow days": pyarrow.chunked_array([pyarrow.array(dates, pyarrow.date32())]),
        "polars": polars.Series(moments),
        "int64": 2**53 + blocks,
        "negative": -(2**63) + blocks,
        "uint64": np.uint64(2**64 - 1) - (n - blocks).astype(np.uint64),
        "nullable": pandas.Series(2**53 + blocks, dtype="Int64"),
        "objects": [2**70 + int(block) for block in blocks],
        "signs": [int(block) - 2**62 if block < n // 8 else int(block) + 2**63 for block in blocks],
    }


@pytest.mark.parametrize("kind", far_times(8))
def test_times_are_compared_without_rounding(kind):
    rng = np.random.default_rng(3)
    order = rng.permutation(400)
    given = far_times(400)[kind]
    ranks = times_of(given, 400)
    assert np.array_equal(ranks, np.arange(400) // 4)
    assert ranks.flags.c_contiguous
    if isinstance(given, list):
        assert np.array_equal(times_of([given[i] for i in order], 400), order // 4)


def test_rows_of_far_dates_calibrate_in_their_order():
    rng = np.random.default_rng(4)
    X = pandas.DataFrame({"x": np.arange(400.0)})
    y = (X["x"] + rng.normal(size=400)).rename("y")
    for time in (far_days(400), 2**53 + np.arange(400) // 4):
        Watched.fits = []
        regressor(Watched(), cv=4).fit(X, y, time=time)
        assert Watched.fits[-1] == set(range(300))  # the latest quarter calibrates


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"clusters": np.zeros((200, 2))}, "clusters has shape"),
        ({"clusters": np.arange(5)}, "clusters has shape"),
        ({"clusters": np.full(200, np.nan)}, r"clusters\[0\] is missing"),
        ({"clusters": [1.5] * 200}, "expected text, booleans or integers"),
        ({"clusters": [True] * 100 + [False] * 100}, "5 folds for the 1 cluster of"),
        ({"clusters": np.full(200, -(2**63))}, "found rows of one cluster"),
        ({"time": np.arange(5)}, "X has 200 rows, time has 5"),
        ({"time": np.zeros((200, 2))}, "time has 2 dimensions"),
        ({"time": np.full(200, np.inf)}, r"time\[0\] is inf"),
        ({"time": np.zeros(200)}, "found rows of one time"),
        ({"time": [None] * 200}, r"time\[0\] is missing"),
        ({"time": np.array(["NaT"] * 200, dtype="datetime64[D]")}, r"time\[0\] is missing"),
        ({"time": [datetime.date(2024, 1, 1)] * 199 + [pandas.NaT]}, r"time\[199\] is missing"),
        ({"time": [datetime.date(2024, 1, 1)] * 199 + [7]}, "time holds numbers and dates"),
        ({"time": [[1]] * 200}, r"time\[0\] is \[1\]; expected a number, or a date"),
        ({"time": np.ma.masked_equal(np.arange(200), 3)}, r"time\[3\] is masked"),
    ],
)
def test_hostile_clusters_and_times_are_refused(given, why):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    with pytest.raises(ValueError, match=why):
        regressor().fit(X, X[:, 0] + rng.normal(size=200), **given)
