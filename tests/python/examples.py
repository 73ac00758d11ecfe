"""Heteroscedastic rows for the tests of the Python package."""

import numpy as np
import pytest

# On a busy machine, XGBoost's threads can wait for each other for a very long time; one thread never waits.
N_JOBS = 1


class Rows:
    """n rows of three features with some missing values; errors grow with the first feature."""

    def __init__(self, n, seed=0):
        rng = np.random.default_rng(seed)
        self.X = rng.uniform(0, 4, (n, 3))
        self.y_pred = 2 * self.X[:, 0] - self.X[:, 1]
        self.scale = 0.1 + 0.5 * self.X[:, 0]
        self.y = self.y_pred + self.scale * rng.normal(size=n)
        self.X[rng.random((n, 3)) < 0.02] = np.nan

    def frame(self):
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame(self.X, columns=["size", "age", "noise"])
