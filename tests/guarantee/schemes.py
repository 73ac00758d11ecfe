"""Adapters of calibration schemes and inputs beyond split calibration of plain tables.

Each is used so that coverage has an exact law, as in adapters.py: clusters, cross-calibration, lower and upper quantiles,
estimators that are already fitted, cross-validated predictions, a range of outcomes, categories and missing values.
"""

import functools
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from adapters import CommandLine, Cpp, Python, Regressor, cpp_table, inside, repeated
from populations import repeated_as_clusters
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from widthwise import Calibration, Localizer, Predictor, WidthwiseRegressor


def quiet(function):
    """The function without warnings, which are of few rows."""

    @functools.wraps(function)
    def call(*arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments)

    return call


# ---- clusters


@functools.cache
@quiet
def clustered_localizer(fit):
    """A localizer that was trained with every row as a cluster."""
    localizer = Localizer(n_jobs=1, cluster_coverage="clusters")
    return localizer.fit(*fit.arguments, clusters=np.arange(len(fit)))


@dataclass(frozen=True)
class ClusteredInCpp(Cpp):
    """A model in which each cluster counts once, see repeated_as_clusters."""

    path: str = "clusters"

    def covered(self, fit, calibration, test, levels):
        return super().covered(fit, repeated_as_clusters(calibration), test, levels)


@dataclass(frozen=True)
class Clustered(Python):
    """Localizer.calibrate with clusters in which each cluster counts once, see repeated_as_clusters."""

    def localizer(self, fit):
        return clustered_localizer(fit)

    def predictor(self, localizer, rows):
        rows = repeated_as_clusters(rows)
        return Predictor(localizer, localizer.calibrate(*rows.arguments, clusters=rows.clusters))


# ---- cross-calibration


class PredictsBelow(RegressorMixin, BaseEstimator):
    """Predicts x less a number that depends on its training rows, below every outcome of the population "skewed".

    With one width, the upper bound of a calibration row is then its own error added to x, whatever the model of its
    fold predicts: coverage has the law of split calibration with all n rows, although every fold has another model.
    """

    def fit(self, X, y):
        self.distance_ = 2 + 10 * np.abs(np.mean(y) % 1)
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0] - self.distance_


def line_of(x, y):
    """Intercept and slope by least squares, for x and y of shape (..., n)."""
    middle = x.mean(axis=-1, keepdims=True)
    slope = ((x - middle) * y).sum(axis=-1) / ((x - middle) ** 2).sum(axis=-1)
    return y.mean(axis=-1) - slope * middle[..., 0], slope


@dataclass(frozen=True)
class CrossInCpp(Cpp):
    """Model::of_folds with the predictions of fold models: lines, or predictions below the outcomes as PredictsBelow."""

    path: str = "folds"
    model: str = "below"

    def tables(self, calibration, test):
        folds = int(self.setting)
        number = np.arange(calibration.y.shape[1]) % folds
        predictions = [self.fitted(calibration[:, number != fold], fold) for fold in range(folds)]

        def table(rows):
            x = rows.X[..., 0]
            return cpp_table(rows, x, [at + slope * x for at, slope in predictions])

        return table(calibration), table(test)

    def fitted(self, rows, fold):
        if self.model == "below":
            return -2.0 - fold, 1.0
        at, slope = line_of(rows.X[..., 0], rows.y)
        return at[:, None], slope[:, None]


@dataclass(frozen=True)
class Cross:
    """WidthwiseRegressor with cross-calibration of an estimator, or of given predictions."""

    cv: int | str
    transform: str = "identity"
    estimator: object = None  # None: given predictions

    @quiet
    def covered(self, fit, calibration, test, levels):
        return repeated(calibration, test, lambda rows, new: self.one(rows, new, levels))

    def one(self, rows, new, levels):
        model = self.fitted(rows)
        given = {"y_pred": new.prediction} if self.estimator is None else {}
        return inside(model.predict_interval(new.X, confidence_level=levels, **given)[1], new.y)

    def fitted(self, rows):
        given = {"y_pred": rows.prediction} if self.estimator is None else {}
        options = {"calibration": "cross", "cv": self.cv, "random_state": 0, "n_jobs": 1}
        model = WidthwiseRegressor(self.estimator, score_transform=self.transform, **options)
        return model.fit(rows.X, rows.y, **given)


