"""predict_quantile: quantiles on either side of the prediction. test_distributed_systems.py compares them with the command line."""

import numpy as np
import pytest

from examples import N_JOBS, Rows
from widthwise import Localizer, Predictor

PROBABILITIES = [0.05, 0.3, 0.49, 0.499, 0.5, 0.501, 0.51, 0.7, 0.95]


def too_high(rows):
    """Predictions that are too high by about one standard deviation of the errors."""
    return rows.y_pred + np.std(rows.y - rows.y_pred)


@pytest.mark.parametrize("score_transform", ["identity", "exp", "density", "spline"])
def test_the_median_is_not_the_prediction(rows, fresh, score_transform):
    """Before, the quantile 0.5 was the prediction: 84% of the outcomes were below it, and 84% below 0.51 as well."""
    localizer = Localizer(score_transform=score_transform, n_jobs=N_JOBS)
    localizer.fit(rows.X, rows.y, too_high(rows))
    predictor = Predictor(localizer, localizer.calibrate(fresh.X, fresh.y, too_high(fresh)))
    new = Rows(3000, seed=7)
    quantiles = predictor.predict_quantile(new.X, PROBABILITIES, too_high(new))
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    assert np.mean(quantiles[:, 4] < too_high(new)) > 0.8
    # Exact ranks of 2000 rows, to five standard errors.
    below = np.mean(new.y[:, None] <= quantiles, axis=0)
    np.testing.assert_allclose(below, PROBABILITIES, atol=5 * np.sqrt(0.25 / 2000 + 0.25 / 3000))
    alone = [predictor.predict_quantile(new.X, p, too_high(new))[:, 0] for p in PROBABILITIES]
    np.testing.assert_array_equal(np.transpose(alone), quantiles)


def test_outcomes_that_equal_the_prediction_are_covered():
    """Half of the outcomes are exactly predicted, and the others lie below: the upper half of the quantiles is there."""
    random = np.random.default_rng(3)
    X = np.arange(400.0)[:, None]
    y_pred = np.round(random.normal(size=400), 1)
    y = y_pred - np.where(random.random(400) < 0.5, 0, np.round(random.exponential(size=400), 1))
    localizer = Localizer(score_transform="identity", n_jobs=N_JOBS).fit(X[:100], y[:100], y_pred[:100])
    predictor = Predictor(localizer, localizer.calibrate(X[100:200], y[100:200], y_pred[100:200]))
    quantiles = predictor.predict_quantile(X[200:], [0.25, 0.75, 0.9], y_pred[200:])
    np.testing.assert_array_equal(quantiles[:, 1], y_pred[200:])
    np.testing.assert_array_equal(quantiles[:, 2], y_pred[200:])
    assert np.mean(y[200:] >= quantiles[:, 0]) >= 0.65
