"""widthwise.xgboost: the width objective in the user's own training loop."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import widthwise
from widthwise import Localizer, Predictor, _core

xgboost = pytest.importorskip("xgboost")
cloudpickle = pytest.importorskip("cloudpickle")

from widthwise.xgboost import WidthObjective, training_matrix  # noqa: E402

# Every transform with the goals that it supports.
CASES = [
    *((goal, transform) for transform in ("erc", "linear", "exp", "sigma") for goal in ("even", "narrow", 0.5)),
    *(("narrow", transform) for transform in ("density", "affine", "spline", "mixture")),
]
# The settings of widthwise::TreeOptions, in steps of half the size.
SLOWLY = {"learning_rate": 0.05, "patience": 40}
TREES = {
    "tree_method": "hist",
    "eta": SLOWLY["learning_rate"],
    "max_depth": 4,
    "min_child_weight": 10,
    "subsample": 0.7,
    "colsample_bytree": 0.7,
    "lambda": 5,
    "nthread": 1,
}


def rows(n: int, seed: int, scale: float = 1.0) -> tuple[Any, Any, Any]:
    """X with a few missing values, y, y_pred; errors grow with the first column, more above than below y_pred."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 3))
    noise = np.where(rng.uniform(size=n) < 0.5, rng.exponential(0.5, n), -rng.exponential(0.2, n))
    y_pred = X[:, 0] + X[:, 1]
    y = y_pred + (0.1 + X[:, 0]) * noise
    X[rng.uniform(size=X.shape) < 0.02] = np.nan
    return X, scale * y, scale * y_pred


def train(objective: WidthObjective, matrix: Any, rounds: int = 8, **options: Any) -> Any:
    return xgboost.train({**TREES, **objective.params}, matrix, rounds, obj=objective, verbose_eval=False, **options)


def loss_of(objective: WidthObjective, parameters: Any, residuals: Any) -> float:
    core = _core.WidthObjective(objective.goal, objective.score_transform, objective.two_sided, None)
    loss, _, _ = core.evaluate(residuals, parameters, None, False, False)
    return loss


@pytest.mark.parametrize("two_sided", [False, True])
@pytest.mark.parametrize(("goal", "transform"), CASES)
def test_a_booster_becomes_a_localizer_with_the_same_parameters(goal: Any, transform: str, two_sided: bool) -> None:
    X, y, y_pred = rows(120, 1, scale=30)
    objective = WidthObjective(goal, transform, two_sided=two_sided)
    history: dict[str, Any] = {}
    matrix = training_matrix(X, y, y_pred)
    booster = train(objective, matrix, evals=[(matrix, "train")], custom_metric=objective.metric, evals_result=history)
    losses = history["train"]["width"]
    assert losses[-1] < losses[0] - 0.01
    localizer = Localizer.from_booster(booster, objective, X, y, y_pred)
    ours = localizer.parameters(X, y_pred)
    theirs = booster.predict(matrix, output_margin=True).reshape(ours.shape)
    assert ours.shape == (120, objective.parameter_count)
    np.testing.assert_array_equal(ours, theirs.astype(np.float64))
    assert (localizer.score_transform, localizer.two_sided) == (transform, two_sided)


