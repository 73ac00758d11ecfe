"""widthwise.crepes: a trained localizer as a difficulty estimator of crepes, compared with crepes itself."""

from __future__ import annotations

import copy
import functools
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import widthwise
from examples import ignored_by_other_libraries
from widthwise import Calibration, Localizer, Predictor

pytest.importorskip("crepes", reason="crepes is not installed")
pytest.importorskip("sklearn")

from crepes import ConformalRegressor, WrapRegressor  # noqa: E402
from crepes.extras import DifficultyEstimator, MondrianCategorizer  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.linear_model import LinearRegression  # noqa: E402
from sklearn.model_selection import cross_val_predict  # noqa: E402

from widthwise.crepes import LocalizedDifficulty  # noqa: E402

LEVELS = [0.5, 0.8, 0.9, 0.95]
CASES = [("even", "erc"), ("even", "linear"), ("even", "exp"), (0.5, "sigma"), ("narrow", "exp")]


def rows(n: int, seed: int) -> tuple[Any, Any]:
    """Errors that are largest in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n, 2))
    return X, X[:, 0] + X[:, 1] + (0.1 + np.exp(-2 * X[:, 0] ** 2)) * rng.normal(size=n)


@functools.cache
def localized(goal: Any, transform: str, two_sided: bool = False) -> tuple[Any, Localizer]:
    """A fitted model, and a localizer trained on its out-of-sample errors."""
    X, y = rows(1000, 1)
    y_pred = cross_val_predict(LinearRegression(), X, y)
    localizer = Localizer(goal=goal, score_transform=transform, two_sided=two_sided, n_jobs=1).fit(X, y, y_pred)
    return LinearRegression().fit(X, y), localizer


@pytest.mark.parametrize(("goal", "transform"), CASES)
def test_intervals_are_those_of_a_predictor(goal: Any, transform: str) -> None:
    estimator, localizer = localized(goal, transform)
    X, y = rows(303, 2)
    new, _ = rows(500, 3)
    wrapped = WrapRegressor(estimator)
    wrapped.calibrate(X, y, de=LocalizedDifficulty(localizer, estimator))
    predictor = Predictor(localizer, localizer.calibrate(X, y, estimator.predict(X)))
    _, ours = predictor.predict_interval(new, estimator.predict(new), confidence_level=LEVELS)
    for j, level in enumerate(LEVELS):
        np.testing.assert_allclose(wrapped.predict_int(new, confidence=level), ours[:, :, j], rtol=0, atol=1e-9)


@pytest.mark.parametrize("cps", [False, True])
def test_coverage_is_what_was_promised_and_widths_adapt(cps: bool) -> None:
    estimator, localizer = localized("even", "auto")
    X, y = rows(5000, 3)
    plain, adaptive = WrapRegressor(estimator), WrapRegressor(estimator)
    plain.calibrate(*rows(1000, 2), cps=cps, seed=0)
    adaptive.calibrate(*rows(1000, 2), de=LocalizedDifficulty(localizer, estimator), cps=cps, seed=0)
    for level in LEVELS:
        lower, upper = adaptive.predict_int(X, confidence=level).T
        inside = (lower <= y) & (y <= upper)
        spread = np.sqrt(level * (1 - level) * (1 / 1000 + 1 / 5000))
        assert abs(inside.mean() - level) < 5 * spread
    width = np.diff(adaptive.predict_int(X, confidence=0.9))[:, 0]
    assert width.mean() < 0.9 * np.diff(plain.predict_int(X, confidence=0.9)).mean()
    assert width[np.abs(X[:, 0]) < 0.5].mean() > 3 * width[np.abs(X[:, 0]) > 2].mean()


def test_crepes_takes_the_rank_that_we_take_or_the_next() -> None:
    """If (1 - level) (n + 1) is an integer, rounding can make crepes use the next score: wider, never narrower."""
    differ = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few rows
        for level in (0.5, 0.55, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.975, 0.99):
            for n in [*range(1, 250), 999]:
                scores = np.arange(1.0, n + 1)
                ours = Calibration().add(scores).quantile(level)
                theirs = ConformalRegressor().fit(scores).predict_int(np.zeros(1), confidence=level)[0, 1]
                if theirs != ours:
                    assert theirs == (ours + 1 if ours < n else np.inf)
                    assert round(level * (n + 1), 9) == ours
                    differ.add((level, n))
    assert {level for level, _ in differ} == {0.55, 0.8, 0.9}
    assert {(0.9, 9), (0.9, 99)} <= differ


def test_categories_can_be_made_from_difficulties() -> None:
    estimator, localizer = localized("even", "auto")
    X, y = rows(1000, 2)
    difficulty = LocalizedDifficulty(localizer, estimator)
    assert isinstance(difficulty, DifficultyEstimator)
    np.testing.assert_array_equal(difficulty.apply(X), localizer.difficulty(X, estimator.predict(X)))
    categories = MondrianCategorizer()
    categories.fit(X, de=difficulty, no_bins=4)
    wrapped = WrapRegressor(estimator)
    wrapped.calibrate(X, y, de=difficulty, mc=categories)
    new, outcome = rows(4000, 3)
    lower, upper = wrapped.predict_int(new, confidence=0.9).T
    inside = (lower <= outcome) & (outcome <= upper)
    easy = categories.apply(new) == 0
    # 250 calibration rows and about 1000 new ones.
    assert abs(inside[easy].mean() - 0.9) < 5 * np.sqrt(0.09 * (1 / 250 + 1 / easy.sum()))


def test_a_difficulty_can_be_cloned_copied_and_pickled() -> None:
    estimator, localizer = localized("even", "auto")
    X, y = rows(200, 2)
    difficulty = LocalizedDifficulty(localizer, estimator)
    expected = difficulty.apply(X)
    for other in (clone(difficulty), copy.deepcopy(difficulty), pickle.loads(pickle.dumps(difficulty))):
        assert repr(other) == repr(difficulty)
        np.testing.assert_array_equal(other.apply(X), expected)
    wrapped = WrapRegressor(estimator)
    wrapped.calibrate(X, y, de=difficulty)
    with pytest.raises(TypeError, match="Cannot clone"):
        clone(wrapped)
    again = pickle.loads(pickle.dumps(wrapped))
    np.testing.assert_array_equal(again.predict_int(X), wrapped.predict_int(X))


def test_what_is_no_difficulty_is_refused(tmp_path: Path) -> None:
    estimator, localizer = localized("narrow", "auto")
    with pytest.raises(ValueError, match="a difficulty is one factor per row, and the transform affine has none"):
        LocalizedDifficulty(localizer, estimator)
    _, two_sided = localized("even", "exp", two_sided=True)
    with pytest.raises(ValueError, match="two-sided"):
        LocalizedDifficulty(two_sided, estimator)
    _, even = localized("even", "auto")
    difficulty = LocalizedDifficulty(even, estimator)
    with pytest.raises(ValueError, match="out-of-bag"):
        difficulty.apply()
    with pytest.raises(TypeError, match="cannot be fitted"):
        difficulty.fit(rows(10, 1)[0])
    with pytest.raises(ValueError, match="not fitted"):
        LocalizedDifficulty(Localizer(), estimator)
    X, y = rows(300, 0)
    clustered = Localizer(n_jobs=1).fit(X, y, estimator.predict(X), clusters=np.arange(300) // 5)
    with pytest.raises(ValueError, match="crepes counts rows"):
        LocalizedDifficulty(clustered, estimator)
    for dropped, words in ignored_by_other_libraries(tmp_path):
        with pytest.raises(ValueError, match=words + ".*crepes"):
            LocalizedDifficulty(dropped, estimator)


def test_the_package_finds_the_module() -> None:
    assert widthwise.crepes.LocalizedDifficulty is LocalizedDifficulty