# ---- predictions


def as_pairs(rows):
    """A lower and an upper quantile per row, neither of them right; their distance depends on x."""
    return np.stack([rows.prediction - 0.2, rows.prediction + 0.4 * rows.X[..., 0]], axis=-1)


@functools.cache
@quiet
def pair_predictor(fit):
    """A model of lower and upper quantiles that is not calibrated."""
    model = WidthwiseRegressor(calibration_size=0, random_state=0, n_jobs=1)
    return model.fit(fit.X, fit.y, y_pred=as_pairs(fit)).predictor_


@dataclass(frozen=True)
class Pairs(Python):
    """Lower and upper quantiles as predictions."""

    def localizer(self, fit):
        return pair_predictor(fit)

    def one(self, localizer, rows, new, levels):
        predictor = localizer.calibrated(rows.X, rows.y, as_pairs(rows), replace=True)
        return inside(predictor.predict_interval(new.X, self.given(new), confidence_level=levels)[1], new.y)

    def given(self, new):
        return as_pairs(new)


@dataclass(frozen=True)
class Prefit(Regressor):
    """An estimator that was fitted before, on rows of its own."""

    def fitted(self, rows):
        first = len(rows) // 2
        fitted = LinearRegression().fit(rows.X[:first], rows.y[:first])
        return self.regressor(fitted, prefit=True).fit(rows.X[first:], rows.y[first:])


@dataclass(frozen=True)
class TimeOrder(Regressor):
    """Rows in time order, the latest of which calibrate; here the order has no effect on the rows."""

    def fitted(self, rows):
        return self.regressor(self.estimator).fit(rows.X, rows.y, time=np.arange(len(rows)))


@dataclass(frozen=True)
class OneSplit(Regressor):
    """An estimator that is fitted once; its errors on further rows train the localizer."""

    def fitted(self, rows):
        return self.regressor(self.estimator, cv=1).fit(rows.X, rows.y)


@dataclass(frozen=True)
class GivenPredictions(Regressor):
    """Predictions of a deployed model in `fit`, with a known range of the outcomes."""

    outcome_range: tuple = (-np.inf, np.inf)

    @quiet
    def covered(self, fit, calibration, test, levels):
        def one(rows, new):
            model = self.fitted(rows)
            return inside(model.predict_interval(new.X, levels, y_pred=new.prediction)[1], new.y)

        return repeated(calibration, test, one)

    def fitted(self, rows):
        model = self.regressor(None, outcome_range=self.outcome_range)
        return model.fit(rows.X, rows.y, y_pred=rows.prediction)


@dataclass(frozen=True)
class CrossValidated(GivenPredictions):
    """Cross-validated predictions, which only train; then rows of the deployed model calibrate."""

    def fitted(self, rows):
        training, fresh = rows[: -self.calibration_size], rows[-self.calibration_size :]
        model = self.regressor(None).fit(training.X, training.y, y_pred_cv=training.prediction)
        return model.conformalize(fresh.X, fresh.y, y_pred=fresh.prediction)


# ---- tables


def as_frame(rows):
    """The features as a table with a category and missing values, which depend on the noise column."""
    import pandas

    noise = rows.X[:, 1]
    labels = np.array(["north", "east", "south"])[np.floor(30 * noise).astype(int) % 3]
    return pandas.DataFrame({"x": np.where(noise > 0.7, np.nan, rows.X[:, 0]), "place": pandas.Categorical(labels)})