@pytest.mark.parametrize(("goal", "two_sided"), [("even", False), ("even", True), ("narrow", False), (0.5, False)])
def test_the_whole_way_gives_valid_intervals(goal: Any, two_sided: bool) -> None:
    fit, hold, calibration, test = rows(1500, 1), rows(500, 2), rows(1000, 3), rows(4000, 4)
    objective = WidthObjective(goal, two_sided=two_sided)
    booster = train(
        objective,
        training_matrix(*fit),
        400,
        evals=[(training_matrix(*hold), "hold")],
        custom_metric=objective.metric,
        early_stopping_rounds=20,
    )
    assert 0 < booster.best_iteration < 399
    localizer = Localizer.from_booster(booster, objective, *fit)
    # After early stopping, the best rounds are used.
    best = booster.predict(training_matrix(*test), output_margin=True, iteration_range=(0, booster.best_iteration + 1))
    ours = localizer.parameters(test[0], test[2])
    np.testing.assert_array_equal(ours, best.reshape(ours.shape).astype(np.float64))

    predictor = Predictor(localizer, localizer.calibrate(*calibration))
    evaluation = predictor.evaluate(*test, confidence_level=[0.5, 0.9])
    assert evaluation.valid, str(evaluation)
    _, intervals = predictor.predict_interval(test[0], test[2], confidence_level=0.9)
    one_width = 2 * np.sort(np.abs(calibration[1] - calibration[2]))[900]
    assert (intervals[:, 1] - intervals[:, 0]).mean() < 0.97 * one_width


@pytest.mark.parametrize("goal", ["even", "narrow"])
def test_training_here_is_training_in_the_library(goal: str) -> None:
    """Equal settings and rounds give the same loss on new rows, up to the sampling of rows and columns."""
    fit, fresh = rows(2000, 1), rows(4000, 2)
    library = Localizer(goal=goal, level_window="all", two_sided=False, localizer_options=SLOWLY, n_jobs=1).fit(*fit)
    objective = WidthObjective(goal)
    booster = train(objective, training_matrix(*fit), round(1.15 * library.fit_report_["chosen"]["iterations"]))
    here = Localizer.from_booster(booster, objective, *fit)
    assert objective.unit is not None
    assert objective.unit == library._model.unit == here._model.unit

    residuals = (fresh[1] - fresh[2]) / objective.unit
    nothing = loss_of(objective, np.zeros((4000, objective.parameter_count)), residuals)
    expected = loss_of(objective, library.parameters(fresh[0], fresh[2]), residuals)
    assert expected < nothing - 0.1
    assert loss_of(objective, here.parameters(fresh[0], fresh[2]), residuals) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("goal", "transform"), CASES)
def test_gradients_are_the_objective_s_times_the_number_of_rows(goal: Any, transform: str) -> None:
    objective = WidthObjective(goal, transform)
    parameters = np.random.default_rng(0).normal(size=(50, objective.parameter_count)).astype(np.float32)
    matrix = training_matrix(*rows(50, 5))
    gradient, hessian = objective(parameters, matrix)
    assert gradient.shape == hessian.shape == parameters.shape
    assert gradient.dtype == hessian.dtype == np.float32
    assert objective.unit is not None
    residuals = matrix.get_label().astype(np.float64) / objective.unit
    core = _core.WidthObjective(objective.goal, transform, False, None)
    loss, expected, curvature = core.evaluate(residuals, parameters.astype(np.float64), None, True, True)
    np.testing.assert_array_equal(gradient, (50 * expected).astype(np.float32))
    np.testing.assert_array_equal(hessian, np.maximum(50 * curvature, 1e-3).astype(np.float32))
    name, value = objective.metric(parameters, matrix)
    assert name == "width"
    assert value == pytest.approx(loss + np.log(objective.unit))


@pytest.mark.parametrize("goal", ["even", "narrow"])
def test_a_row_of_weight_two_is_the_row_twice(goal: str) -> None:
    X, y, y_pred = rows(60, 6)
    weights = np.random.default_rng(0).integers(0, 3, 60)
    twice = np.repeat(np.arange(60), weights)
    objective = WidthObjective(goal, unit=0.5)
    parameters = np.random.default_rng(1).normal(size=(60, objective.parameter_count))
    gradient, hessian = objective(parameters, training_matrix(X, y, y_pred, weight=weights))
    repeated, curvature = objective(parameters[twice], training_matrix(X[twice], y[twice], y_pred[twice]))
    np.testing.assert_allclose(gradient[twice], weights[twice, None] * repeated, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hessian[twice], weights[twice, None] * curvature, rtol=1e-5)
    assert not gradient[weights == 0].any() or goal == "narrow"
    assert objective.unit == 0.5


