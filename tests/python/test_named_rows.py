"""Rows as services receive them: dicts, lists of dicts and Series, and the function of one row."""

import threading
import time
import warnings
from pathlib import Path

import markdown
import numpy as np
import pandas
import polars
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from widthwise import Localizer, Predictor, WidthwiseRegressor

ROOT = Path(__file__).parents[2]
FAST = {"random_state": 0, "n_jobs": 1, "localizer_options": {"max_rounds": 10}}


def homes(n=600, seed=0):
    rng = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "size": rng.uniform(30, 200, n),
            "rooms": rng.integers(1, 6, n),
            "town": rng.choice(["Bonn", "Trier"], n),
            "garden": rng.random(n) < 0.5,
        }
    )
    frame.loc[::50, "size"] = np.nan
    spread = np.where(frame["town"] == "Bonn", 10, 40)
    return frame, 4 * frame["size"].fillna(100) + spread * rng.normal(size=n)


@pytest.fixture(scope="module")
def model():
    return WidthwiseRegressor(base_options={"rounds": 10}, **FAST).fit(*homes())


def as_rows(frame):
    """The rows as JSON has them."""
    rows = frame.to_dict("records")
    return [{name: None if value != value else value for name, value in row.items()} for row in rows]


def test_dicts_lists_of_dicts_and_series_are_rows(model):
    frame, _ = homes(5, 1)
    expected = model.predict_interval(frame)
    rows = as_rows(frame)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    shuffled = [dict(reversed(list(row.items()))) | {"other": "ignored"} for row in rows]
    for one in (model, model.predictor_):
        for given in (rows, columns, {name: frame[name].to_numpy() for name in frame}, shuffled, tuple(rows)):
            np.testing.assert_array_equal(one.predict_interval(given)[1], expected[1])
            np.testing.assert_array_equal(one.predict(given), expected[0])
        for i, row in enumerate(rows):
            for given in (row, frame.iloc[i], [row]):
                np.testing.assert_array_equal(one.predict_interval(given)[1], expected[1][i : i + 1])
        as_frame = one.predict_interval(frame.iloc[0], as_frame=True)
        assert as_frame["lower_0.9"].to_list() == [expected[1][0, 0, 0]]
        np.testing.assert_array_equal(one.predict_quantile(rows, [0.9]), one.predict_quantile(frame, [0.9]))
        assert one.predict_p(rows[0], [100.0]) == one.predict_p(frame[:1], [100.0])


def test_dicts_fit_evaluate_and_calibrate(model):
    (frame, y), (new, outcomes) = homes(), homes(300, 2)
    columns = {name: frame[name].to_numpy() for name in frame}
    again = WidthwiseRegressor(base_options={"rounds": 10}, **FAST).fit(columns, y)
    np.testing.assert_array_equal(again.predict_interval(new)[1], model.predict_interval(new)[1])
    assert again.evaluate(as_rows(new), outcomes)["levels"] == model.evaluate(new, outcomes)["levels"]
    assert len(again.conformalize(as_rows(new), outcomes).predictor_.calibration) == 450
    localizer = Localizer(score_transform="identity", n_jobs=1).fit(as_rows(frame), y, y + 1)
    assert localizer.features == list(frame)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"size": 1.0, "room": 2, "town": "Bonn", "garden": True}, "no column 'rooms', .*did you mean 'room'"),
        ([{"size": 1.0}, {"sice": 1.0}], "row 1 of X has no column 'sice', which other rows have; did you mean 'size'"),
        ({"size": 1.0, "rooms": [1, 2]}, "X has one value of 'size' and a list of 'rooms'"),
        ({"size": [1.0], "rooms": [1, 2]}, r"the column 'rooms' has shape \(2,\); expected 1 values"),
        ({"size": "large", "rooms": 1, "town": "Bonn", "garden": True}, "'size' is not numeric|size holds 'large'"),
    ],
)
def test_wrong_names_and_values_are_named(model, given, why):
    for one in (model, model.predictor_):
        with pytest.raises(ValueError, match=why):
            one.predict_interval(given)
    if isinstance(given, dict) and all(np.ndim(value) == 0 for value in given.values()):
        with pytest.raises(ValueError, match=why.replace("X has", "the row has")):
            model.row_function()(given)


def test_the_function_of_a_row_agrees_with_the_table(model):
    frame, _ = homes(20, 3)
    made, bounds = model.predict_interval(frame, 0.8)
    for one in (model, model.predictor_):
        row = one.row_function(0.8)
        assert row.confidence_level == 0.8
        for i, values in enumerate(as_rows(frame)):
            for given in (values, frame.iloc[i], values | {"rooms": np.int64(values["rooms"]), "other": 1}):
                assert row(given) == (made[i], bounds[i, 0, 0], bounds[i, 1, 0])
        assert row(values)._fields == ("prediction", "lower", "upper")
    with pytest.warns(UserWarning, match=r"column 'town': .*'bonn' \(did you mean 'Bonn'\?\)"):
        unknown = row(values | {"town": "bonn"})
    missing = row(values | {"town": None})
    assert unknown == missing
    with pytest.raises(ValueError, match="expected one level"):
        model.row_function([0.8, 0.9])


