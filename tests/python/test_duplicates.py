"""Copies of rows in the table of a fit, in Python; tests/guarantee/test_copied_rows.py measures the coverage."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.linear_model import LinearRegression, Ridge  # noqa: E402
from sklearn.model_selection import KFold  # noqa: E402
from sklearn.neighbors import KNeighborsRegressor  # noqa: E402

from widthwise import Localizer, WidthwiseRegressor  # noqa: E402

COPIES = r"50\.0% of the rows \(300 of 600\) are copies of other rows"


def rows(distinct=300, times=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(distinct, 3))
    y = X[:, 0] + rng.normal(size=distinct)
    order = rng.permutation(np.repeat(np.arange(distinct), times))
    return X[order], y[order]


def regressor(estimator=None, **options):
    options = {"score_transform": "identity", "random_state": 0, "n_jobs": 1} | options
    return WidthwiseRegressor(estimator, **options)


class Recorder(LinearRegression):
    """Keeps the rows that it was fitted on and those that it predicted."""

    def fit(self, X, y):
        self.fitted_ = {row.tobytes() for row in X}
        return super().fit(X, y)

    def predict(self, X):
        assert not self.fitted_ & {row.tobytes() for row in X}, "a copy of a predicted row fitted the estimator"
        return super().predict(X)


@pytest.mark.parametrize("cv", [4, KFold(4)])
def test_no_estimator_predicts_a_copy_of_a_row_that_fitted_it(cv):
    X, y = rows()
    with pytest.warns(UserWarning, match=COPIES):
        model = regressor(Recorder(), cv=cv).fit(X, y)
    assert any("copies of other rows" in text for text in model.fit_report_["warnings"])
    assert model.predictor_._model.calibration_rows == 75  # a quarter of the distinct rows
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regressor(Recorder(), cv=cv, duplicates="cluster").fit(X, y)
    with pytest.raises(AssertionError, match="a copy of a predicted row"):
        regressor(Recorder(), cv=cv, duplicates="keep").fit(X, y)


def test_cross_calibration_keeps_copies_in_one_fold():
    X, y = rows(60)
    with pytest.warns(UserWarning, match="are copies of other rows"):
        model = regressor(Recorder(), calibration="cross", cv=4, score_transform="exp").fit(X, y)
    assert model.predictor_._model.calibration_rows == 60
    with pytest.raises(
        ValueError, match=r"fold 1 of 4 of cv trains on \d+ copies of its test rows; pass cv as a number"
    ):
        regressor(Ridge(), calibration="cross", cv=KFold(4)).fit(X, y)
    kept = regressor(Ridge(), calibration="cross", duplicates="keep").fit(X, y)
    assert kept.predictor_._model.calibration_rows == 120


@pytest.mark.parametrize("calibration", ["split", "cross"])
def test_drop_fits_the_distinct_rows(calibration):
    X, y = rows(100, 3)
    _, first = np.unique(y, return_index=True)
    first.sort()
    new = rows(50, 1, seed=1)[0]
    found = regressor(Ridge(), calibration=calibration, duplicates="drop").fit(X, y, sample_weight=None)
    expected = regressor(Ridge(), calibration=calibration, duplicates="keep").fit(X[first], y[first])
    np.testing.assert_array_equal(found.predict_interval(new)[1], expected.predict_interval(new)[1])


def test_drop_takes_everything_that_belongs_to_a_row():
    X, y = rows(200, 2)
    _, first = np.unique(y, return_index=True)
    first.sort()
    groups = np.where(X[:, 1] > 0, "a", "b")
    samples = np.abs(X[:, 2])
    found = regressor(Ridge(), duplicates="drop").fit(X, y, groups=groups, sample_weight=samples)
    expected = regressor(Ridge(), duplicates="keep")
    expected.fit(X[first], y[first], groups=groups[first], sample_weight=samples[first])
    new = X[:20]
    np.testing.assert_array_equal(
        found.predict_interval(new, groups=groups[:20])[1], expected.predict_interval(new, groups=groups[:20])[1]
    )


@pytest.mark.parametrize("given", ["y_pred", "y_pred_cv"])
def test_given_predictions(given):
    X, y = rows()
    with pytest.warns(UserWarning, match=COPIES):
        model = regressor().fit(X, y, **{given: X[:, 0]})
    assert model.predictor_._model.calibration_rows == (75 if given == "y_pred" else 0)
    with pytest.warns(UserWarning, match=COPIES):
        Localizer(score_transform="identity").fit(X, y, X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Localizer(score_transform="identity", duplicates="keep").fit(X, y, X[:, 0])


def test_base_models_of_the_core():
    pytest.importorskip("xgboost")
    X, y = rows()
    with pytest.warns(UserWarning, match=COPIES):
        model = regressor(base_options={"rounds": 5}).fit(X, y)
    assert model.predictor_._model.calibration_rows == 75


def test_equal_rows_of_discrete_columns_are_kept():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (2000, 2)).astype(float), rng.integers(0, 30, 2000).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = regressor(KNeighborsRegressor()).fit(X, y)
    assert model.predictor_._model.calibration_rows == 500


def test_an_unknown_word_is_an_error():
    X, y = rows(50)
    with pytest.raises(ValueError, match="duplicates.*expected auto, cluster, drop or keep"):
        regressor(Ridge(), duplicates="warn").fit(X, y)
