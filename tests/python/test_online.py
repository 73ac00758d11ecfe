"""OnlinePredictor: intervals that follow a stream."""

import copy
import pickle

import numpy as np
import pytest

from examples import N_JOBS, Rows
from widthwise import Calibration, Localizer, OnlinePredictor, Predictor


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
    y_pred, intervals = online.observe(stream.X, stream.y, stream.y_pred)
    assert y_pred.shape == (6000,) and intervals.shape == (6000, 2, 2)
    inside = (intervals[:, 0] <= stream.y[:, None]) & (stream.y[:, None] <= intervals[:, 1])
    np.testing.assert_allclose(inside.mean(axis=0), online.coverage, atol=1e-9)
    np.testing.assert_allclose(online.coverage, [0.8, 0.9], atol=0.01)
    np.testing.assert_allclose(online.recent_coverage, [0.8, 0.9], atol=0.03)
    assert np.all(np.array(online.fixed_coverage) < [0.77, 0.87])
    assert online.rows_observed == 6000 and online.method == method
    assert repr(online) == f"OnlinePredictor({method}, level 0.8, 0.9, 6,000 rows observed)"


def test_observe_gives_what_predict_interval_gave_before(predictor, stream):
    online = OnlinePredictor(predictor, 0.9)
    at_once = OnlinePredictor(predictor, 0.9)
    _, together = at_once.observe(stream.X[:300], stream.y[:300], stream.y_pred[:300])
    for i in range(300):
        row = slice(i, i + 1)
        _, before = online.predict_interval(stream.X[row], stream.y_pred[row])
        np.testing.assert_array_equal(before[0], together[i])
        online.observe(stream.X[row], stream.y[row], stream.y_pred[row])


def test_the_first_intervals_are_the_predictors(predictor, stream):
    for method in ("adaptive", "decaying"):
        online = OnlinePredictor(predictor, [0.9, 0.5], method=method, window=5000)
        _, first = online.predict_interval(stream.X, stream.y_pred)
        _, fixed = predictor.predict_interval(stream.X, stream.y_pred, confidence_level=[0.9, 0.5])
        np.testing.assert_array_equal(first, fixed)
        assert np.isnan(online.coverage).all()


def test_outcomes_that_are_missing_teach_nothing(predictor, stream):
    some = stream.y.copy()
    some[::3] = np.nan
    online = OnlinePredictor(predictor)
    _, intervals = online.observe(stream.X, some, stream.y_pred)
    assert online.rows_observed == 4000 and not np.isnan(intervals).any()
    assert online.confidence_levels == predictor.confidence_levels


def test_a_file_goes_on_where_it_ended(predictor, stream, tmp_path, program):
    file = tmp_path / "stream.safetensors"
    online = OnlinePredictor(predictor, 0.9, window=500)
    online.observe(stream.X[:3000], stream.y[:3000], stream.y_pred[:3000])
    online.save(file)
    expected = online.observe(stream.X[3000:], stream.y[3000:], stream.y_pred[3000:])
    loaded = OnlinePredictor.load(file)
    for again in (loaded, copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        found = again.observe(stream.X[3000:], stream.y[3000:], stream.y_pred[3000:])
        np.testing.assert_array_equal(found[1], expected[1])
        assert again.coverage == online.coverage

    # The command line tells the same of the file, and a predictor is not changed by the stream.
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
    y_pred, _ = online.observe(fresh.X, fresh.y)
    np.testing.assert_array_equal(y_pred, model.predict(fresh.X))


def test_what_cannot_be_is_said(predictor, stream, tmp_path):
    with pytest.raises(ValueError, match="expected a step"):
        OnlinePredictor(predictor, step=0)
    with pytest.raises(ValueError, match="window of 5 rows is too short for level 0.9"):
        OnlinePredictor(predictor, 0.9, window=5)
    with pytest.raises(ValueError, match="adaptive or decaying"):
        OnlinePredictor(predictor, method="fixed")
    with pytest.raises(ValueError, match="y_pred"):
        OnlinePredictor(predictor).observe(stream.X, stream.y)
    predictor.save(tmp_path / "still.safetensors")
    with pytest.raises(ValueError, match="follows no stream yet"):
        OnlinePredictor.load(tmp_path / "still.safetensors")
    with pytest.raises(FileNotFoundError):
        OnlinePredictor.load(tmp_path / "none.safetensors")

    # All rows are learnt or none.
    online = OnlinePredictor(predictor)
    with pytest.raises(ValueError, match="rows"):
        online.observe(stream.X, stream.y[:10], stream.y_pred)
    assert online.rows_observed == 0


def test_an_uncalibrated_predictor_cannot_begin(rows):
    localizer = Localizer(n_jobs=N_JOBS, transform="identity").fit(rows.X, rows.y, rows.y_pred)
    with pytest.raises(ValueError, match="not calibrated"):
        OnlinePredictor(Predictor(localizer, Calibration()))
