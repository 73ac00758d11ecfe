"""widthwise.mapie: a trained localizer as a conformity score of MAPIE, compared with MAPIE itself."""

from __future__ import annotations

import copy
import functools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import widthwise
from examples import ignored_by_other_libraries
from widthwise import Calibration, Localizer, Predictor

pytest.importorskip("mapie", reason="mapie is not installed")
pytest.importorskip("sklearn")
xgboost = pytest.importorskip("xgboost")

from mapie.conformity_scores import ResidualNormalisedScore  # noqa: E402
from mapie.regression import CrossConformalRegressor, SplitConformalRegressor  # noqa: E402
from mapie.utils import _compute_regression_quantile  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.compose import TransformedTargetRegressor  # noqa: E402
from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: E402
from sklearn.linear_model import LinearRegression  # noqa: E402
from sklearn.model_selection import cross_val_predict  # noqa: E402

from widthwise.mapie import LocalizedScore, _from_positive, _positive  # noqa: E402
from widthwise.xgboost import WidthObjective, training_matrix  # noqa: E402

LEVELS = [0.5, 0.8, 0.9, 0.95]
CASES = [
    ("even", "erc"),
    ("even", "linear"),
    ("even", "exp"),
    (0.5, "sigma"),
    ("narrow", "density"),
    ("narrow", "affine"),
    ("narrow", "mixture"),
]


