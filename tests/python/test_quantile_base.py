"""Lower and upper quantiles as predictions: given, of an estimator, or trained here."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from widthwise import Calibration, Localizer, Predictor, WidthwiseRegressor

xgboost = pytest.importorskip("xgboost")

LEVEL = 0.9
PROBABILITIES = (0.05, 0.95)


def make_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Skewed errors whose size depends on x, and quantiles that do not know it."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 3))
    scale = 0.2 + 2 * X[:, 0]
    y = 5 * X[:, 1] + scale * (rng.exponential(size=n) - 0.7)
    lower = 5 * X[:, 1] - 0.7 + 0.3 * X[:, 2]
    upper = 5 * X[:, 1] + 1.5 + 0.5 * np.sin(9 * X[:, 2])
    return X, y, np.column_stack([lower, upper])


FIT, CALIBRATION, TEST = make_rows(1500, 1), make_rows(800, 2), make_rows(4000, 3)


def fitted(rows=FIT, **options) -> Predictor:
    X, y, quantiles = rows
    localizer = Localizer(n_jobs=1, **options).fit(X, y, quantiles)
    return Predictor(localizer, localizer.calibrate(*CALIBRATION))


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return fitted()


def test_the_prediction_is_the_centre_of_the_quantiles(predictor):
    X, _, quantiles = TEST
    y_pred, intervals = predictor.predict_interval(X, quantiles)
    np.testing.assert_allclose(y_pred, quantiles.mean(axis=1), rtol=1e-15)
    assert np.all((intervals[:, 0, 0] <= y_pred) & (y_pred <= intervals[:, 1, 0]))
    assert predictor._model.prediction_columns == ["y_pred_lower", "y_pred_upper"]


@pytest.mark.parametrize("goal", ["even", 0.85, "narrow"])
def test_intervals_are_narrower_than_those_of_conformalized_quantile_regression(goal):
    X, y, quantiles = TEST
    intervals = fitted(goal=goal).predict_interval(X, quantiles, confidence_level=LEVEL)[1][:, :, 0]
    _, y_cal, cal = CALIBRATION
    scores = np.maximum(cal[:, 0] - y_cal, y_cal - cal[:, 1])
    correction = Calibration().add(scores).quantile(LEVEL)
    plain = quantiles + correction * np.array([-1, 1])

    def covered(bounds):
        return np.mean((bounds[:, 0] <= y) & (y <= bounds[:, 1]))

    error = np.sqrt(LEVEL * (1 - LEVEL) * (1 / len(y) + 1 / len(y_cal)))
    assert covered(intervals) > LEVEL - 3 * error
    assert np.diff(intervals).mean() < 0.97 * np.diff(plain).mean()


@pytest.mark.parametrize(
    "form",
    [
        lambda q: (q[:, 0], q[:, 1]),
        lambda q: pd.DataFrame(q, columns=["q05", "q95"]),
        lambda q: np.asfortranarray(q),
        lambda q: pa.table({"q05": q[:, 0], "q95": q[:, 1]}).to_reader(),
    ],
    ids=["tuple", "frame", "columns", "stream"],
)
def test_every_form_of_two_columns_gives_the_same_intervals(predictor, form):
    X, y, quantiles = FIT
    localizer = Localizer(n_jobs=1).fit(X, y, form(quantiles))
    other = Predictor(localizer, localizer.calibrate(*CALIBRATION[:2], form(CALIBRATION[2])))
    expected = predictor.predict_interval(TEST[0], TEST[2])[1]
    np.testing.assert_array_equal(other.predict_interval(TEST[0], form(TEST[2]))[1], expected)


def test_names_of_columns_are_kept_in_the_file(tmp_path):
    X, y, quantiles = FIT
    frame = pd.DataFrame(quantiles, columns=["q05", "q95"])
    localizer = Localizer(n_jobs=1).fit(X, y, y_pred_cv=frame)
    predictor = Predictor(localizer, localizer.calibrate(*CALIBRATION))
    predictor.save(tmp_path / "model.safetensors")
    loaded = Predictor.load(tmp_path / "model.safetensors")
    assert loaded._model.prediction_columns == ["q05", "q95"]
    expected = predictor.predict_interval(TEST[0], TEST[2])[1]
    np.testing.assert_array_equal(loaded.predict_interval(TEST[0], TEST[2])[1], expected)


def test_crossing_quantiles_and_missing_ones_are_safe(predictor):
    X, _, quantiles = TEST
    swapped = predictor.predict_interval(X, quantiles[:, ::-1])[1]
    np.testing.assert_array_equal(swapped, predictor.predict_interval(X, quantiles)[1])
    broken = quantiles[:3].copy()
    broken[0, 0], broken[1, 1], broken[2, 1] = np.nan, np.inf, np.nan
    assert np.isinf(predictor.predict_interval(X[:3], broken)[1]).all()


def test_one_column_instead_of_two_is_refused(predictor):
    X, y, quantiles = FIT
    with pytest.raises(ValueError, match="y_pred has one column; expected two, lower and upper quantiles"):
        predictor.predict_interval(X, quantiles[:, 0])
    one = Localizer(n_jobs=1).fit(X, y, quantiles.mean(axis=1))
    with pytest.raises(ValueError, match="the model was fitted to one prediction per row"):
        one.calibrate(*CALIBRATION)
    with pytest.raises(ValueError, match="X has 1,500 rows, y_pred has 1,499"):
        Localizer().fit(X, y, quantiles[1:])


def test_a_base_model_of_quantiles_is_part_of_the_model(tmp_path):
    X, y, _ = FIT
    model = WidthwiseRegressor(base="quantiles", base_options={"rounds": 60}, random_state=0, n_jobs=1)
    model.fit(X, y)
    X_test, y_test, _ = TEST
    intervals = model.predict_interval(X_test, confidence_level=LEVEL)[1][:, :, 0]
    assert 0.85 < np.mean((intervals[:, 0] <= y_test) & (y_test <= intervals[:, 1])) < 0.95
    model.save(tmp_path / "model.safetensors")
    loaded = Predictor.load(tmp_path / "model.safetensors")
    assert not loaded.needs_predictions
    np.testing.assert_array_equal(loaded.predict_interval(X_test, confidence_level=LEVEL)[1][:, :, 0], intervals)


def test_the_prediction_is_between_the_trained_quantiles():
    X, y, _ = FIT
    X_test, y_test, _ = TEST
    model = WidthwiseRegressor(
        base="quantiles",
        base_options={"lower": 0.2, "upper": 0.7},
        score_transform="identity",
        random_state=0,
        n_jobs=1,
    ).fit(X, y)
    # The point prediction is the mean of the two quantiles.
    assert 0.2 < np.mean(y_test <= model.predict(X_test)) < 0.7


@pytest.mark.parametrize(("lower", "upper"), [(0.9, 0.1), (0.4, 0.4)])
def test_a_lower_quantile_above_the_upper_one_is_refused(lower, upper):
    X, y, _ = FIT
    with pytest.raises(ValueError, match="expected a lower quantile below the upper one"):
        WidthwiseRegressor(base="quantiles", base_options={"lower": lower, "upper": upper}).fit(X, y)


def test_an_estimator_may_predict_two_quantiles():
    X, y, _ = FIT
    estimator = xgboost.XGBRegressor(
        objective="reg:quantileerror", quantile_alpha=list(PROBABILITIES), n_estimators=40, n_jobs=1
    )
    model = WidthwiseRegressor(estimator, random_state=0, n_jobs=1).fit(X, y)
    X_test, y_test, _ = TEST
    y_pred, intervals = model.predict_interval(X_test, confidence_level=LEVEL)
    np.testing.assert_allclose(y_pred, model.estimator_.predict(X_test).mean(axis=1), rtol=1e-6)
    assert 0.85 < np.mean((intervals[:, 0, 0] <= y_test) & (y_test <= intervals[:, 1, 0])) < 0.95
    with pytest.raises(ValueError, match="cross-calibration reads one column of predictions"):
        WidthwiseRegressor(estimator, calibration="cross", cv=2, n_jobs=1).fit(X[:200], y[:200])


def test_a_cross_calibrated_model_trains_quantiles_in_every_fold():
    X, y, _ = FIT
    model = WidthwiseRegressor(
        base="quantiles",
        base_options={"rounds": 20},
        calibration="cross",
        cv=3,
        random_state=0,
        n_jobs=1,
    ).fit(X[:300], y[:300])
    X_test, y_test, _ = TEST
    intervals = model.predict_interval(X_test, confidence_level=LEVEL)[1][:, :, 0]
    assert np.mean((intervals[:, 0] <= y_test) & (y_test <= intervals[:, 1])) > 0.85


def test_graphs_give_the_intervals_of_the_library(predictor):
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    from widthwise.onnx import export

    X, _, quantiles = TEST
    trained = WidthwiseRegressor(base="quantiles", base_options={"rounds": 20}, random_state=0, n_jobs=1)
    for model, inputs in (
        (predictor, {"prediction": quantiles}),
        (trained.fit(FIT[0], FIT[1]).predictor_, {}),
    ):
        session = onnxruntime.InferenceSession(export(model).SerializeToString())
        names = [output.name for output in session.get_outputs()]
        x = X.astype(np.float64 if session.get_inputs()[0].type == "tensor(double)" else np.float32)
        found = dict(zip(names, session.run(None, {"x": x, **inputs}), strict=True))
        _, expected = model.predict_interval(x.astype(float), quantiles if inputs else None)
        np.testing.assert_allclose(found["lower"][:, 0], expected[:, 0, 0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found["upper"][:, 0], expected[:, 1, 0], rtol=1e-9, atol=1e-9)
