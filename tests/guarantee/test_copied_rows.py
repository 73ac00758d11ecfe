"""Tables in which rows occur several times: a join that multiplies rows, oversampling, a table appended twice.

Coverage of new rows at level 0.9, with copies on both sides of the splits (version 0.2.0, now `duplicates="keep"`) and
with copies on one side (`auto`, `cluster` and `drop`), 1-nearest neighbours and one width:

| table | keep | auto | cluster | drop |
|---|---|---|---|---|
| each row twice | .598 | .905 | .905 | .904 |
| a third of the rows four times | .710 | .905 | .905 | .904 |
| each row twice, cross-calibration | .629 | .957 | | |
"""

import warnings

import checks
import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from widthwise import WidthwiseRegressor

LEVEL, ROWS, NEW = 0.9, 400, 100
REPETITIONS = 400 if checks.FULL else 20

TWICE = np.repeat(np.arange(ROWS), 2)
THIRD = np.r_[np.arange(ROWS), np.repeat(np.arange(ROWS // 3), 3)]


def draw(random, n):
    X = random.uniform(-1, 1, size=(n, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + 0.5 * random.normal(size=n)


def covered(take, duplicates, estimator, calibration="split"):
    """The number of covered new rows over all repetitions, each with a table and new rows of its own."""
    random = np.random.default_rng(7)
    count = 0
    for repetition in range(REPETITIONS):
        X, y = draw(random, ROWS)
        model = WidthwiseRegressor(
            estimator,
            score_transform="identity",
            calibration=calibration,
            cv=4,
            random_state=repetition,
            n_jobs=1,
            duplicates=duplicates,
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*are copies of other rows")
            model.fit(X[take], y[take])
        X, y = draw(random, NEW)
        lower, upper = model.predict_interval(X, LEVEL)[1][:, :, 0].T
        count += np.sum((lower <= y) & (y <= upper))
    return count


def lowest(level, calibration_rows):
    """The 1e-6 quantile of covered rows over all repetitions: a normal sum of beta-binomial numbers."""
    k = int(np.ceil(round((calibration_rows + 1) * level, 9)))
    one = stats.betabinom(NEW, k, calibration_rows + 1 - k)
    return REPETITIONS * one.mean() + stats.norm.ppf(1e-6) * np.sqrt(REPETITIONS * one.var())


@pytest.mark.parametrize("duplicates", ["auto", "cluster", "drop"])
@pytest.mark.parametrize("take", [TWICE, THIRD], ids=["each row twice", "a third four times"])
def test_new_rows_are_covered(take, duplicates):
    assert covered(take, duplicates, KNeighborsRegressor(1)) >= lowest(LEVEL, ROWS // 4)


def test_cross_calibration_covers_new_rows():
    assert covered(TWICE, "auto", KNeighborsRegressor(1), "cross") >= lowest(2 * LEVEL - 1, ROWS)


@pytest.mark.parametrize("take", [TWICE, THIRD], ids=["each row twice", "a third four times"])
def test_copies_on_both_sides_lose_coverage(take):
    """The simulation notices the fault."""
    assert covered(take, "keep", KNeighborsRegressor(1)) < lowest(LEVEL, ROWS // 4)


def test_equal_rows_of_discrete_data_are_separate_observations():
    """By default nothing is changed: no table of independent discrete rows is taken for copies."""
    random = np.random.default_rng(1)
    for _ in range(REPETITIONS):
        X, y = random.integers(0, 4, (300, 2)).astype(float), random.integers(0, 8, 300).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            WidthwiseRegressor(LinearRegression(), score_transform="identity", n_jobs=1, cv=2).fit(X, y)
