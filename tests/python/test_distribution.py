"""The transforms spline and shortest: the distribution of the error, chosen on the hold-out."""

import numpy as np
import pytest

from widthwise import Localizer, Predictor

LEVELS = [0.5, 0.8, 0.9, 0.95]


def skewed(n, seed):
    """Errors whose scale and whose side depend on x; the predictions are the medians."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    scale = np.exp(X[:, 0])
    side = np.where(X[:, 1] > 0, 1.0, -1.0)
    f = 2 * X[:, 2]
    return X, f + scale * side * (rng.exponential(size=n) - np.log(2)), f


@pytest.fixture(scope="module")
def localizer():
    return Localizer(goal="even", random_state=0, n_jobs=1).fit(*skewed(6000, 1))


def test_even_learns_the_distribution_where_errors_are_skewed(localizer):
    assert localizer.score_transform == "spline"
    assert localizer.two_sided


def test_coverage_is_even_on_both_sides_of_the_skew_and_at_every_level(localizer):
    X_cal, y_cal, f_cal = skewed(4000, 2)
    X, y, f = skewed(20_000, 3)
    predictor = Predictor(localizer, localizer.calibrate(X_cal, y_cal, f_cal))
    bounds = predictor.predict_interval(X, f, confidence_level=LEVELS)[1]
    covered = (bounds[:, 0] <= y[:, None]) & (y[:, None] <= bounds[:, 1])
    for part in (X[:, 1] > 0, X[:, 1] <= 0, X[:, 0] > 0.5, X[:, 0] < -0.5):
        assert np.abs(covered[part].mean(axis=0) - LEVELS).max() < 0.035


def test_intervals_are_narrower_than_symmetric_ones(localizer):
    X_cal, y_cal, f_cal = skewed(4000, 2)
    X, _, f = skewed(4000, 3)
    symmetric = Localizer(goal="even", random_state=0, n_jobs=1, two_sided=False).fit(*skewed(6000, 1))
    assert symmetric.score_transform == "exp"
    widths = {}
    for name, one in {"distribution": localizer, "symmetric": symmetric}.items():
        bounds = Predictor(one, one.calibrate(X_cal, y_cal, f_cal)).predict_interval(X, f, confidence_level=0.9)[1]
        widths[name] = np.diff(bounds, axis=1).mean()
    assert widths["distribution"] < 0.85 * widths["symmetric"]


def test_shortest_intervals_of_a_skewed_distribution_are_narrower_and_as_even(localizer):
    X_cal, y_cal, f_cal = skewed(4000, 2)
    X, y, f = skewed(20_000, 3)
    options = {"goal": "even", "random_state": 0, "n_jobs": 1}
    shortest = Localizer(score_transform="shortest", **options).fit(*skewed(6000, 1))
    assert shortest.two_sided
    widths = {}
    for name, one in {"central": localizer, "shortest": shortest}.items():
        predictor = Predictor(one, one.calibrate(X_cal, y_cal, f_cal))
        bounds = predictor.predict_interval(X, f, confidence_level=LEVELS)[1]
        widths[name] = np.diff(bounds, axis=1).mean(axis=(0, 1))
        covered = (bounds[:, 0] <= y[:, None]) & (y[:, None] <= bounds[:, 1])
        for part in (X[:, 1] > 0, X[:, 1] <= 0, X[:, 0] > 0.5, X[:, 0] < -0.5):
            assert np.abs(covered[part].mean(axis=0) - LEVELS).max() < 0.035
    # Beyond the level 0.9, the tail of the distribution is too uncertain for its shortest intervals to be shorter.
    assert (widths["shortest"][:3] < np.array([0.8, 0.9, 1.0]) * widths["central"][:3]).all()