@functools.cache
@quiet
def frame_localizer(fit):
    return Localizer(n_jobs=1).fit(as_frame(fit), fit.y, fit.prediction)


@dataclass(frozen=True)
class Frames(Python):
    """Tables with categories and missing values."""

    def localizer(self, fit):
        return frame_localizer(fit)

    def one(self, localizer, rows, new, levels):
        predictor = Predictor(localizer, localizer.calibrate(as_frame(rows), rows.y, rows.prediction))
        _, intervals = predictor.predict_interval(as_frame(new), new.prediction, confidence_level=levels)
        return inside(intervals, new.y)


@functools.cache
@quiet
def booster_localizer(fit):
    """A localizer of a booster that xgboost.train made."""
    xgboost = pytest.importorskip("xgboost")
    from widthwise.xgboost import WidthObjective, training_matrix

    objective = WidthObjective("even", "exp")
    matrix = training_matrix(*fit.arguments)
    booster = xgboost.train({"max_depth": 2, "nthread": 1, **objective.params}, matrix, 10, obj=objective)
    return Localizer.from_booster(booster, objective, *fit.arguments)


@dataclass(frozen=True)
class Booster(Python):
    """Localizer.from_booster."""

    def localizer(self, fit):
        return booster_localizer(fit)


# ---- other libraries


def named_columns(rows, **columns):
    """The features of rows as columns x0 and x1, and others."""
    return {"x0": rows.X[:, 0], "x1": rows.X[:, 1], "y_pred": rows.prediction, **columns}


def inside_columns(table, y, levels):
    """Whether y lies between the columns of bounds, lower_0.9 and upper_0.9."""
    bounds = [[np.asarray(table[f"{side}_{level:g}"]) for level in levels] for side in ("lower", "upper")]
    return inside(np.moveaxis(np.array(bounds), -1, 0), y)


@dataclass(frozen=True)
class DuckDb(Python):
    """widthwise.duckdb: intervals in a query."""

    def one(self, localizer, rows, new, levels):
        duckdb = pytest.importorskip("duckdb")
        import pyarrow

        import widthwise.duckdb

        with duckdb.connect() as connection:
            widthwise.duckdb.register(connection, self.predictor(localizer, rows), confidence_level=list(levels))
            connection.register("new_rows", pyarrow.table(named_columns(new, number=np.arange(len(new)))))
            query = "SELECT number, unnest(predict_interval(x0, x1, y_pred)) FROM new_rows ORDER BY number"
            return inside_columns(connection.sql(query).df(), new.y, levels)


@dataclass(frozen=True)
class Dask(Python):
    """widthwise.dask.calibrate and predict_interval."""

    def one(self, localizer, rows, new, levels):
        frames = pytest.importorskip("dask.dataframe")
        import pandas

        import widthwise.dask

        table = pandas.DataFrame(named_columns(rows, y=rows.y, id=np.arange(len(rows))))
        empty = Predictor(localizer, Calibration())
        predictor = widthwise.dask.calibrate(frames.from_pandas(table, npartitions=3), empty, key="id", target="y")
        new_table = frames.from_pandas(pandas.DataFrame(named_columns(new)), npartitions=2)
        done = widthwise.dask.predict_interval(new_table, predictor, list(levels)).compute()
        return inside_columns(done, new.y, levels)


# ---- command line


@dataclass(frozen=True)
class ClustersOnCommandLine(CommandLine):
    """widthwise with --cluster, see repeated_as_clusters."""

    options: tuple = ("--cluster-coverage", "clusters")

    def shaped(self, rows):
        return repeated_as_clusters(rows)


@dataclass(frozen=True)
class PairsOnCommandLine(CommandLine):
    """widthwise with --upper-prediction."""

    def predictions(self):
        return ["--prediction", "forecast", "--upper-prediction", "upper"]

    def columns(self, rows):
        lower, upper = np.moveaxis(as_pairs(rows), -1, 0)
        return {"forecast": lower, "upper": upper}