def rows(n: int, seed: int) -> tuple[Any, Any]:
    """Errors are largest in the middle, and three times as large above as below the prediction."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    noise = rng.normal(size=n)
    y = X[:, 0] + X[:, 1] + (0.1 + np.exp(-2 * X[:, 0] ** 2)) * np.where(noise > 0, 1.5 * noise, 0.5 * noise)
    return X, y


@functools.cache
def localized(goal: Any, transform: str, two_sided: bool = False) -> tuple[Any, Localizer]:
    """A fitted model, and a localizer trained on its out-of-sample errors."""
    X, y = rows(1000, 1)
    y_pred = cross_val_predict(LinearRegression(), X, y)
    if transform == "mixture":  # only a few rounds, because they are slow
        objective = WidthObjective(goal, transform, two_sided=two_sided)
        part = (X[:200], y[:200], y_pred[:200])
        settings = {**objective.params, "max_depth": 2, "nthread": 1}
        booster = xgboost.train(settings, training_matrix(*part), 3, obj=objective)
        return LinearRegression().fit(X, y), Localizer.from_booster(booster, objective, *part)
    localizer = Localizer(goal=goal, score_transform=transform, two_sided=two_sided, n_jobs=1)
    return LinearRegression().fit(X, y), localizer.fit(X, y, y_pred)


def conformalized(estimator: Any, localizer: Localizer, X: Any, y: Any, levels: Any = LEVELS) -> Any:
    score = LocalizedScore(localizer)
    return SplitConformalRegressor(estimator, levels, score, prefit=True).conformalize(X, y)


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize(("goal", "transform"), CASES)
def test_intervals_are_those_of_a_predictor(goal: Any, transform: str, two_sided: bool) -> None:
    estimator, localizer = localized(goal, transform, two_sided)
    X, y = rows(303, 2)
    new, _ = rows(500, 3)
    mapie = conformalized(estimator, localizer, X, y)
    predictor = Predictor(localizer, localizer.calibrate(X, y, estimator.predict(X)))
    y_pred, theirs = mapie.predict_interval(new)
    _, ours = predictor.predict_interval(new, estimator.predict(new), confidence_level=LEVELS)
    assert theirs.shape == ours.shape == (500, 2, 4)
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(y_pred, estimator.predict(new))
    # The rows whose scores are the quantiles lie inside, to the last digit.
    _, intervals = mapie.predict_interval(X)
    inside = (intervals[:, 0] <= y[:, None]) & (y[:, None] <= intervals[:, 1])
    assert (inside.sum(axis=0) >= np.ceil(np.multiply(LEVELS, 304))).all()


@pytest.mark.parametrize(("goal", "two_sided"), [("even", False), ("even", True), ("narrow", False)])
def test_coverage_is_what_was_promised(goal: str, two_sided: bool) -> None:
    estimator, localizer = localized(goal, "auto", two_sided)
    mapie = conformalized(estimator, localizer, *rows(1000, 2))
    X, y = rows(5000, 3)
    _, intervals = mapie.predict_interval(X)
    covered = ((intervals[:, 0] <= y[:, None]) & (y[:, None] <= intervals[:, 1])).mean(axis=0)
    spread = np.sqrt(np.multiply(LEVELS, np.subtract(1, LEVELS)) * (1 / 1000 + 1 / 5000))
    np.testing.assert_array_less(np.abs(covered - LEVELS), 5 * spread)


def test_intervals_are_narrower_than_with_residuals_normalised() -> None:
    """Compare with MAPIE's adaptive score: with its defaults, with boosted trees, and with trees tuned like ours.

    With its defaults it trains on a quarter of the calibration rows. The tuned trees are fitted to the log of the same
    errors as ours; there, the goal even is equally good, and the goal narrow is narrower.
    """
    estimator, even = localized("even", "auto")
    _, narrow = localized("narrow", "auto")
    X, y = rows(1000, 1)
    errors = np.abs(y - cross_val_predict(LinearRegression(), X, y))
    tuned = HistGradientBoostingRegressor(
        max_iter=50, learning_rate=0.05, max_depth=4, min_samples_leaf=10, l2_regularization=5, random_state=0
    )
    tuned = TransformedTargetRegressor(tuned, func=np.log, inverse_func=np.exp).fit(X, errors)
    calibration, new = rows(1000, 2), rows(5000, 3)

    def width(score: Any) -> float:
        mapie = SplitConformalRegressor(estimator, 0.9, score, prefit=True).conformalize(*calibration)
        _, intervals = mapie.predict_interval(new[0])
        inside = (intervals[:, 0, 0] <= new[1]) & (new[1] <= intervals[:, 1, 0])
        assert 0.87 < inside.mean() < 0.93
        return float((intervals[:, 1] - intervals[:, 0]).mean())

    ours = {"even": width(LocalizedScore(even)), "narrow": width(LocalizedScore(narrow))}
    boosted = HistGradientBoostingRegressor(random_state=0)
    for score in (ResidualNormalisedScore(random_state=0), ResidualNormalisedScore(boosted, random_state=0)):
        assert ours["even"] < 0.9 * width(score)
    best = width(ResidualNormalisedScore(tuned, prefit=True))
    assert ours["even"] < 1.05 * best
    assert ours["narrow"] < 0.97 * best


def test_mapie_takes_the_rank_that_we_take_or_the_next() -> None:
    """If level (n + 1) is an integer, rounding can make MAPIE use the next score: wider, never narrower."""
    differ = set()
    for level in (0.5, 0.55, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.975, 0.99):
        for n in [*range(1, 250), 999]:
            scores = np.arange(1.0, n + 1)
            ours = Calibration().add(scores).quantile(level)
            theirs = _compute_regression_quantile(scores[:, None], np.array([level]), unbounded=True)[0, 0]
            assert theirs in (ours, ours + 1)
            if theirs != ours:
                assert round(level * (n + 1), 9) == ours
                differ.add((level, n))
    assert {level for level, _ in differ} == {0.55}
    assert (0.55, 99) in differ


def test_too_few_rows_are_an_error() -> None:
    estimator, localizer = localized("even", "auto")
    mapie = conformalized(estimator, localizer, *rows(8, 2), 0.9)
    with pytest.raises(ValueError, match="calibration samples|Number of samples|too low"):
        mapie.predict_interval(rows(3, 3)[0])


def test_ties_stay_inside() -> None:
    """With counts, many residuals are tied; a bound that equals one of them contains all of them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (900, 1)).astype(float)
    y = X[:, 0] + rng.integers(-2, 3, 900) * (1 + X[:, 0])
    estimator = LinearRegression(fit_intercept=False).fit([[1.0]], [1.0])
    for goal in ("even", "narrow"):
        localizer = Localizer(goal=goal, n_jobs=1).fit(X[:300], y[:300], X[:300, 0])
        mapie = conformalized(estimator, localizer, X[300:], y[300:], [0.6, 0.8])
        _, intervals = mapie.predict_interval(X[300:])
        inside = (intervals[:, 0] <= y[300:, None]) & (y[300:, None] <= intervals[:, 1])
        assert (inside.sum(axis=0) >= np.ceil([0.6 * 601, 0.8 * 601])).all()


def test_intervals_are_cut_to_the_range_of_outcomes() -> None:
    X, y = rows(1000, 1)
    y = np.clip(y, 0, 3)
    fit, calibrate = slice(0, 600), slice(600, 1000)
    estimator = LinearRegression().fit(X[fit], y[fit])
    y_pred = cross_val_predict(LinearRegression(), X[fit], y[fit])
    localizer = Localizer(outcome_range=(0.0, 3.0), n_jobs=1).fit(X[fit], y[fit], y_pred)
    mapie = conformalized(estimator, localizer, X[calibrate], y[calibrate], 0.9)
    _, theirs = mapie.predict_interval(X)
    calibration = localizer.calibrate(X[calibrate], y[calibrate], estimator.predict(X[calibrate]))
    predictor = Predictor(localizer, calibration)
    _, ours = predictor.predict_interval(X, estimator.predict(X), confidence_level=0.9)
    assert theirs.min() == 0
    assert theirs.max() == 3
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_frames_are_taken_as_they_are() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = rows(600, 1)
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    estimator = LinearRegression().fit(frame[:300], y[:300])
    y_pred = cross_val_predict(LinearRegression(), frame[:300], y[:300])
    localizer = Localizer(n_jobs=1).fit(frame[:300], y[:300], y_pred)
    mapie = conformalized(estimator, localizer, frame[300:], y[300:], 0.9)
    _, intervals = mapie.predict_interval(frame[300:])
    assert np.isfinite(intervals).all()


