"""Marginal and training-conditional guarantees of every class of the package."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from widthwise import Calibration, Localizer, Predictor, WidthwiseRegressor, evaluate_intervals, plan


def table(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 2))
    return X, X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=n)


def regressor(guarantee, **options):
    options = {"score_transform": "identity", "random_state": 0, "n_jobs": 1, "cv": 2} | options
    return WidthwiseRegressor(LinearRegression(), guarantee=guarantee, **options)


@pytest.fixture(scope="module")
def pac():
    return regressor(0.95).fit(*table(1000, 0))


@pytest.fixture(scope="module")
def marginal():
    return regressor("marginal").fit(*table(1000, 0))


def width(model, **options):
    bounds = model.predict_interval(table(10, 1)[0], **options)[1]
    return float(bounds[0, 1, 0] - bounds[0, 0, 0])


def test_the_guarantee_is_a_parameter(pac):
    assert WidthwiseRegressor().get_params()["guarantee"] == "marginal"
    assert clone(pac).get_params()["guarantee"] == 0.95
    assert regressor("marginal").set_params(guarantee=0.9).guarantee == 0.9
    assert pac.predictor_.guarantee == 0.95


def test_intervals_have_the_rank_of_the_guarantee(pac, marginal):
    calibration = pac.predictor_.calibration
    assert len(calibration) == 250
    scores = np.sort(calibration._shard.scores())
    # P(Bin(250, 0.9) >= 234) = 0.0309, and of 233 it is 0.0513
    assert calibration.quantile(0.9, guarantee=0.95) == scores[234 - 1]
    assert calibration.quantile(0.9) == scores[226 - 1]
    unit = pac.predictor_._model.unit
    assert width(pac) == pytest.approx(2 * scores[234 - 1] * unit, rel=1e-12)
    assert width(marginal) == pytest.approx(2 * scores[226 - 1] * unit, rel=1e-12)


def test_a_predictor_changes_its_guarantee_without_fitting(pac, marginal):
    other = pac.predictor_.with_guarantee("marginal")
    assert other.guarantee == "marginal" and pac.predictor_.guarantee == 0.95
    X = table(10, 1)[0]
    y_pred = pac.predict(X)
    np.testing.assert_array_equal(other.predict_interval(X, y_pred)[1], marginal.predict_interval(X)[1])
    again = marginal.predictor_.with_guarantee(0.95).predict_interval(X, y_pred)[1]
    np.testing.assert_array_equal(again, pac.predict_interval(X)[1])
    # Quantiles are one-sided bounds with the same guarantee; p-values are marginal.
    assert np.all(pac.predict_quantile(X, 0.9) >= marginal.predict_quantile(X, 0.9))
    assert np.all(pac.predict_quantile(X, 0.1) <= marginal.predict_quantile(X, 0.1))
    np.testing.assert_array_equal(pac.predict_p(X, y_pred + 1), marginal.predict_p(X, y_pred + 1))


def test_files_pickles_and_new_rows_keep_it(pac, tmp_path):
    pac.save(tmp_path / "model")
    loaded = WidthwiseRegressor.load(tmp_path / "model", pac.estimator_)
    assert loaded.guarantee == loaded.predictor_.guarantee == 0.95
    assert width(loaded) == width(pac)
    assert pickle.loads(pickle.dumps(pac)).predictor_.guarantee == 0.95
    assert Predictor.load(tmp_path / "model").guarantee == 0.95
    assert loaded.conformalize(*table(500, 5)).predictor_.guarantee == 0.95


def test_a_localizer_gives_it_to_its_predictors():
    X, y = table(300, 2)
    localizer = Localizer(score_transform="identity", guarantee=0.9, n_jobs=1).fit(X[:200], y[:200], X[:200, 0])
    predictor = Predictor(localizer, localizer.calibrate(X[200:], y[200:], X[200:, 0]))
    assert predictor.guarantee == 0.9


def test_the_guarantee_holds_in_each_group(pac):
    X, y = table(130, 3)
    groups = np.repeat([1, 2], [100, 30])
    f = pac.predict(X)
    predictor = pac.predictor_.calibrated(X, y, f, groups=groups, replace=True)
    assert predictor.guarantee == 0.95
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bounds = predictor.predict_interval(X, f, groups=groups)[1][:, :, 0]
    residuals = np.abs(y - f)
    for group, rank in ((1, 96), (2, 30)):
        own = groups == group
        np.testing.assert_allclose(bounds[own, 1] - f[own], np.sort(residuals[own])[rank - 1], rtol=1e-9)


def test_too_few_rows_give_infinite_intervals_and_a_warning(pac):
    X, y = table(28, 4)
    predictor = pac.predictor_.calibrated(X, y, pac.predict(X), replace=True)
    with pytest.warns(UserWarning, match="the level needs 29 calibration rows, the model has 28"):
        bounds = predictor.predict_interval(X, pac.predict(X))[1]
    assert np.all(np.isinf(bounds))


def test_weights_have_no_such_guarantee():
    calibration = Calibration().add(np.arange(100.0), weights=np.linspace(1, 2, 100))
    with pytest.raises(ValueError, match="not available for weighted calibration; use the guarantee 'marginal'"):
        calibration.quantile(0.9, guarantee=0.95, test_weight=1.0)


def test_plans(pac):
    assert plan(0.9, rows=1000, guarantee=0.95).mean == 916 / 1001
    assert plan(0.9, rows=28, guarantee=0.95).mean == 1 > plan(0.9, rows=29, guarantee=0.95).mean
    assert plan(0.9, tolerance=0.02, guarantee=0.95).rows > plan(0.9, tolerance=0.02).rows


@pytest.mark.parametrize("guarantee", ["pac", "0.95", 0, 1, 1.5, math.nan, None, True])
def test_anything_else_is_refused(guarantee):
    message = "expected 'marginal' or a confidence strictly between 0 and 1, such as 0.95"
    for use in (
        lambda: plan(rows=100, guarantee=guarantee),
        lambda: Calibration().add([1.0]).quantile(0.5, guarantee=guarantee),
        lambda: regressor(guarantee).fit(*table(50, 0)),
    ):
        with pytest.raises(ValueError, match=message):
            use()


def test_a_graph_has_the_intervals_of_the_guarantee(pac):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    import widthwise.onnx

    proto = widthwise.onnx.export(pac)
    assert {entry.key: entry.value for entry in proto.metadata_props}["guarantee"] == "0.95"
    X = table(10, 1)[0]
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    _, upper = session.run(None, {"x": X.astype(np.float32), "prediction": pac.predict(X)})
    np.testing.assert_allclose(upper, pac.predict_interval(X)[1][:, 1], rtol=1e-12)


def test_the_coverage_of_one_calibration_is_below_the_level_as_rarely_as_said():
    """10,000 calibrations of 100 rows; scores are uniform, so a quantile equals its coverage."""
    from scipy.stats import beta, binom

    rng = np.random.default_rng(0)
    k = 96  # P(Bin(100, 0.9) >= 96) = 0.0237, and of 95 it is 0.0576
    below = np.sum(np.sort(rng.random((10_000, 100)))[:, k - 1] < 0.9)
    assert Calibration().add(np.arange(1.0, 101.0)).quantile(0.9, guarantee=0.95) == k
    exact = beta.cdf(0.9, k, 101 - k)
    assert exact < 0.05
    assert binom.ppf(1e-6, 10_000, exact) <= below <= binom.isf(1e-6, 10_000, exact)


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_times_have_no_training_conditional_guarantee(estimator):
    X, y = table(200, 0)
    time = np.arange(200.0)
    options = {"score_transform": "identity", "random_state": 0, "n_jobs": 1}
    predictions = {} if estimator is not None else {"y_pred": X[:, 0]}
    with pytest.raises(ValueError, match=r"guarantee 0.95 is not available with the time in 'time'.*independent rows"):
        WidthwiseRegressor(estimator, guarantee=0.95, **options).fit(X, y, time=time, **predictions)
    with pytest.raises(ValueError, match="guarantee 0.95 is not available with the time"):
        Localizer(guarantee=0.95, score_transform="identity").fit(X, y, X[:, 0], time=time)
    model = WidthwiseRegressor(estimator, **options).fit(X, y, time=time, **predictions)
    with pytest.raises(ValueError, match="guarantee 0.95 is not available with the time in 'time'"):
        model.predictor_.with_guarantee(0.95)


def test_evaluate_expects_the_coverage_of_the_guarantee(pac, marginal):
    X, y = table(2000, 8)
    found, plain = pac.evaluate(X, y), marginal.evaluate(X, y)
    assert (found["guarantee"], plain["guarantee"]) == (0.95, "marginal")
    assert found.valid
    expected, other = found["levels"][0]["verdict"], plain["levels"][0]["verdict"]
    assert expected["expected_low"] > other["expected_low"] and expected["expected_high"] > other["expected_high"]
    bounds = pac.predict_interval(X)[1]
    given = evaluate_intervals(bounds, y, confidence_level=0.9, calibration_rows=250, guarantee=0.95)
    assert given["levels"][0]["verdict"] | {"text": expected["text"]} == expected
    assert expected["text"].startswith(given["levels"][0]["verdict"]["text"])  # features tell more