def test_the_metric_is_in_the_unit_of_the_rows_that_trained() -> None:
    fit, small = rows(300, 7), rows(300, 8, scale=1 / 64)
    objective = WidthObjective("narrow")
    assert objective.unit is None
    booster = train(objective, training_matrix(*fit), 5)
    unit = objective.unit
    assert unit == _core.unit_near(float(np.mean(np.abs(fit[1] - fit[2]))))
    matrix = training_matrix(*small)
    margins = booster.predict(matrix, output_margin=True)
    _, value = objective.metric(margins, matrix)
    residuals = matrix.get_label().astype(np.float64) / unit
    assert value == pytest.approx(loss_of(objective, margins.astype(np.float64), residuals) + np.log(unit))
    assert objective.unit == unit


@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps])
def test_an_objective_can_be_pickled(dumps: Any) -> None:
    matrix = training_matrix(*rows(100, 9))
    objective = WidthObjective("narrow", two_sided=True, level_window=(0.5, 0.95))
    parameters = np.random.default_rng(0).normal(size=(100, objective.parameter_count))
    expected = objective(parameters, matrix)
    for other in (pickle.loads(dumps(objective)), copy.deepcopy(objective), copy.copy(objective)):
        assert repr(other) == repr(objective)
        assert other.params == objective.params
        np.testing.assert_array_equal(other(parameters, matrix), expected)
    # The metric contains the objective and therefore the unit.
    together, metric = pickle.loads(dumps((objective, objective.metric)))
    assert metric.__self__ is together


def test_training_resumes_in_the_same_unit() -> None:
    fit, more = rows(500, 10), rows(500, 11, scale=8)
    first = WidthObjective("narrow")
    booster = train(first, training_matrix(*fit), 10)
    objective = WidthObjective("narrow", unit=first.unit)
    booster = train(objective, training_matrix(*more), 10, xgb_model=booster)
    assert booster.num_boosted_rounds() == 20
    assert objective.unit == first.unit
    localizer = Localizer.from_booster(booster, objective, *more, unit=objective.unit)
    assert localizer._model.unit == first.unit


def test_training_matrix_takes_the_numbers_and_names_of_a_table() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"size": [1.0, 2.0, np.nan], "town": ["a", "b", "c"], "rooms": [1, 2, 3], "guess": [0, 0, 1]}
    )
    y_pred = pandas.Series([1.0, 2.0, 3.0], name="guess")
    matrix = training_matrix(frame, [2.0, 2.0, 2.0], y_pred, weight=[1.0, 2.0, 3.0])
    assert matrix.feature_names == ["size", "rooms", "guess", "guess_"]
    assert (matrix.num_row(), matrix.num_col()) == (3, 4)
    assert matrix.get_label().tolist() == [1.0, 0.0, -1.0]
    assert matrix.get_weight().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="X has 3 rows, y_pred has 2"):
        training_matrix(frame, [1.0, 2.0, 3.0], [1.0, 2.0])


def test_errors_of_invalid_options_state_the_expected_values() -> None:
    with pytest.raises(ValueError, match="identity has no parameters"):
        WidthObjective(score_transform="identity")
    with pytest.raises(ValueError, match="density is for the goal narrow"):
        WidthObjective("even", "density")
    with pytest.raises(ValueError, match="unit is 0"):
        WidthObjective(unit=0)
    with pytest.raises(ValueError, match="goal"):
        WidthObjective("odd")


def test_errors_that_are_all_zero_do_not_break_training() -> None:
    X, y, _ = rows(100, 12)
    objective = WidthObjective()
    booster = train(objective, training_matrix(X, y, y), 3)
    assert np.isfinite(booster.predict(training_matrix(X, y, y), output_margin=True)).all()
    assert objective.unit == 1


def test_the_package_finds_the_module() -> None:
    assert widthwise.xgboost.WidthObjective is WidthObjective
