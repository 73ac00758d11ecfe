"""OnlinePredictor: intervals that track a stream."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from examples import N_JOBS, Rows
from widthwise import Calibration, Localizer, OnlinePredictor, Predictor, WidthwiseRegressor


@pytest.fixture(scope="module")
def predictor(rows, fresh):
    localizer = Localizer(n_jobs=N_JOBS).fit(rows.X, rows.y, rows.y_pred)
    return Predictor(localizer, localizer.calibrate(fresh.X, fresh.y, fresh.y_pred))


@pytest.fixture(scope="module")
def stream():
    """Rows whose errors double after the first third."""
    stream = Rows(6000, seed=2)
    stream.y[2000:] += stream.y[2000:] - stream.y_pred[2000:]
    return stream


@pytest.mark.parametrize("method", ["adaptive", "decaying"])
def test_coverage_is_kept_where_the_calibration_as_it_was_loses_it(predictor, stream, method):
    online = OnlinePredictor(predictor, [0.8, 0.9], method=method)
    y_pred, intervals = online.track(stream.X, stream.y, stream.y_pred)
    assert y_pred.shape == (6000,) and intervals.shape == (6000, 2, 2)
    assert inside(intervals, stream.y).mean(axis=0).tolist() == online.coverage
    np.testing.assert_allclose(online.coverage, [0.8, 0.9], atol=0.01)
    np.testing.assert_allclose(online.recent_coverage, [0.8, 0.9], atol=0.03)
    assert np.all(np.array(online.fixed_coverage) < [0.77, 0.87])
    assert online.rows_observed == 6000 and online.method == method
    assert repr(online) == f"OnlinePredictor({method}, level 0.8, 0.9, 6,000 rows observed)"


def test_track_is_predict_and_observe_row_by_row(predictor, stream):
    online = OnlinePredictor(predictor, 0.9)
    at_once = OnlinePredictor(predictor, 0.9)
    _, together = at_once.track(stream.X[:300], stream.y[:300], stream.y_pred[:300])
    for i in range(300):
        row = slice(i, i + 1)
        _, before = online.predict_interval(stream.X[row], stream.y_pred[row])
        np.testing.assert_array_equal(before[0], together[i])
        online.observe(stream.X[row], stream.y[row], stream.y_pred[row])
    assert online.coverage == at_once.coverage


def test_a_regressor_predicts_with_its_estimator(rows, stream):
    estimator = make_pipeline(SimpleImputer(), LinearRegression())
    model = WidthwiseRegressor(estimator, random_state=0, n_jobs=N_JOBS).fit(rows.frame(), rows.y)
    X, y = stream.frame().iloc[:50], stream.y[:50]
    online = OnlinePredictor(model)
    copied = pickle.loads(pickle.dumps(online))
    _, intervals = online.track(X, y)
    _, given = OnlinePredictor(model.predictor_).track(X, y, model.predict(X))
    np.testing.assert_array_equal(intervals, given)
    np.testing.assert_array_equal(copied.track(X, y)[1], given)
    with pytest.raises(NotFittedError, match="not fitted"):
        OnlinePredictor(WidthwiseRegressor(estimator))


def inside(intervals, y):
    return (intervals[:, 0] <= y[:, None]) & (y[:, None] <= intervals[:, 1])


@pytest.mark.parametrize("method", ["adaptive", "decaying"])
@pytest.mark.parametrize("size", [24, 1000])
def test_coverage_is_that_of_the_intervals_issued(predictor, method, size):
    """Days in batches: predict in the morning, observe in the evening; odd days have six times the errors."""
    days = Rows(60 * size, seed=3)
    days.y += 5 * (days.y - days.y_pred) * (np.arange(60 * size) // size % 2)
    online = OnlinePredictor(predictor, [0.8, 0.9], method=method)
    covered = np.zeros(2)
    for first in range(0, 60 * size, size):
        day = slice(first, first + size)
        _, intervals = online.predict_interval(days.X[day], days.y_pred[day])
        covered += inside(intervals, days.y[day]).sum(axis=0)
        online.observe(days.X[day], days.y[day], days.y_pred[day])
    assert (covered / (60 * size)).tolist() == online.coverage
    assert online.longest_delay == size
    # Misses of the adaptive method are at most alpha T + alpha / step + (1 - alpha) d, with step alpha / max(20, d).
    alpha = np.array([0.2, 0.1])
    excess = 60 * size * (1 - np.array(online.coverage) - alpha)
    if method == "adaptive":
        assert np.all(excess <= max(20, size) + (1 - alpha) * size)
        np.testing.assert_allclose(online.coverage, [0.8, 0.9], atol=0.01)
    else:
        np.testing.assert_allclose(online.coverage, [0.8, 0.9], atol=0.03)

    again = OnlinePredictor(predictor, [0.8, 0.9], method=method)
    _, tracked = again.track(days.X, days.y, days.y_pred, batch_size=size)
    assert again.coverage == online.coverage
    assert inside(tracked, days.y).mean(axis=0).tolist() == online.coverage


def test_outcomes_may_come_late_in_any_order_and_in_parts(predictor, stream, tmp_path):
    online = OnlinePredictor(predictor, 0.9)
    parts = [slice(first, first + 100) for first in range(0, 2000, 100)]
    issued = []
    for number, part in enumerate(parts):
        issued.append(online.predict_interval(stream.X[part], stream.y_pred[part]))
        if number % 5 == 4:  # the outcomes of the previous five, in reverse order
            for late in range(number, number - 5, -1):
                rows, batch = parts[late], issued[late].batch
                some = stream.y[rows].copy()
                some[::2] = np.nan
                online.observe(stream.X[rows], some, stream.y_pred[rows], batch=batch)
                assert online.pending[batch] == 50
                half = slice(rows.start, rows.stop, 2)
                online.observe(stream.X[half], stream.y[half], stream.y_pred[half], batch=batch)
                assert batch not in online.pending
    covered = sum(inside(of.intervals, stream.y[part]).sum() for of, part in zip(issued, parts, strict=True))
    assert online.coverage == [covered / 2000] and online.rows_observed == 2000 and online.pending == {}
    y_pred, intervals = pickle.loads(pickle.dumps(issued[0]))
    np.testing.assert_array_equal(intervals, issued[0].intervals)
    np.testing.assert_array_equal(y_pred, issued[0].y_pred)

    # Pending batches are saved as well.
    monday = online.predict_interval(stream.X[2000:2100], stream.y_pred[2000:2100])
    online.save(tmp_path / "pending.safetensors")
    loaded = OnlinePredictor.load(tmp_path / "pending.safetensors")
    assert loaded.pending == online.pending == {monday.batch: 100}
    for one in (online, loaded):
        one.observe(stream.X[2000:2100], stream.y[2000:2100], stream.y_pred[2000:2100])
    assert loaded.coverage == online.coverage
    again = (one.predict_interval(stream.X, stream.y_pred).intervals for one in (online, loaded))
    np.testing.assert_array_equal(*again)


def test_a_batch_must_be_pending(predictor, stream):
    X, y, y_pred = stream.X[:10], stream.y[:10], stream.y_pred[:10]
    online = OnlinePredictor(predictor, 0.9)
    with pytest.raises(ValueError, match="no batch is pending; call predict_interval"):
        online.observe(X, y, y_pred)
    first = online.predict_interval(X, y_pred)
    second = online.predict_interval(X, y_pred)
    with pytest.raises(ValueError, match=r"2 batches are pending \(0, 10\); pass batch="):
        online.observe(X, y, y_pred)
    with pytest.raises(ValueError, match="20 rows of batch 0, which has 10 rows pending"):
        online.observe(stream.X[:20], stream.y[:20], stream.y_pred[:20], batch=first.batch)
    with pytest.raises(ValueError, match="9 of 10 rows were not issued in batch 0; pass each row once"):
        online.observe(stream.X[9:19], stream.y[9:19], stream.y_pred[9:19], batch=first.batch)
    with pytest.raises(ValueError, match="batch 99 was not issued; the next batch is 20"):
        online.observe(X, y, y_pred, batch=99)
    online.drop(second.batch)
    online.observe(X, y, y_pred)
    with pytest.raises(ValueError, match="batch 0 has no pending rows: its outcomes were observed, or it was dropped"):
        online.observe(X, y, y_pred, batch=first.batch)
    with pytest.raises(ValueError, match="X has no rows"):
        online.predict_interval(X[:0], y_pred[:0])
    with pytest.raises(ValueError, match="batch_size is 0; expected a whole number from 1"):
        online.track(X, y, y_pred, batch_size=0)
    with pytest.raises(ValueError, match="delay is -1; expected a whole number from 0"):
        online.track(X, y, y_pred, delay=-1)
    assert online.rows_observed == 10


def test_rows_of_another_batch_are_refused(predictor, stream, tmp_path):
    rows = [slice(0, 40), slice(40, 80)]
    online = OnlinePredictor(predictor, 0.9)
    monday, tuesday = (online.predict_interval(stream.X[day], stream.y_pred[day]).batch for day in rows)
    online.save(tmp_path / "stream.safetensors")

    def observe(state, day, batch):
        state.observe(stream.X[rows[day]], stream.y[rows[day]], stream.y_pred[rows[day]], batch=batch)

    for state in (online, OnlinePredictor.load(tmp_path / "stream.safetensors"), copy.deepcopy(online)):
        with pytest.raises(ValueError, match=f"40 of 40 rows were issued in batch {tuesday}, not in batch {monday}"):
            observe(state, 1, monday)
        assert state.rows_observed == 0 and state.pending == {monday: 40, tuesday: 40}
        some = slice(0, 10)
        state.observe(stream.X[some], stream.y[some], stream.y_pred[some], batch=monday)
        part = slice(8, 30)
        with pytest.raises(ValueError, match="2 of 22 rows were already observed in batch 0"):
            state.observe(stream.X[part], stream.y[part], stream.y_pred[part], batch=monday)
        observe(state, 1, tuesday)
        assert state.rows_observed == 50 and state.pending == {monday: 30}


def test_rows_are_tracked_once(predictor, stream, rows, tmp_path):
    online = OnlinePredictor(predictor, 0.9)
    online.track(stream.X[:500], stream.y[:500], stream.y_pred[:500])
    online.track(stream.X[500:900], stream.y[500:900], stream.y_pred[500:900])
    online.save(tmp_path / "stream.safetensors")
    coverage = online.coverage
    for state in (online, OnlinePredictor.load(tmp_path / "stream.safetensors")):
        for again, share in ((slice(0, 500), 100), (slice(800, 1000), 50)):
            with pytest.raises(ValueError, match=f"{share}% of these rows were already observed"):
                state.track(stream.X[again], stream.y[again], stream.y_pred[again])
        issued = state.predict_interval(stream.X[:500], stream.y_pred[:500])
        with pytest.raises(ValueError, match="100% of these rows were already observed"):
            state.observe(stream.X[:500], stream.y[:500], stream.y_pred[:500])
        state.drop(issued.batch)
        assert state.coverage == coverage and state.rows_observed == 900
        state.track(stream.X[900:1000], stream.y[900:1000], stream.y_pred[900:1000])


def test_rows_that_fitted_the_model_are_refused(rows):
    model = WidthwiseRegressor(random_state=1, n_jobs=N_JOBS).fit(rows.X, rows.y)
    online = OnlinePredictor(model, 0.9)
    with pytest.raises(ValueError, match="of these rows were used to fit the model"):
        online.track(rows.X, rows.y)
    online.predict_interval(rows.X)
    with pytest.raises(ValueError, match="of these rows were used to fit the model"):
        online.observe(rows.X, rows.y)
    assert online.rows_observed == 0


def test_rows_that_repeat_by_chance_are_observed(predictor, stream):
    """Few distinct rows, in every batch and in every table."""
    random = np.random.default_rng(5)
    X, y, y_pred = (np.round(table[:8]) for table in (stream.X, stream.y, stream.y_pred))
    online = OnlinePredictor(predictor, 0.9)
    for _ in range(5):
        draw = random.integers(0, 8, 60)
        online.track(X[draw], y[draw], y_pred[draw])
        online.predict_interval(X[draw], y_pred[draw])
        online.observe(X[draw[::-1]], y[draw[::-1]], y_pred[draw[::-1]])
    assert online.rows_observed == 600


def test_a_delay_longer_than_the_stream_is_a_warning(predictor, stream):
    """Coverage of rows with doubled errors is 0.58 if no outcome arrives in time."""
    X, y, y_pred = stream.X[2000:4000], stream.y[2000:4000], stream.y_pred[2000:4000]
    late = OnlinePredictor(predictor, 0.9)
    with pytest.warns(UserWarning, match="no outcome was observed before the last batch, so no interval was updated: "
                      "these rows are 200 batches, and outcomes arrive 500 batches later; use a shorter delay, which "
                      "counts batches, not rows"):  # fmt: skip
        late.track(X, y, y_pred, batch_size=10, delay=500)
    assert late.coverage[0] < 0.6
    online = OnlinePredictor(predictor, 0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        online.track(X, y, y_pred, batch_size=10, delay=5)
    assert online.coverage[0] > late.coverage[0] + 0.1
    with pytest.warns(UserWarning, match="these rows are 1 batch; use a smaller batch size"):
        OnlinePredictor(predictor, 0.9).track(X, y, y_pred, batch_size=2000)


def test_the_first_intervals_are_the_predictors(predictor, stream):
    for method in ("adaptive", "decaying"):
        online = OnlinePredictor(predictor, [0.9, 0.5], method=method, window_rows=5000)
        _, first = online.predict_interval(stream.X, stream.y_pred)
        _, fixed = predictor.predict_interval(stream.X, stream.y_pred, confidence_level=[0.9, 0.5])
        np.testing.assert_array_equal(first, fixed)
        assert np.isnan(online.coverage).all()


def test_rows_with_missing_outcomes_are_not_observed(predictor, stream):
    some = stream.y.copy()
    some[::3] = np.nan
    online = OnlinePredictor(predictor)
    _, intervals = online.track(stream.X, some, stream.y_pred)
    assert online.rows_observed == 4000 and not np.isnan(intervals).any()
    assert online.confidence_levels == predictor.confidence_levels


def test_a_saved_stream_resumes(predictor, stream, tmp_path, program):
    file = tmp_path / "stream.safetensors"
    online = OnlinePredictor(predictor, 0.9, window_rows=500)
    online.track(stream.X[:3000], stream.y[:3000], stream.y_pred[:3000])
    online.save(file)
    expected = online.track(stream.X[3000:], stream.y[3000:], stream.y_pred[3000:])
    loaded = OnlinePredictor.load(file)
    for again in (loaded, copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        found = again.track(stream.X[3000:], stream.y[3000:], stream.y_pred[3000:])
        np.testing.assert_array_equal(found[1], expected[1])
        assert again.coverage == online.coverage

    # The command line reports the same for the file, and the stream does not change the predictor.
    assert "adaptive, 3,000 rows observed" in program("inspect", file).stdout
    np.testing.assert_array_equal(
        Predictor.load(file).predict_interval(stream.X, stream.y_pred)[1],
        predictor.predict_interval(stream.X, stream.y_pred)[1],
    )
    np.testing.assert_array_equal(
        loaded.predictor.predict_interval(stream.X, stream.y_pred)[1],
        predictor.predict_interval(stream.X, stream.y_pred)[1],
    )


def test_the_regressors_predictor_can_begin_a_stream(model, fresh):
    online = OnlinePredictor(model.predictor_, 0.9)
    y_pred, _ = online.track(fresh.X, fresh.y)
    np.testing.assert_array_equal(y_pred, model.predict(fresh.X))


def test_invalid_arguments_are_refused(predictor, stream, tmp_path):
    with pytest.raises(ValueError, match="expected a step"):
        OnlinePredictor(predictor, step=0)
    with pytest.raises(ValueError, match="window of 5 rows is too short for level 0.9"):
        OnlinePredictor(predictor, 0.9, window_rows=5)
    with pytest.raises(ValueError, match="adaptive or decaying"):
        OnlinePredictor(predictor, method="fixed")
    with pytest.raises(ValueError, match="y_pred"):
        OnlinePredictor(predictor).track(stream.X, stream.y)
    predictor.save(tmp_path / "still.safetensors")
    with pytest.raises(ValueError, match="has no online state"):
        OnlinePredictor.load(tmp_path / "still.safetensors")
    with pytest.raises(FileNotFoundError):
        OnlinePredictor.load(tmp_path / "none.safetensors")

    # Either all rows are recorded or none.
    online = OnlinePredictor(predictor)
    with pytest.raises(ValueError, match="rows"):
        online.track(stream.X, stream.y[:10], stream.y_pred)
    assert online.rows_observed == 0


def test_a_stream_is_loaded_with_its_estimator(tmp_path):
    """The file holds no estimator; without one, rows need predictions, and with one they do not."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, (400, 2))
    y = X[:, 0] + rng.normal(size=400)
    model = WidthwiseRegressor(LinearRegression(), random_state=0, score_transform="identity")
    online = OnlinePredictor(model.fit(X[:300], y[:300]))
    online.predict_interval(X[300:310])
    online.save(tmp_path / "stream.safetensors")
    loaded = OnlinePredictor.load(tmp_path / "stream.safetensors", estimator=model.estimator_)
    for stream in (online, loaded):
        stream.observe(X[300:310], y[300:310])
    assert np.array_equal(loaded.predict_interval(X[310:])[1], online.predict_interval(X[310:])[1])
    with pytest.raises(ValueError, match="pass predictions as y_pred"):
        OnlinePredictor.load(tmp_path / "stream.safetensors").predict_interval(X[310:])
    with pytest.raises(ValueError, match="X has 1 features, but WidthwiseRegressor is expecting 2"):
        loaded.predict_interval(X[310:, :1])


def test_a_stream_explains_how_to_get_a_one_sided_bound(predictor):
    online = OnlinePredictor(predictor)
    assert not hasattr(online, "predict_quantile")
    with pytest.raises(AttributeError, match="an end of an interval of level t is a one-sided bound of level t"):
        online.predict_quantile(np.zeros((1, 3)), [0.9])
    with pytest.raises(AttributeError, match="'OnlinePredictor' object has no attribute 'other'"):
        _ = online.other


def test_an_uncalibrated_predictor_cannot_begin(rows):
    localizer = Localizer(n_jobs=N_JOBS, score_transform="identity").fit(rows.X, rows.y, rows.y_pred)
    with pytest.raises(ValueError, match="not calibrated"):
        OnlinePredictor(Predictor(localizer, Calibration()))
