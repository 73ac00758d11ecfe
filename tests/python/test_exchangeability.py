"""The alarm that rows stopped being exchangeable with the calibration rows."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from widthwise import OnlinePredictor, WidthwiseRegressor


def rows_of(n, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 2))
    return X, X[:, 0] + noise * rng.normal(size=n)


@pytest.fixture(scope="module")
def model():
    return WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1).fit(*rows_of(1500, 0))


@pytest.mark.parametrize(("factor", "errors"), [(2.0, "larger"), (0.4, "smaller")])
def test_a_stream_raises_the_alarm_after_a_change_only(model, factor, errors):
    online = OnlinePredictor(model)
    assert online.alarm is None and online.exchangeability["log_martingale"] == 0
    online.track(*rows_of(2000, 1))
    assert online.alarm is None
    online.track(*rows_of(500, 2, factor))
    found = online.exchangeability
    assert online.alarm == found["alarm"] and found["alarm"]["errors"] == errors
    assert 2000 < found["alarm"]["row"] < 2300
    assert found["rows"] == 2500 and found["false_alarm_rate"] == 0.01
    assert found["highest_log_martingale"] >= math.log(100)
    online.track(*rows_of(500, 3))
    assert online.alarm == found["alarm"]


def test_evaluation_in_order_is_the_alarm_of_the_stream(model):
    X, y = (np.concatenate(parts) for parts in zip(rows_of(1000, 1), rows_of(1000, 2, 2.0), strict=True))
    online = OnlinePredictor(model)
    online.track(X, y)
    evaluation = model.evaluate(X, y, in_order=True)
    assert evaluation["exchangeability"] == online.exchangeability
    assert evaluation["exchangeability"]["text"].split(";")[0] in " ".join(str(evaluation).split())
    assert "exchangeability" not in model.evaluate(X, y)
    strict = model.evaluate(X, y, in_order=True, false_alarm_rate=1e-6)["exchangeability"]
    assert strict["alarm"]["row"] > evaluation["exchangeability"]["alarm"]["row"]
    quiet = model.evaluate(*rows_of(1000, 5), in_order=True)["exchangeability"]
    assert quiet["alarm"] is None and quiet["text"].startswith("No alarm: ")


def test_late_outcomes_count_in_the_order_in_which_they_are_observed(model):
    X, y = rows_of(600, 1)
    late = OnlinePredictor(model)
    batches = [late.predict_interval(X[i : i + 200]) for i in range(0, 600, 200)]
    order = [2, 0, 1]
    for i in order:
        late.observe(X[200 * i : 200 * i + 200], y[200 * i : 200 * i + 200], batch=batches[i].batch)
    arrived = np.concatenate([np.arange(200 * i, 200 * i + 200) for i in order])
    direct = OnlinePredictor(model)
    direct.track(X[arrived], y[arrived])
    assert late.exchangeability == direct.exchangeability


def test_rows_without_outcomes_are_skipped_and_files_resume(model, tmp_path):
    X, y = rows_of(500, 1)
    known = np.arange(500) % 3 != 0
    some, only = OnlinePredictor(model), OnlinePredictor(model)
    some.track(X, np.where(known, y, np.nan))
    only.track(X[known], y[known])
    assert some.exchangeability == only.exchangeability and some.exchangeability["rows"] == known.sum()
    some.save(tmp_path / "stream.safetensors")
    loaded = OnlinePredictor.load(tmp_path / "stream.safetensors")
    assert loaded.exchangeability == some.exchangeability
    f = model.predict(X)
    loaded.track(X, 3 * y, f)
    some.track(X, 3 * y)
    assert loaded.exchangeability == some.exchangeability and loaded.alarm


def test_the_alarm_can_be_switched_off_and_needs_a_probability(model):
    online = OnlinePredictor(model, false_alarm_rate=0)
    online.track(*rows_of(100, 1))
    assert online.alarm is None and online.exchangeability is None
    with pytest.raises(ValueError, match="expected a false-alarm rate between 0 and 1, found 1"):
        OnlinePredictor(model, false_alarm_rate=1)
    with pytest.raises(ValueError, match="false_alarm_rate is 'low'; expected a number"):
        model.evaluate(*rows_of(10, 1), in_order=True, false_alarm_rate="low")


def test_groups_are_compared_with_their_own_rows():
    rng = np.random.default_rng(0)
    X, y = rows_of(3000, 0)
    noisy = rng.uniform(size=3000) < 0.2
    y[noisy] += 5 * rng.normal(size=noisy.sum())
    model = WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1)
    model.fit(X, y, groups=np.where(noisy, "noisy", "quiet"))
    X, y = rows_of(1000, 1)
    y += 5 * rng.normal(size=1000)
    fine = model.evaluate(X, y, groups=np.full(1000, "noisy"), in_order=True)
    assert fine["exchangeability"]["alarm"] is None
    wrong = model.evaluate(X, y, groups=np.full(1000, "quiet"), in_order=True)
    assert wrong["exchangeability"]["alarm"]["row"] < 100


def test_a_calibration_with_weights_is_refused():
    X, y = rows_of(1000, 0)
    model = WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1)
    model.fit(X, y, weights=np.where(X[:, 0] > 2, 2.0, 1.0))
    with pytest.raises(ValueError, match="the calibration has weights"):
        model.evaluate(X, y, weights=np.ones(1000), in_order=True)