def test_a_score_can_be_cloned_copied_and_pickled() -> None:
    estimator, localizer = localized("narrow", "auto")
    X, y = rows(200, 2)
    score = LocalizedScore(localizer)
    expected = score.get_conformity_scores(y, estimator.predict(X), X=X)
    for other in (clone(score), copy.deepcopy(score), pickle.loads(pickle.dumps(score))):
        assert repr(other) == repr(score)
        np.testing.assert_array_equal(other.get_conformity_scores(y, estimator.predict(X), X=X), expected)
    mapie = conformalized(estimator, localizer, X, y)
    with pytest.raises(TypeError, match="Cannot clone"):
        clone(mapie)
    again = pickle.loads(pickle.dumps(mapie))
    np.testing.assert_array_equal(again.predict_interval(X)[1], mapie.predict_interval(X)[1])


def test_what_would_break_the_promise_is_refused(tmp_path: Path) -> None:
    estimator, localizer = localized("even", "auto")
    X, y = rows(1000, 1)  # the training rows
    with pytest.raises(ValueError, match="100% of these rows were used to fit the model"):
        LocalizedScore(localizer).get_conformity_scores(y, estimator.predict(X), X=X)
    X, y = rows(50, 2)
    y_pred = estimator.predict(X)
    y_pred[7] = np.nan
    with pytest.raises(ValueError, match=r"y_pred\[7\] is nan"):
        LocalizedScore(localizer).get_conformity_scores(y, y_pred, X=X)
    with pytest.raises(ValueError, match="not fitted"):
        LocalizedScore(Localizer())
    clustered = Localizer(n_jobs=1).fit(*rows(300, 0), rows(300, 0)[0][:, 0], clusters=np.arange(300) // 5)
    with pytest.raises(ValueError, match="MAPIE counts rows"):
        LocalizedScore(clustered)
    for dropped, words in ignored_by_other_libraries(tmp_path):
        with pytest.raises(ValueError, match=words + ".*MAPIE"):
            LocalizedScore(dropped)
    with pytest.raises(ValueError, match="pass X"):
        LocalizedScore(localizer).get_conformity_scores(y, y)
    cross = CrossConformalRegressor(LinearRegression(), 0.9, LocalizedScore(localizer), method="plus", cv=3)
    cross.fit_conformalize(X, y)
    with pytest.raises(ValueError, match="use SplitConformalRegressor"):
        cross.predict_interval(X)


def test_scores_turn_back_into_outcomes() -> None:
    estimator, localizer = localized("narrow", "affine", two_sided=True)
    X, y = rows(300, 2)
    score = LocalizedScore(localizer)
    y_pred = estimator.predict(X)
    signed = score.get_signed_conformity_scores(y, y_pred, X=X)
    np.testing.assert_array_equal(np.sign(signed), np.where(y < y_pred, -1, 1))
    back = score.get_estimation_distribution(y_pred, signed, X=X)
    np.testing.assert_allclose(back, y, rtol=0, atol=1e-9)
    assert (np.abs(back - y_pred) >= np.abs(y - y_pred)).all()
    y_pred[3] = np.nan
    assert np.isinf(score.get_estimation_distribution(y_pred, signed, X=X)[3])


def test_the_map_to_positive_scores_keeps_order_and_rounds_up() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=5000) * 10.0 ** rng.integers(-20, 20, 5000)
    scores = np.sort(np.concatenate([scores, [-np.inf, 0, np.inf]]))
    positive = _positive(scores)
    assert (positive >= 0).all()
    assert (np.diff(positive[1:-1]) >= 0).all()
    back = _from_positive(positive)
    assert (back >= scores).all()
    middle = np.abs(scores) < 1e6
    np.testing.assert_allclose(back[middle], scores[middle], rtol=1e-14, atol=1e-14)
    assert (back[0], back[-1]) == (-np.inf, np.inf)


def test_the_package_finds_the_module() -> None:
    assert widthwise.mapie.LocalizedScore is LocalizedScore
