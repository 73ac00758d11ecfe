"""Localizer, Calibration and Predictor: intervals from arrays."""

import copy
import pickle
import threading
import time

import numpy as np
import pytest

from examples import N_JOBS
from widthwise import Calibration, Localizer, Predictor, evaluate_intervals, plan


@pytest.fixture(scope="module")
def localizer(rows):
    return Localizer(goal=0.85, n_jobs=N_JOBS).fit(rows.X, rows.y, rows.y_pred)


@pytest.fixture(scope="module")
def predictor(localizer, fresh):
    return Predictor(localizer, localizer.calibrate(fresh.X, fresh.y, fresh.y_pred))


# ---- calibration


@pytest.mark.parametrize("n", [1, 9, 10, 99, 100, 1000])
@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 0.95, 0.99])
def test_quantiles_are_the_scores_of_the_exact_rank(n, level):
    scores = np.random.default_rng(n).permutation(n).astype(float)
    rank = -((-(n + 1) * round(level * 100)) // 100)  # ceil, in whole numbers
    expected = np.inf if rank > n else float(rank - 1)
    assert Calibration().add(scores).quantile(level) == expected


def test_any_order_and_any_split_is_the_same_calibration():
    scores = np.random.default_rng(0).normal(size=1000)
    whole = Calibration().add(scores)
    parts = [Calibration().add(scores[first : first + 250], first_row=first) for first in (750, 0, 500, 250)]
    merged = parts[0].merge(parts[1]).merge(parts[2]).merge(parts[3])
    assert merged == whole
    assert Calibration.from_bytes(whole.to_bytes()) == whole
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert copy.deepcopy(whole) == whole
    assert len(whole) == whole.rows_seen == 1000
    with pytest.raises(ValueError, match="added twice"):
        Calibration().add(scores).merge(whole).quantile(0.9)


def test_each_group_has_its_own_quantile():
    calibration = Calibration().add(np.arange(200.0), groups=np.repeat([1, 2], 100))
    assert calibration.groups == [1, 2]
    assert calibration.quantile(0.9, group=1) < 100 <= calibration.quantile(0.9, group=2)
    assert calibration.quantile(0.9, group=3) == np.inf


def test_p_values_count_the_scores_at_least_as_large():
    calibration = Calibration().add([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(calibration.p_values([0.0, 2.0, 4.0]), [1, 3 / 4, 1 / 4])


def test_invalid_scores_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        Calibration().add([1.0, np.nan])
    with pytest.raises(ValueError):
        Calibration.from_bytes(b"hello")
    with pytest.raises(ValueError, match="expected text, booleans or integers"):
        Calibration().add([1.0], groups=[2.5])


# ---- localizer and predictor


def test_a_score_bounds_its_own_row(localizer, fresh):
    scores = localizer.scores(fresh.X, fresh.y, fresh.y_pred)
    lower, upper = localizer.half_widths(fresh.X, fresh.y_pred, scores[:, None])
    assert np.all(np.abs(fresh.y - fresh.y_pred) <= upper[:, 0])
    np.testing.assert_array_equal(lower, upper)


def test_intervals_are_those_of_the_calibrations_quantile(localizer, predictor, fresh):
    calibration = predictor.calibration
    q = [calibration.quantile(0.8), calibration.quantile(0.9)]
    lower, upper = localizer.half_widths(fresh.X, fresh.y_pred, q)
    _, intervals = predictor.predict_interval(fresh.X, fresh.y_pred, confidence_level=[0.8, 0.9])
    np.testing.assert_allclose(intervals[:, 0], fresh.y_pred[:, None] - lower, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(intervals[:, 1], fresh.y_pred[:, None] + upper, rtol=1e-12, atol=1e-12)


def test_difficulty_is_the_width_up_to_a_factor(localizer, predictor, fresh):
    _, intervals = predictor.predict_interval(fresh.X, fresh.y_pred)
    ratio = (intervals[:, 1, 0] - intervals[:, 0, 0]) / localizer.difficulty(fresh.X, fresh.y_pred)
    assert np.ptp(ratio) < 1e-9 * ratio[0]
    assert localizer.parameters(fresh.X, fresh.y_pred).shape == (2000, 1)


def test_difficulty_of_the_squared_score_is_the_width_and_that_of_the_log_score_an_error(rows, fresh):
    """The width was difficulty^0.5 with the squared score."""
    options = {"score_transform": "exp", "goal": "even", "two_sided": False, "n_jobs": N_JOBS}
    squared = Localizer(**options, fit_options={"score": "squared"}).fit(rows.X, rows.y, rows.y_pred)
    predictor = Predictor(squared, squared.calibrate(fresh.X, fresh.y, fresh.y_pred))
    _, intervals = predictor.predict_interval(fresh.X, fresh.y_pred)
    ratio = (intervals[:, 1, 0] - intervals[:, 0, 0]) / squared.difficulty(fresh.X, fresh.y_pred)
    assert np.ptp(ratio) < 1e-9 * ratio[0]
    log = Localizer(**{**options, "goal": "narrow"}, fit_options={"score": "log"}).fit(rows.X, rows.y, rows.y_pred)
    with pytest.raises(ValueError, match="the score log has none"):
        log.difficulty(rows.X, rows.y_pred)


def test_only_scale_transforms_have_a_difficulty(rows):
    narrow = Localizer(goal="narrow", n_jobs=N_JOBS).fit(rows.X, rows.y, rows.y_pred)
    with pytest.raises(ValueError, match="fit with a number as the goal"):
        narrow.difficulty(rows.X, rows.y_pred)


def test_groups_that_were_not_calibrated_are_infinite(localizer, fresh):
    groups = np.arange(2000) % 2
    predictor = Predictor(localizer, localizer.calibrate(fresh.X, fresh.y, fresh.y_pred, groups=groups))
    new = np.array([0, 1, 2] * 5)
    _, intervals = predictor.predict_interval(fresh.X[:15], fresh.y_pred[:15], groups=new)
    assert np.array_equal(np.isinf(intervals[:, 1, 0]), new == 2)
    with pytest.raises(ValueError, match="calibrates each group separately"):
        predictor.predict_interval(fresh.X, fresh.y_pred)


def test_calibrating_in_parts_is_calibrating_at_once(localizer, fresh):
    calibration = localizer.calibrate(fresh.X[:700], fresh.y[:700], fresh.y_pred[:700])
    localizer.calibrate(fresh.X[700:], fresh.y[700:], fresh.y_pred[700:], calibration=calibration)
    assert len(calibration) == 2000
    with pytest.raises(ValueError, match="already in the calibration set"):
        localizer.calibrate(fresh.X[:700], fresh.y[:700], fresh.y_pred[:700], calibration=calibration)
        Predictor(localizer, calibration)


def test_rows_that_trained_do_not_calibrate(localizer, rows):
    with pytest.raises(ValueError, match="100% of these rows were used to fit the model"):
        localizer.calibrate(rows.X, rows.y, rows.y_pred)


def test_a_predictor_is_saved_pickled_and_copied(predictor, fresh, tmp_path):
    predictor.save(tmp_path / "p.safetensors")
    expected = predictor.predict_interval(fresh.X, fresh.y_pred)[1]
    for other in (
        Predictor.load(tmp_path / "p.safetensors"),
        pickle.loads(pickle.dumps(predictor)),
        copy.deepcopy(predictor),
    ):
        np.testing.assert_array_equal(other.predict_interval(fresh.X, fresh.y_pred)[1], expected)


def test_rows_without_a_finite_bound_have_infinite_intervals(predictor):
    _, intervals = predictor.predict_interval([[1.0, 1.0, 1.0]] * 3, [np.nan, np.inf, 1.0])
    assert np.all(np.isinf(intervals[:2]))
    assert np.all(np.isfinite(intervals[2]))


def test_errors_say_what_to_do(localizer, rows):
    with pytest.raises(ValueError, match="call fit with X, y and y_pred"):
        Localizer().scores(rows.X, rows.y, rows.y_pred)
    with pytest.warns(
        UserWarning, match=r"the model is not calibrated, so its intervals are infinite.*Localizer\.calibrate"
    ):
        _, intervals = Predictor(localizer, Calibration()).predict_interval(rows.X, rows.y_pred)
    assert np.all(np.isinf(intervals))
    with pytest.raises(ValueError, match="has no base model; pass predictions"):
        Predictor(localizer, Calibration()).predict(rows.X)
    with pytest.raises(ValueError, match="expected 'even', 'narrow' or a number"):
        Localizer(goal=True)
    with pytest.raises(ValueError, match="n_jobs is 0"):
        Localizer(n_jobs=0).fit(rows.X, rows.y, rows.y_pred)


def test_training_reports_to_the_log_and_to_standard_error(rows, caplog, capsys):
    with caplog.at_level("INFO", logger="widthwise"):
        Localizer(n_jobs=N_JOBS, verbose=1).fit(rows.X[:500], rows.y[:500], rows.y_pred[:500])
    assert any("training trees" in message for message in caplog.messages)
    assert any("one width" in message for message in caplog.messages)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "training trees" in captured.err
    Localizer(n_jobs=N_JOBS).fit(rows.X[:500], rows.y[:500], rows.y_pred[:500])
    assert capsys.readouterr().err == ""


# ---- long calls


def test_other_threads_run_during_long_calls(predictor, fresh):
    X = np.tile(fresh.X, (500, 1))
    y_pred = np.tile(fresh.y_pred, 500)
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    predictor.predict_interval(X, y_pred)
    end = time.perf_counter()
    done.set()
    thread.join()
    inside = [t for t in ticks if start < t < end]
    assert len(inside) >= min(5, (end - start) * 50), f"{len(inside)} ticks in {end - start:.2f} s"


INTERRUPT = """
import os, signal, sys, threading, time
import numpy as np
import xgboost  # not while the signal comes: Python loses some that come during imports
from widthwise import Localizer

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started the tests in the background
rng = np.random.default_rng(0)
X = rng.uniform(0, 4, (200_000, 20))
y = X[:, 0] * rng.normal(size=len(X))
sent = []

def interrupt():
    time.sleep(float(sys.argv[1]))
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    Localizer(n_jobs=1).fit(X, y, np.zeros(len(y)))
except KeyboardInterrupt:
    print(time.perf_counter() - sent[0])
else:
    print("not interrupted")
"""


def test_ctrl_c_stops_training_within_a_second(run_python):
    taken = []
    for after in (3.0, 1.5, 6.0):  # the best of three: the machine may be busy
        done = run_python(INTERRUPT, after)
        assert done.returncode == 0, done.stderr
        taken.append(float(done.stdout))
        if taken[-1] < 1:
            break
    assert min(taken) < 1, taken


# ---- planning


def test_plans_are_those_of_the_command_line():
    planned = plan(0.9, tolerance=0.01)
    assert planned.rows == 3600
    assert planned.low >= 0.89 and planned.high <= 0.91
    assert plan(0.9, rows=99).mean == pytest.approx(0.9)
    with pytest.raises(ValueError, match="either tolerance or rows"):
        plan(0.9)


# ---- levels that narrow optimises


def test_narrow_trains_for_the_levels_asked_for(rows):
    def notes(**options):
        localizer = Localizer(goal="narrow", two_sided=False, n_jobs=N_JOBS, **options)
        return localizer.fit(rows.X, rows.y, rows.y_pred)._model.notes

    assert notes()["level_window"] == "0.8..0.99"
    assert notes(confidence_level=[0.8, 0.95])["level_window"] == "0.7..0.995"
    assert notes(level_window=(0.5, 0.9))["level_window"] == "0.5..0.9"
    assert "level_window" not in notes(level_window="all")
    with pytest.raises(ValueError, match="level_window is 'none'; expected auto, all, or two levels"):
        Localizer(level_window="none")


def test_two_sides_are_taken_where_errors_are_skewed(rows):
    # Errors below the prediction are a tenth of those above for large x, and the reverse for small x.
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (3000, 1))
    size = np.abs(rng.normal(size=3000))
    y = np.where(rng.random(3000) < 0.5, -size * (1.05 - X[:, 0]), size * (0.05 + X[:, 0]))
    skewed = Localizer(goal="narrow", n_jobs=N_JOBS).fit(X, y, np.zeros(3000))
    assert skewed.two_sided
    even = Localizer(goal="even", n_jobs=N_JOBS).fit(X, y, np.zeros(3000))
    assert even.two_sided
    assert even.score_transform in ("shortest", "spline")
    by_default = Localizer(n_jobs=N_JOBS).fit(X, y, np.zeros(3000))
    assert by_default.two_sided
    assert by_default.fit_report_["other"] is None
    symmetric = Localizer(goal="narrow", n_jobs=N_JOBS).fit(rows.X, rows.y, rows.y_pred)
    assert not symmetric.two_sided


def test_a_localizer_is_loaded_from_a_model_file_without_its_calibration(predictor, localizer, fresh, tmp_path):
    predictor.save(tmp_path / "model.safetensors")
    loaded = Localizer.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(
        loaded.scores(fresh.X, fresh.y, fresh.y_pred), localizer.scores(fresh.X, fresh.y, fresh.y_pred)
    )
    calibration = loaded.calibrate(fresh.X, fresh.y, fresh.y_pred)
    assert len(calibration) == len(fresh.y)


def test_intervals_from_anywhere_are_judged_like_our_own(predictor, fresh):
    levels = [0.8, 0.9]
    _, intervals = predictor.predict_interval(fresh.X, fresh.y_pred, confidence_level=levels)
    with pytest.warns(UserWarning, match="100% of these rows were used to calibrate the model"):
        ours = predictor.evaluate(fresh.X, fresh.y, fresh.y_pred, confidence_level=levels)
    found = evaluate_intervals(intervals, fresh.y, confidence_level=levels, calibration_rows=len(fresh.y), X=fresh.X)
    for mine, theirs in zip(ours["levels"], found["levels"], strict=True):
        for key in ("coverage", "mean_width", "interval_score", "worst_slab", "by_width"):
            assert mine[key] == theirs[key]
        assert theirs["by_feature"] != []
    one = evaluate_intervals(intervals[:, :, 0], fresh.y, confidence_level=0.8, calibration_rows=1000)
    assert one["levels"][0]["coverage"] == ours["levels"][0]["coverage"]
    assert one["levels"][0]["worst_slab"] is None
    with pytest.raises(ValueError, match=r"expected \(\d+, 2, 1\)"):
        evaluate_intervals(intervals, fresh.y, confidence_level=0.8, calibration_rows=1000)
    with pytest.raises(ValueError, match="X has 3 rows"):
        evaluate_intervals(intervals, fresh.y, confidence_level=levels, calibration_rows=1000, X=fresh.X[:3])