def test_the_function_of_a_row_takes_groups_predictions_and_quantiles():
    frame, y = homes(800, 4)
    rows = as_rows(frame)
    town = WidthwiseRegressor(base_options={"rounds": 10}, **FAST).fit(frame, y, groups="town")
    apart = WidthwiseRegressor(score_transform="identity", n_jobs=1, random_state=0)
    apart.fit(frame[["size"]], y, y_pred=y + 1, groups=frame["rooms"].to_numpy())
    found = town.predict_interval(frame[:5])[1]
    row, number = town.row_function(), apart.row_function()
    for i in range(5):
        assert row(rows[i])[1:] == tuple(found[i, :, 0])
        rooms = rows[i]["rooms"]
        expected = apart.predict_interval(frame[["size"]][i : i + 1], y_pred=[2.0], groups=[rooms])[1]
        assert number(rows[i], 2.0, group=rooms)[1:] == tuple(expected[0, :, 0])
    with pytest.raises(ValueError, match="the model has groups"):
        number(rows[0], 2.0)
    with pytest.raises(ValueError, match="pass predictions as y_pred"):
        number(rows[0], group=1)
    with pytest.warns(UserWarning, match="group"):
        assert number(rows[0], 2.0, group=77).upper == np.inf
    pair = Localizer(score_transform="identity", n_jobs=1).fit(
        frame[["size"]][:400], y[:400], np.c_[y - 1, y + 1][:400]
    )
    scores = pair.calibrate(frame[["size"]][400:], y[400:], np.c_[y - 1, y + 1][400:])
    both = Predictor(pair, scores)
    expected = both.predict_interval(frame[["size"]][:1], np.array([[1.0, 3.0]]))[1]
    assert both.row_function()(rows[0], [1.0, 3.0])[1:] == tuple(expected[0, :, 0])


def test_the_function_of_a_row_calls_the_estimator():
    frame, y = homes(800, 5)
    frame = frame.assign(size=frame["size"].fillna(100))
    encode = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    pipeline = make_pipeline(encode, LinearRegression())
    X = frame[["size", "rooms"]].to_numpy(dtype=float)
    for estimator, table, rows in (
        (pipeline, frame, as_rows(frame[:4])),
        (LinearRegression(), X, [{"x0": size, "x1": rooms} for size, rooms in X[:4]]),
    ):
        for calibration in ("split", "cross"):
            model = WidthwiseRegressor(estimator, calibration=calibration, cv=2, score_transform="identity", **FAST)
            made, bounds = model.fit(table, y).predict_interval(table[:4])
            np.testing.assert_allclose(model.predict_interval(rows)[1], bounds)
            row = model.row_function()
            for i, values in enumerate(rows):
                np.testing.assert_allclose(row(dict(reversed(values.items()))), (made[i], *bounds[i, :, 0]))


def test_a_missing_value_in_a_frame_of_one_row_is_missing(model):
    values = as_rows(homes(1, 7)[0])[0]
    assert values["size"] is None
    expected = model.row_function()(values)
    for one in (model, model.predictor_):
        assert tuple(one.predict_interval(pandas.DataFrame([values]))[1][0, :, 0]) == expected[1:]


def test_infinite_intervals_are_warned_of_once():
    frame, y = homes(40, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = WidthwiseRegressor(
            base_options={"rounds": 20}, calibration_size=5, score_transform="identity", n_jobs=1
        )
        model.fit(frame[["size", "rooms"]], y)
    with pytest.warns(UserWarning, match="infinite"):
        row = model.row_function()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert row(as_rows(frame)[0]).upper == np.inf


def test_a_row_takes_at_most_50_microseconds_and_threads_share_the_function(model):
    values = as_rows(homes(2, 7)[0])[1]
    row = model.row_function()
    expected = row(values)

    def microseconds(call, calls=200):
        best = np.inf
        for _ in range(20):
            start = time.thread_time()
            for _ in range(calls // 20):
                call()
            best = min(best, (time.thread_time() - start) / (calls // 20))
        return 1e6 * best

    assert microseconds(lambda: row(values)) < 150  # 50 on an idle machine, see docs/performance.md
    frame = pandas.DataFrame([values])
    assert microseconds(lambda: row(values)) < microseconds(lambda: model.predict_interval(frame)) / 5
    wrong = []

    def serve():
        wrong.extend(found for found in (row(values) for _ in range(300)) if found != expected)

    threads = [threading.Thread(target=serve) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_frames_of_one_row_agree_whatever_their_types(model):
    frame, _ = homes(30, 8)
    numbers = frame[["size", "rooms"]].astype(float)
    fitted = WidthwiseRegressor(base_options={"rounds": 20}, score_transform="identity", n_jobs=1, random_state=0)
    fitted.fit(numbers, np.arange(30.0))
    many = fitted.predict_interval(numbers)[1]
    for given in (numbers[:1], numbers[["rooms", "size"]][:1], polars.from_pandas(numbers[:1]), numbers[:1].to_numpy()):
        found = fitted.predictor_.predict_interval(given)[1]
        np.testing.assert_array_equal(found, many[:1])
    twice = pandas.concat([numbers, numbers[["size"]]], axis=1)
    with pytest.raises(ValueError, match="duplicate column name 'size'"):
        fitted.predictor_.predict_interval(twice[:1])


def test_the_page_on_production_runs():
    assert markdown.differences(ROOT / "docs/production.md") == []
