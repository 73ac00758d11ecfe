"""Peers: intervals have the right shape and valid coverage on heteroscedastic rows."""

import dataclasses
import math

import numpy as np
import pytest

pytest.importorskip("mapie", reason="install experiments/requirements.txt to test the peers")
pytest.importorskip("deel.puncc", reason="install experiments/requirements.txt to test the peers")

import xgboost  # noqa: E402
from sklearn.model_selection import cross_val_predict  # noqa: E402

from experiments.field.peers import PEERS  # noqa: E402
from experiments.field.peers.boosted import WidthAtOneLevel  # noqa: E402
from experiments.field.peers.scores import MAX_ROUNDS, stopped_trees  # noqa: E402
from experiments.field.protocol import LEVELS, Split  # noqa: E402

CALIBRATION_ROWS, TEST_ROWS = 400, 500

# Methods with one score for all levels have nested intervals. Quantile regressions fit each level separately.
NAMES = [name for name, peer in PEERS.items() if not peer.apart]
NESTED = [name for name in NAMES if not ("cqr" in name or name == "quantile forest oob")]


@pytest.fixture(scope="module")
def split():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (600 + CALIBRATION_ROWS + TEST_ROWS, 4))
    y = 3 + np.sin(3 * X[:, 0]) + (0.1 + np.abs(X[:, 1])) * rng.normal(size=len(X))
    X_fit, X_cal, X_test = np.split(X, [600, 600 + CALIBRATION_ROWS])
    y_fit, y_cal, y_test = np.split(y, [600, 600 + CALIBRATION_ROWS])

    base = xgboost.XGBRegressor(n_estimators=50, max_depth=3, learning_rate=0.1, n_jobs=1).fit(X_fit, y_fit)
    return Split(
        X_fit=X_fit,
        y_fit=y_fit,
        oof=cross_val_predict(base, X_fit, y_fit, cv=5).astype(float),
        X_cal=X_cal,
        y_cal=y_cal,
        f_cal=base.predict(X_cal).astype(float),
        X_test=X_test,
        y_test=y_test,
        f_test=base.predict(X_test).astype(float),
        base=base,
        seed=0,
    )


@pytest.fixture(scope="module")
def intervals(split):
    """The intervals of a peer, computed once."""
    known = {}

    def of(name):
        if name not in known:
            known[name] = PEERS[name].intervals(split)
        return known[name]

    return of


def coverage_bounds(level):
    """Bounds of the coverage of test rows, exceeded once in ten thousand: beta-binomial, normal approximation."""
    deviation = math.sqrt(level * (1 - level) * (1 / CALIBRATION_ROWS + 1 / TEST_ROWS))
    # The ranks of two sides, or of up to ten bins, are each rounded up.
    return level - 3.9 * deviation, level + 10 / (CALIBRATION_ROWS + 1) + 3.9 * deviation


@pytest.mark.parametrize("name", NAMES)
def test_intervals_are_finite_and_valid(name, split, intervals):
    bounds = intervals(name)
    assert bounds.shape == (TEST_ROWS, 2, len(LEVELS))
    assert np.isfinite(bounds).all()
    assert (bounds[:, 0] <= bounds[:, 1]).mean() > 0.99  # quantiles may cross in a few rows, not in many
    for j, level in enumerate(LEVELS):
        covered = np.mean((bounds[:, 0, j] <= split.y_test) & (split.y_test <= bounds[:, 1, j]))
        lowest, highest = coverage_bounds(level)
        assert lowest <= covered <= highest


@pytest.mark.parametrize("name", NESTED)
def test_a_higher_level_contains_a_lower_one(name, intervals):
    bounds = intervals(name)
    assert (np.diff(bounds[:, 0], axis=1) <= 0).all() and (np.diff(bounds[:, 1], axis=1) >= 0).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "mapie absolute"])
def test_intervals_are_wider_where_the_noise_is(name, split, intervals):
    width = intervals(name)[:, 1, 1] - intervals(name)[:, 0, 1]
    noise = np.abs(split.X_test[:, 1])
    assert width[noise > 0.5].mean() > 1.2 * width[noise < 0.5].mean()


def test_the_out_of_bag_forest_fits_the_calibration_rows_too(split, intervals):
    fewer = dataclasses.replace(split, X_cal=split.X_cal[:1], y_cal=split.y_cal[:1])
    found = PEERS["quantile forest oob"].intervals(fewer)  # finite, unlike those of methods that need the others
    assert np.isfinite(found).all() and (found != intervals("quantile forest oob")).any()


def test_the_error_model_stops_early_where_errors_are_noise():
    rng = np.random.default_rng(0)
    X, errors = rng.uniform(size=(500, 3)), rng.exponential(size=500)
    trees = stopped_trees(X, errors, 0, "poisson")
    assert trees.max_iter < 40 and trees.early_stopping is False
    learnt = trees.fit(X, errors).predict(X)
    assert learnt.std() < 0.5 * errors.std()
    steep = stopped_trees(X, np.exp(3 * X[:, 0]), 0, "poisson")
    assert 40 < steep.max_iter <= MAX_ROUNDS


def test_one_width_for_all_rows_is_the_quantile_of_absolute_errors(split, intervals):
    errors = np.sort(np.abs(split.y_cal - split.f_cal))
    # ceil(401 * 0.9) = 361
    assert intervals("mapie absolute")[:, 1, 1] - split.f_test == pytest.approx(errors[360], abs=1e-5)


def test_the_smooth_quantile_of_boosted_conformal_is_near_the_quantile():
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=20_000)
    loss = WidthAtOneLevel(residuals, np.ones(20_000), 0.9)
    assert loss.weights_by_rank.sum() == pytest.approx(1)
    assert loss(np.zeros((20_000, 2))) == pytest.approx(2 * np.quantile(np.abs(residuals), 0.9), rel=0.02)


def test_derivatives_of_boosted_conformal_match_central_differences():
    rng = np.random.default_rng(0)
    rows, step = 300, 1e-6
    loss = WidthAtOneLevel(rng.normal(size=rows), rng.uniform(0.5, 2, rows), 0.9)
    parameters = rng.normal(0, 0.3, (rows, 2))
    gradient, curvature = loss.derivatives(parameters)
    numeric = np.empty_like(gradient)
    for i in range(rows):
        for j in range(2):
            moved = [parameters.copy(), parameters.copy()]
            moved[0][i, j] -= step
            moved[1][i, j] += step
            numeric[i, j] = rows * (math.log(loss(moved[1])) - math.log(loss(moved[0]))) / (2 * step)
    assert gradient == pytest.approx(numeric, rel=1e-4, abs=1e-5)
    assert (curvature >= 0).all()


def test_boosting_shortens_intervals_for_the_rows_it_is_fitted_to():
    rng = np.random.default_rng(0)
    noise = np.repeat([0.2, 1.0], 500)
    loss = WidthAtOneLevel(noise * rng.normal(size=1000), np.ones(1000), 0.9)
    parameters = np.zeros((1000, 2))
    widths = [loss(parameters)]
    for _ in range(20):
        gradient, curvature = loss.derivatives(parameters)
        for group in (slice(0, 500), slice(500, 1000)):  # two leaves
            parameters[group] -= 0.2 * gradient[group].sum(axis=0) / curvature[group].sum(axis=0)
        widths.append(loss(parameters))
    assert widths[-1] < 0.9 * widths[0]
    assert parameters[0, 1] < parameters[-1, 1]
