"""Predictions of rows that their model was trained on: a column of predictions does not show this.

Around a tree's own training rows, 90% intervals cover less than 85% of new rows. The report of 0.2.0 called its error
"out of sample" and `evaluate` advised to calibrate again; now the error is that of the predictions "as given", and
`evaluate` names this cause first.
"""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from widthwise import Localizer, WidthwiseRegressor

OPTIONS = {"score_transform": "identity", "random_state": 0, "n_jobs": 1}


def draw(seed, n):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(n, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + 0.5 * random.normal(size=n)


@pytest.fixture(scope="module")
def tree():
    return DecisionTreeRegressor(min_samples_leaf=3, random_state=0).fit(*draw(0, 1500))


@pytest.mark.parametrize("prefit", [True, False])
def test_in_sample_predictions_are_the_first_cause(tree, prefit):
    X, y = draw(0, 1500)
    model = WidthwiseRegressor(tree if prefit else None, prefit=prefit, **OPTIONS)
    model.fit(X, y, **({} if prefit else {"y_pred": tree.predict(X)}))
    text = str(model.fit_report_)
    assert "of the predictions as given" in text and "out of sample" not in text
    new_X, new_y = draw(1, 3000)
    found = model.evaluate(new_X, new_y, **({} if prefit else {"y_pred": tree.predict(new_X)}))
    assert found["levels"][0]["coverage"]["share"] < 0.85
    assert found["verdict"]["advice"][0]["kind"] == "predictions"
    assert "was trained on the fitting or calibration rows" in found["verdict"]["advice"][0]["text"]


def test_errors_of_other_predictions_are_named_as_they_are(tree):
    X, y = draw(2, 600)
    new_X, new_y = draw(3, 2000)
    model = WidthwiseRegressor(tree, prefit=True, **OPTIONS).fit(X, y)
    verdict = model.evaluate(new_X, new_y)["verdict"]
    assert all(advice["kind"] != "predictions" for advice in verdict["advice"])
    fitted = WidthwiseRegressor(DecisionTreeRegressor(max_depth=3), **OPTIONS).fit(X, y)
    assert "of cross-validated predictions" in str(fitted.fit_report_)
    # Rows with three times the errors are not covered, but no predictions were given.
    low = fitted.evaluate(new_X, 3 * new_y)["verdict"]
    assert low["mood"] == "broken" and all(advice["kind"] != "predictions" for advice in low["advice"])


def test_errors_that_are_smaller_on_calibration_rows_are_reported():
    """With times, the calibration rows are the latest rows, and a model that saw only these is noticed in fit."""
    X, y = draw(4, 1000)
    tree = DecisionTreeRegressor(min_samples_leaf=2, random_state=0).fit(X[700:], y[700:])
    with pytest.warns(
        UserWarning, match="residuals of the calibration rows are smaller than those of the fitting rows"
    ):
        WidthwiseRegressor(**OPTIONS).fit(X, y, y_pred=tree.predict(X), time=np.arange(1000.0))
    localizer = Localizer(score_transform="identity").fit(X[:700], y[:700], tree.predict(X[:700]))
    assert "of the predictions as given" in str(localizer.fit_report_)
