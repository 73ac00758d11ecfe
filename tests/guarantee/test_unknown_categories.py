"""Categories of new rows in another spelling: what they cost, and that every loss of coverage has a warning.

Labels in lower case, 90% intervals: .45 of new rows in this population with widthwise 0.2.0, without a warning (.124 and
.416 for clarity and color of the diamonds table). Now a table of such labels is an error, and some of them a warning.
"""

import warnings

import numpy as np
import pandas
import pytest
from checks import FULL

from widthwise import WidthwiseRegressor

scipy_stats = pytest.importorskip("scipy.stats")

CITIES = np.array(["Oslo", "Bergen", "Voss", "Alta"])
LEVEL = 0.9


def rows(random, n):
    city = random.choice(CITIES, n, p=[0.7, 0.1, 0.1, 0.1])
    effect = pandas.Series(np.array([0.0, 6.0, -9.0, 15.0]), CITIES)[city].to_numpy()
    X = pandas.DataFrame({"x": random.normal(size=n), "city": city.astype(object)})
    return X, effect + 0.5 * X["x"].to_numpy() + 0.3 * random.normal(size=n)


def model(random):
    X, y = rows(random, 400)
    return WidthwiseRegressor(
        base_options={"rounds": 30}, score_transform="identity", calibration_size=0.5, random_state=0, n_jobs=1
    ).fit(X, y)


def covered(model, X, y):
    _, intervals = model.predict_interval(X, LEVEL)
    return ((intervals[:, 0, 0] <= y) & (y <= intervals[:, 1, 0])).mean()


def test_a_loss_of_coverage_comes_with_a_warning_or_an_error():
    repetitions = 40 if FULL else 8
    random = np.random.default_rng(0)
    shares = {"known": [], "half": []}
    for _ in range(repetitions):
        fitted = model(random)
        X, y = rows(random, 400)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            shares["known"].append(covered(fitted, X, y))
        with pytest.raises(ValueError, match=r"none of 400 values is a category that the model knows"):
            fitted.predict_interval(X.assign(city=X["city"].str.lower()), LEVEL)
        half = X.assign(city=X["city"].where(np.arange(len(X)) % 2 == 0, X["city"].str.lower()))
        with pytest.warns(UserWarning, match=r"200 of 400 values are categories that the model does not know"):
            shares["half"].append(covered(fitted, half, y))
        with pytest.warns(UserWarning, match=r"200 of 400 values"):
            found = fitted.evaluate(half, y)
        assert found["unknown_categories"][0]["unknown"] == 200
    # Coverage given a calibration of 200 rows is Beta(181, 20).
    law = scipy_stats.betabinom(400, 181, 20)
    error = law.std() / 400 / np.sqrt(repetitions)
    assert np.mean(shares["known"]) > law.mean() / 400 - 4.8 * error
    assert np.mean(shares["half"]) < law.mean() / 400 - 4.8 * error


def test_categories_that_are_new_as_often_among_calibration_rows_keep_the_guarantee():
    """The other half of the warning's sentence: rare labels that the fit does not have are treated alike."""
    repetitions = 40 if FULL else 10
    random = np.random.default_rng(1)

    def rare(n):
        X, y = rows(random, n)
        new = random.random(n) < 0.3
        X["city"] = X["city"].where(~new, [f"village {i}" for i in random.integers(0, 400, n)])
        return X, np.where(new, 3 * random.normal(size=n), y)

    shares = []
    for _ in range(repetitions):
        fit_X, fit_y = rare(400)
        fitted = WidthwiseRegressor(
            base_options={"rounds": 20}, score_transform="identity", calibration_size=0.5, random_state=0, n_jobs=1
        ).fit(fit_X, fit_y)
        X, y = rare(400)
        with pytest.warns(UserWarning, match="that the model does not know"):
            shares.append(covered(fitted, X, y))
    law = scipy_stats.betabinom(400, 181, 20)
    assert np.mean(shares) > law.mean() / 400 - 4.8 * law.std() / 400 / np.sqrt(repetitions)
