"""Quantiles are those of one distribution: the probability integral transform (PIT) is uniform, across the prediction.

With 19 calibration rows and the probabilities j / 20, the outcome of a new row lies in each of the 20 cells between
consecutive quantiles with probability exactly 1 / 20, for any untied population and any model. Each group of a table
is one repetition. Predictions are biased, so that many quantiles lie on the other side of the prediction than usual.

Before, quantiles were cut at the prediction. With predictions that are too high, all outcomes were at most at the
median, and 55% of them between the quantiles 0.45 and 0.5 (33% with predictions that are too low); now 50% and 5%.
"""

import os

import numpy as np
import pytest
from scipy import stats

from widthwise import Localizer, Predictor

REPETITIONS = 40_000 if os.environ.get("WIDTHWISE_FULL") else 4_000
CELLS = 20
PROBABILITIES = [j / CELLS for j in range(1, CELLS)]
FAILURE = 1e-6


def draw(random, population, n):
    """Features, outcomes and predictions of n rows."""
    x = random.uniform(-1, 1, (n, 1))
    error = {
        "low": lambda: 1 + random.normal(size=n),
        "high": lambda: -0.4 - random.exponential(size=n),
        "skewed": lambda: random.exponential(size=n) ** 2 - 0.2,
    }[population]()
    return x, 3 * x[:, 0] + np.exp(x[:, 0]) * error, 3 * x[:, 0]


@pytest.mark.parametrize("population", ["low", "high", "skewed"])
@pytest.mark.parametrize("options", [{"score_transform": "identity"}, {"score_transform": "exp", "two_sided": True}])
def test_outcomes_are_uniform_over_the_quantiles(population, options):
    random = np.random.default_rng(1)
    localizer = Localizer(random_state=0, n_jobs=1, **options).fit(*draw(random, population, 500))
    X, y, y_pred = draw(random, population, (CELLS - 1) * REPETITIONS)
    groups = np.repeat(np.arange(REPETITIONS), CELLS - 1)
    predictor = Predictor(localizer, localizer.calibrate(X, y, y_pred, groups=groups))
    X, y, y_pred = draw(random, population, REPETITIONS)
    quantiles = predictor.predict_quantile(X, PROBABILITIES, y_pred, groups=np.arange(REPETITIONS))
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    counts = np.bincount((y[:, None] > quantiles).sum(axis=1), minlength=CELLS)
    low, high = stats.binom.ppf([FAILURE / CELLS, 1 - FAILURE / CELLS], REPETITIONS, 1 / CELLS)
    assert counts.min() >= low and counts.max() <= high, counts
    assert stats.chisquare(counts).pvalue > FAILURE
    below = np.mean(y <= quantiles[:, CELLS // 2 - 1])
    assert abs(below - 0.5) <= stats.norm.isf(FAILURE / 2) * 0.5 / np.sqrt(REPETITIONS)
