"""Parameters of fit that are passed on to the estimator, with and without metadata routing of scikit-learn."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widthwise import WidthwiseRegressor

CALLS = []


class Recorder(RegressorMixin, BaseEstimator):
    """Predicts the mean and records what its fit received."""

    def __init__(self, shrink=0.0):
        self.shrink = shrink

    def fit(self, X, y, marks=None, depth=None):
        CALLS.append((np.asarray(X)[:, 0].copy(), marks, depth))
        self.mean_ = np.mean(y) * (1 - self.shrink)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


@pytest.fixture(autouse=True)
def calls():
    CALLS.clear()
    return CALLS


def rows_of(n=300):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(n, dtype=float), rng.normal(size=n)])
    return X, X[:, 1] + rng.normal(size=n)


def regressor(estimator):
    return WidthwiseRegressor(estimator, random_state=0, n_jobs=1, cv=3)


def check_rows(calls, number):
    assert len(calls) == number
    for X, marks, depth in calls:
        assert np.array_equal(marks, X) and depth == 4 and len(marks) < 300


def test_each_fold_gets_its_rows():
    X, y = rows_of()
    regressor(Recorder()).fit(X, y, marks=X[:, 0], depth=4)
    check_rows(CALLS, 4)  # three folds, and all rows but those of the calibration
    CALLS.clear()
    regressor(Recorder()).fit(X, y, marks=X[:, 0].tolist(), depth=4)
    check_rows(CALLS, 4)


def test_weights_reach_the_estimator():
    X, y = rows_of()
    weight = np.where(X[:, 0] < 150, 1.0, 1e-9)
    y = y + np.where(X[:, 0] < 150, 0.0, 1000.0)
    model = make_pipeline(StandardScaler(), LinearRegression())
    fitted = regressor(model).fit(X[:, 1:], y, linearregression__sample_weight=weight)
    assert abs(fitted.estimator_.predict(X[:1, 1:])[0]) < 10


def test_parameters_without_an_estimator_to_fit_are_refused():
    X, y = rows_of()
    with pytest.raises(
        ValueError, match="marks: parameters for fit of the estimator, but there is no estimator to fit"
    ):
        regressor(None).fit(X, y, marks=X[:, 0])
    prefit = WidthwiseRegressor(LinearRegression().fit(X, y), prefit=True)
    with pytest.raises(ValueError, match="no estimator to fit"):
        prefit.fit(X, y, marks=X[:, 0])
    with pytest.raises(TypeError, match="unknown"):
        regressor(Recorder()).fit(X, y, unknown=1)


def test_routing_passes_what_the_estimator_requests():
    X, y = rows_of()
    with config_context(enable_metadata_routing=True):
        model = regressor(Recorder().set_fit_request(marks=True, depth=True))
        model.fit(X, y, marks=X[:, 0], depth=4)
        check_rows(CALLS, 4)
        with pytest.raises(UnsetMetadataPassedError, match="marks"):
            regressor(Recorder()).fit(X, y, marks=X[:, 0])
        with pytest.raises(TypeError, match="not routed to any object"):
            regressor(Recorder().set_fit_request(marks=False, depth=True)).fit(X, y, marks=X[:, 0], depth=4)


@pytest.mark.parametrize("routing", [False, True])
def test_searches_and_cross_validation_pass_parameters_on(routing):
    X, y = rows_of()
    with config_context(enable_metadata_routing=routing):
        base = Recorder().set_fit_request(marks=True) if routing else Recorder()
        search = GridSearchCV(regressor(base), {"estimator__shrink": [0.0, 0.9]}, cv=2)
        search.fit(X, y, marks=X[:, 0])
        assert len(CALLS) == 2 * 2 * 4 + 4  # two candidates, two folds, and the best one again
        assert all(np.array_equal(marks, X) for X, marks, _ in CALLS)
        CALLS.clear()
        cross_validate(regressor(base), X, y, cv=2, params={"marks": X[:, 0]})
        assert len(CALLS) == 8 and all(np.array_equal(marks, X) for X, marks, _ in CALLS)


@pytest.mark.parametrize("routing", [False, True])
def test_a_pipeline_around_it_passes_parameters_and_groups_on(routing):
    X, y = rows_of()
    groups = np.where(X[:, 1] > 0, "b", "a")
    with config_context(enable_metadata_routing=routing):
        if routing:
            inner = regressor(Recorder().set_fit_request(marks=True)).set_fit_request(groups=True)
            model = make_pipeline(StandardScaler(), inner)
            model.fit(X, y, marks=X[:, 0], groups=groups)
        else:
            model = make_pipeline(StandardScaler(), regressor(Recorder()))
            model.fit(X, y, widthwiseregressor__marks=X[:, 0], widthwiseregressor__groups=groups)
    assert all(len(marks) == len(X) and np.corrcoef(marks, X)[0, 1] > 0.999 for X, marks, _ in CALLS)
    assert model[-1].predictor_._model.group
