"""Heteroscedastic rows for the tests of the Python package."""

import numpy as np
import pytest

from widthwise import Localizer, WidthwiseRegressor

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


def ignored_by_other_libraries(folder):
    """Localizers whose calibration other libraries cannot do, and what the error says."""
    rows = Rows(300)
    X = np.nan_to_num(rows.X)
    groups = np.arange(300) % 2
    for more, words in (
        ({"weights": 1 + rows.scale}, "has given weights"),
        ({"shift_to": X[:100] + 1}, "has learnt weights"),
        ({"groups": groups}, "was fitted with groups"),
    ):
        model = WidthwiseRegressor(score_transform="identity", calibration_size=0.5, n_jobs=N_JOBS)
        model.fit(X, rows.y, y_pred=rows.y_pred, **more).save(folder / "model.safetensors")
        yield Localizer.load(folder / "model.safetensors"), words
    confident = Localizer(score_transform="identity", guarantee=0.95)
    yield confident.fit(X, rows.y, rows.y_pred), "has the training-conditional guarantee 0.95"
