"""Scores of intervals and quantiles, as functions and as scorers of scikit-learn."""

import math
import pickle
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widthwise import WidthwiseRegressor, crps, evaluate_intervals, interval_score, pinball_loss
from widthwise.metrics import CrpsScorer, IntervalScorer, PinballScorer

SCORERS = [IntervalScorer(), IntervalScorer([0.8, 0.9]), PinballScorer(), PinballScorer(0.9), CrpsScorer()]


def rows(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 2))
    return X, 1 + X[:, 0] + (0.1 + X[:, 1] ** 2 / 4) * rng.normal(size=n)


def regressor(**options):
    return WidthwiseRegressor(
        LinearRegression(),
        random_state=0,
        n_jobs=1,
        cv=2,
        **({"localizer_options": {"max_rounds": 30}} | options),
    )


@pytest.fixture(scope="module")
def fitted():
    return regressor().fit(*rows())


def test_the_functions_agree_with_the_evaluation_and_with_scikit_learn(fitted):
    X, y = rows(400, 1)
    _, intervals = fitted.predict_interval(X, [0.8, 0.9])
    levels = evaluate_intervals(intervals, y, confidence_level=[0.8, 0.9])["levels"]
    for j, level in enumerate((0.8, 0.9)):
        assert interval_score(intervals[:, :, j], y, level) == pytest.approx(levels[j]["interval_score"])
    both = np.mean([level["interval_score"] for level in levels])
    assert interval_score(intervals, y, [0.8, 0.9]) == pytest.approx(both)
    quantiles = fitted.predict_quantile(X, [0.1, 0.9])
    expected = [mean_pinball_loss(y, quantiles[:, j], alpha=t) for j, t in enumerate((0.1, 0.9))]
    assert pinball_loss(quantiles, y, [0.1, 0.9]) == pytest.approx(np.mean(expected))
    assert pinball_loss(quantiles[:, 1], y, 0.9) == pytest.approx(expected[1])
    # The interval score is 2 / alpha times the sum of the losses of both bounds.
    assert interval_score(quantiles, y, 0.8) == pytest.approx(2 / 0.2 * sum(expected))


def test_weights_count_rows_several_times(fitted):
    X, y = rows(50, 2)
    times = np.random.default_rng(0).integers(0, 3, 50)
    repeated = np.repeat(np.arange(50), times)
    quantiles, t = fitted.predict_quantile(X, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9]
    intervals = fitted.predict_interval(X)[1]
    intervals[np.flatnonzero(times == 0)[0]] = [[-math.inf], [math.inf]]  # a row that does not count
    for score, values, levels in ((interval_score, intervals, 0.9), (pinball_loss, quantiles, t), (crps, quantiles, t)):
        weighted = score(values, y, levels, sample_weight=times)
        assert weighted == pytest.approx(score(values[repeated], y[repeated], levels))
        assert score(values, y, levels, sample_weight=np.ones(50)) == pytest.approx(score(values, y, levels))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: interval_score([[1.0, 0.0]], [1.0], 0.9), "the interval of row 1 has a lower bound above its upper"),
        (lambda: interval_score([[0.0, 1.0]], [1.0], [0.8, 0.9]), "intervals has 1 levels, confidence_level has 2"),
        (lambda: interval_score([[0.0, 1.0]], [1.0], 1.0), "confidence_level: expected a number strictly between"),
        (lambda: interval_score([[0.0, 1.0]], [np.nan]), r"y\[0\] is nan"),
        (
            lambda: interval_score([[0.0, 1.0]], [1.0], sample_weight=[-1]),
            "sample_weight holds values that are negative",
        ),
        (lambda: pinball_loss([[0.0, 1.0]], [1.0], 0.9), r"quantiles are of shape \(1, 2\); expected \(1, 1\)"),
        (lambda: pinball_loss([[np.nan]], [1.0], 0.9), "quantiles contain NaN"),
        (lambda: crps([[0.0, 1.0]], [1.0], [0.9, 0.1], sample_weight=[1]), "expected ascending probabilities"),
        (lambda: IntervalScorer()(LinearRegression(), [[1.0]], [1.0]), "LinearRegression has no intervals to score"),
    ],
)
def test_invalid_arguments_are_refused(call, why):
    with pytest.raises((ValueError, TypeError), match=why):
        call()


