"""Cross-calibration (CV+ and jackknife+) in Python, compared with MAPIE and with its guarantee."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import markdown
import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.dummy import DummyRegressor  # noqa: E402
from sklearn.linear_model import LinearRegression, Ridge  # noqa: E402
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, TimeSeriesSplit  # noqa: E402

from widthwise import Predictor, WidthwiseRegressor  # noqa: E402

LEVELS = [0.5, 0.8, 0.9]

# Folds of 60 rows that are no partition into training and test rows.
FOLDS = list(KFold(3).split(np.zeros(60)))
LEAKY = [(np.arange(60), test) for _, test in FOLDS]
SMALL = [FOLDS[0], (FOLDS[1][0][1:], FOLDS[1][1]), FOLDS[2]]
TWICE = [(np.r_[train, train[:3]], test) for train, test in FOLDS]
LACKING = FOLDS[:2]


def make_rows(n, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ np.arange(1, d + 1) / d + (0.3 + 0.5 * np.abs(X[:, 0])) * rng.normal(size=n)


def cross(estimator=None, **options):
    options = {"score_transform": "identity", "random_state": 0, "n_jobs": 1} | options
    return WidthwiseRegressor(estimator, calibration="cross", **options)


@pytest.mark.parametrize("splitter", [KFold(5), KFold(7, shuffle=True, random_state=3), LeaveOneOut()])
def test_one_width_is_the_method_plus_of_mapie(splitter):
    mapie = pytest.importorskip("mapie.regression", reason="mapie is not installed")
    X, y = make_rows(60)
    new, _ = make_rows(40, seed=1)
    peer = mapie.CrossConformalRegressor(Ridge(), confidence_level=[0.8, 0.9, 0.95], method="plus", cv=splitter)
    _, expected = peer.fit_conformalize(X, y).predict_interval(new)
    _, found = cross(Ridge(), cv=splitter).fit(X, y).predict_interval(new, [0.8, 0.9, 0.95])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_least_squares_with_as_many_rows_as_columns_is_covered():
    """The case of the jackknife+ paper where cross-validated residuals without the fold models cover far too little."""
    covered = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(200, 200)), rng.normal(size=(300, 200))
        slope = rng.normal(size=200) / np.sqrt(200) * np.sqrt(10)
        y, y_new = X @ slope + rng.normal(size=200), new @ slope + rng.normal(size=300)
        _, bounds = cross(LinearRegression(), cv=10).fit(X, y).predict_interval(new, 0.9)
        covered.append(np.mean((bounds[:, 0, 0] <= y_new) & (y_new <= bounds[:, 1, 0])))
    assert np.mean(covered) >= 0.8


def test_a_localizer_is_cross_calibrated():
    X, y = make_rows(250, seed=2)
    new, y_new = make_rows(2000, seed=3)
    model = cross(Ridge(), score_transform="auto", cv=5).fit(X, y)
    found = model.evaluate(new, y_new)
    assert found["levels"][0]["coverage"]["share"] > 0.85
    assert found.valid
    assert "Cross-calibration with 250 rows in 5 folds guarantees at least" in found["verdict"]["evidence"]
    _, bounds = model.predict_interval(new)
    assert len(set(np.round(bounds[:, 1, 0] - bounds[:, 0, 0], 9))) > 20
    assert len(model.estimators_) == 5


@pytest.mark.parametrize("cv", [4, "all"])
def test_base_models_are_stored_in_the_file(cv, tmp_path):
    pytest.importorskip("xgboost")
    X, y = make_rows(40, seed=4)
    new, y_new = make_rows(30, seed=5)
    model = cross(cv=cv, base_options={"rounds": 5}).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    again = Predictor.load(tmp_path / "model.safetensors")
    prediction, bounds = model.predict_interval(new, LEVELS)
    for other in (again, pickle.loads(pickle.dumps(again)), pickle.loads(pickle.dumps(model))):
        found, same = other.predict_interval(new, confidence_level=LEVELS)
        np.testing.assert_array_equal(found, prediction)
        np.testing.assert_array_equal(same, bounds)
    np.testing.assert_array_equal(again.predict(new), prediction)
    assert ((bounds[:, 0] <= prediction[:, None]) & (prediction[:, None] <= bounds[:, 1])).all()
    p = again.predict_p(new, y_new)
    inside = (bounds[:, 0, 1] <= y_new) & (y_new <= bounds[:, 1, 1])
    assert inside[p > 0.2].all()


def test_estimators_of_a_file_are_passed_as_a_list(tmp_path):
    X, y = make_rows(50)
    new, _ = make_rows(10, seed=1)
    model = cross(Ridge()).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    prediction, bounds = model.predict_interval(new)
    again = WidthwiseRegressor.load(tmp_path / "model.safetensors", model.estimators_)
    np.testing.assert_array_equal(again.predict_interval(new)[1], bounds)
    np.testing.assert_array_equal(again.predict(new), prediction)
    each = np.column_stack([estimator.predict(new) for estimator in model.estimators_])
    np.testing.assert_array_equal(Predictor.load(tmp_path / "model.safetensors").predict_interval(new, each)[1], bounds)
    with pytest.raises(ValueError, match=r"expected \(10, 5\): the predictions of the models of all folds"):
        again.predict_interval(new, y_pred=each[:, 0])


def test_predictions_of_a_deployed_model_are_one_column():
    X, y = make_rows(60)
    forecast = X @ np.arange(1, 5) / 4
    model = cross().fit(X, y, y_pred=forecast)
    prediction, bounds = model.predict_interval(X[:5], y_pred=forecast[:5])
    np.testing.assert_array_equal(prediction, forecast[:5])
    # All folds have the same prediction, so that the bounds are those of split calibration with all rows.
    half = np.sort(np.abs(y - forecast))[int(np.ceil(0.9 * 61)) - 1]
    np.testing.assert_allclose(bounds[:, 1, 0] - prediction, half, atol=1e-12)


def test_categories_unseen_in_a_fold_are_missing():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("xgboost")
    X, y = make_rows(80)
    frame = pd.DataFrame({"x": X[:, 0], "kind": ["rare"] + ["a", "b"] * 39 + ["c"]})
    model = cross(base_options={"rounds": 5}).fit(frame, y)
    assert model.predictor_._model.categories[1] == ["a", "b", "c", "rare"]
    frame.loc[0, "kind"] = "never seen"
    assert np.isfinite(model.predict_interval(frame[:3])[1]).all()


@pytest.mark.parametrize(
    ("options", "fit", "message"),
    [
        ({"calibration": "both"}, {}, "calibration is 'both'; expected 'split' or 'cross'"),
        ({"guarantee": 0.95}, {}, "has no guarantee 0.95"),
        ({"cv": ShuffleSplit(3)}, {}, "every row in exactly one test fold"),
        ({"cv": LEAKY}, {}, "fold 1 of 3 of cv has 20 of its 20 test rows among its training rows"),
        ({"cv": SMALL}, {}, "in fold 2 of 3 1 of them are left out"),
        ({"cv": TWICE}, {}, "in fold 1 of 3 3 of them are repeated"),
        ({"cv": LACKING}, {}, "found 20 rows in none and 0 in several"),
        ({}, {"groups": ["a", "b"] * 30}, "does not calibrate groups separately"),
    ],
)
def test_errors_name_the_remedy(options, fit, message):
    X, y = make_rows(60)
    with pytest.raises(ValueError, match=message):
        cross(Ridge()).set_params(**options).fit(X, y, **fit)


def test_more_folds_than_a_model_can_have_are_refused_before_they_are_fitted():
    X, y = make_rows(1001)
    with pytest.raises(ValueError, match="fits a model per fold, at most 1000; found 1001 folds"):
        cross(DummyRegressor()).set_params(cv="all").fit(X, y)


def test_cross_fitting_refuses_folds_that_train_on_their_test_rows():
    """A fold may leave rows out, but errors of rows that trained its estimator are too small to learn widths from."""
    X, y = make_rows(80)
    model = WidthwiseRegressor(Ridge(), score_transform="identity", random_state=0, n_jobs=1)
    leaky = [(np.ones(60, dtype=bool), np.arange(60) % 3 == fold) for fold in range(3)]
    with pytest.raises(ValueError, match="fold 1 of 3 of cv has 20 of its 20 test rows among its training rows"):
        model.set_params(cv=leaky).fit(X, y)
    for cv in (SMALL, LACKING, TWICE, ShuffleSplit(3, random_state=0), TimeSeriesSplit(3)):
        model.set_params(cv=cv).fit(X, y)


def test_operations_that_need_one_calibration_are_refused():
    X, y = make_rows(60)
    model = cross(Ridge()).fit(X, y)
    for action in (
        lambda: model.conformalize(*make_rows(20, seed=9)),
        lambda: model.predict_quantile(X, 0.9),
        lambda: model.predictor_.with_guarantee(0.95),
    ):
        with pytest.raises(ValueError, match="fit with split calibration"):
            action()


def test_few_rows_are_advised_to_cross_calibrate():
    X, y = make_rows(60)
    split = WidthwiseRegressor(Ridge(), score_transform="identity", random_state=0, n_jobs=1).fit(X, y)
    summary = split.fit_report_["summary"]
    assert "With 60 rows, of which 15 calibrate, cross-calibration with one width (calibration 'cross', 10" in summary
    assert "score transform 'identity'" in summary
    assert "cross-calibration" not in cross(Ridge()).fit(X, y).fit_report_["summary"]
    # The guarantee is the number that evaluate states for the model that is advised.
    advised = WidthwiseRegressor(
        Ridge(), calibration="cross", cv=10, score_transform="identity", random_state=0, n_jobs=1
    ).fit(X, y)
    stated = advised.evaluate(*make_rows(100, seed=9))["levels"][0]["verdict"]["text"]
    number = re.search(r"guarantees at least (\d+\.\d%)", stated)[1]
    assert number == "72.4%" and f"Its guarantee at level 0.9 is {number} instead of 90%, or 80.0% with one" in summary


def test_the_document_shows_real_output():
    assert markdown.differences(Path(__file__).parents[2] / "docs/few-rows.md") == []


def test_quantiles_of_folds_are_refused_with_an_alternative():
    X, y = make_rows(60)
    model = cross(LinearRegression(), cv=3).fit(X, y)
    with pytest.raises(
        ValueError, match="an end of its interval is a one-sided bound of the same level; fit with split"
    ):
        model.predict_quantile(X, [0.9])
