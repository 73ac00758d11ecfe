"""The advice of the error about outcomes outside the outcome range keeps the guarantee.

The advice of widthwise 0.2.0, to remove these rows, gave .788 of new rows at 90%, and evaluate refused the rows that show
it, so that its verdict was "valid". The advice now is a wider range or none, which gives .90. An evaluation of all rows
counts those outside as missed, so it shows the loss of a model that was fitted to selected rows.
"""

import numpy as np
import pytest
from checks import FULL

from widthwise import WidthwiseRegressor

scipy_stats = pytest.importorskip("scipy.stats")

LEVEL = 0.9
REPETITIONS = 60 if FULL else 12


def rows(random, n):
    X = random.normal(size=(n, 2))
    f = 1.2 + 0.3 * X[:, 0]
    return X, f + random.normal(size=n), f


def fitted(X, y, f, outcome_range):
    return WidthwiseRegressor(
        score_transform="identity", calibration_size=0.5, outcome_range=outcome_range, random_state=0, n_jobs=1
    ).fit(X, y, y_pred=f)


def measured(model, random):
    X, y, f = rows(random, 2000)
    return model.evaluate(X, y, y_pred=f)


def test_a_wider_range_or_none_keeps_the_guarantee():
    random = np.random.default_rng(0)
    law = scipy_stats.betabinom(2000, 451, 50)  # of a calibration with 500 rows
    for outcome_range in (None, (-10, np.inf)):
        shares = []
        for _ in range(REPETITIONS):
            X, y, f = rows(random, 1000)
            with pytest.raises(ValueError, match="or without a range. Keep these rows"):
                fitted(X, y, f, (0, np.inf))
            found = measured(fitted(X, y, f, outcome_range), random)
            assert found["missed_by_range"] is None
            shares.append(found["levels"][0]["coverage"]["share"])
        error = law.std() / 2000 / np.sqrt(REPETITIONS)
        assert abs(np.mean(shares) - law.mean() / 2000) < 4.9 * error


def test_an_evaluation_of_all_rows_shows_what_removed_rows_cost():
    random = np.random.default_rng(1)
    for _ in range(3):
        X, y, f = rows(random, 1000)
        keep = y >= 0
        found = measured(fitted(X[keep], y[keep], f[keep], (0, np.inf)), random)
        level = found["levels"][0]
        assert level["coverage"]["share"] < 0.85
        assert level["verdict"]["word"] == "too low"
        assert found["missed_by_range"]["rows"] > 100
        assert "outside the outcome range (at least 0)" in " ".join(str(found).split())