def test_infinite_intervals_score_infinity():
    assert interval_score([[0.0, math.inf], [0.0, 1.0]], [1.0, 1.0]) == math.inf
    assert pinball_loss([[math.inf]], [1.0], 0.9) == math.inf
    assert crps([[0.0, math.inf]], [1.0], [0.1, 0.9]) == math.inf


def test_scorers_are_those_of_scikit_learn(fitted):
    X, y = rows(300, 3)
    pipeline = make_pipeline(StandardScaler(), regressor(score_transform="identity")).fit(*rows())
    for scorer in SCORERS:
        score = scorer(fitted, X, y)
        assert isinstance(score, float)
        assert -20 < score < 0
        for copy in (clone(scorer), pickle.loads(pickle.dumps(scorer))):
            assert copy(fitted, X, y) == score
        assert scorer(pipeline, X, y) == scorer(pipeline[-1], pipeline[0].transform(X), y)
        assert np.isfinite(cross_val_score(pipeline, *rows(400), scoring=scorer, cv=2)).all()


def test_outcomes_may_be_transformed():
    X, y = rows()
    y = np.exp(y / 3)
    model = regressor(score_transform="identity")
    logs = TransformedTargetRegressor(model, func=np.log, inverse_func=np.exp).fit(X, y)
    falling = TransformedTargetRegressor(model, func=np.negative, inverse_func=np.negative).fit(X, y)
    new_X, new_y = rows(300, 4)
    new_y = np.exp(new_y / 3)
    bounds = np.exp(logs.regressor_.predict_interval(new_X)[1])
    assert IntervalScorer()(logs, new_X, new_y) == pytest.approx(-interval_score(bounds, new_y))
    for scorer in SCORERS:
        assert scorer(logs, new_X, new_y) < 0
        with pytest.raises(ValueError, match="the transformation of the outcomes decreases"):
            scorer(falling, new_X, new_y)


def test_a_search_ranks_goals_by_their_intervals_and_not_by_predictions():
    X, y = rows(1200, 5)
    goals = {"goal": ["narrow", 0.85, "even"]}
    by_default = GridSearchCV(regressor(), goals, cv=2).fit(X, y)
    assert len(set(by_default.cv_results_["mean_test_score"].round(12))) == 1  # R2 of the same predictions
    assert by_default.best_params_ == {"goal": "narrow"}
    search = GridSearchCV(regressor(), goals, scoring=IntervalScorer(0.9), cv=2).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) == 3
    assert search.best_params_ == {"goal": goals["goal"][int(np.argmax(scores))]}
    assert IntervalScorer(0.9)(search, X, y) == IntervalScorer(0.9)(search.best_estimator_, X, y)
    assert "widthwise.metrics" in WidthwiseRegressor.score.__doc__


def test_infinite_intervals_rank_last():
    X, y = rows(400, 6)
    sizes = {"calibration_size": [5, 0.5]}
    model = regressor(score_transform="identity")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # five rows are too few, and scikit-learn warns of the infinite score
        search = GridSearchCV(model, sizes, scoring=IntervalScorer(0.9), cv=2, error_score="raise").fit(X, y)
    assert search.cv_results_["mean_test_score"][0] == -math.inf
    assert search.best_params_ == {"calibration_size": 0.5}
    assert list(search.cv_results_["rank_test_score"]) == [2, 1]


def test_groups_and_weights_are_routed_to_the_scorer():
    X, y = rows(600, 7)
    group = np.arange(600) % 2
    weight = np.where(np.arange(600) < 300, 1.0, 2.0)
    with config_context(enable_metadata_routing=True):
        scorer = IntervalScorer().set_score_request(groups=True, sample_weight="counts")
        model = regressor(score_transform="identity").set_fit_request(groups=True)
        scores = cross_val_score(model, X, y, scoring=scorer, cv=2, params={"groups": group, "counts": weight})
    assert np.isfinite(scores).all()
    half = model.fit(X[300:], y[300:], groups=group[300:])
    assert scorer(half, X[:300], y[:300], groups=group[:300], sample_weight=weight[:300]) == pytest.approx(scores[0])
