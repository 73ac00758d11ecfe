"""widthwise.xgboost on real clusters of Dask and Spark: two workers train the same model as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from widthwise import Localizer, Predictor

xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")

from xgboost import collective  # noqa: E402
from xgboost.tracker import RabitTracker  # noqa: E402

from widthwise.xgboost import WidthObjective, training_matrix  # noqa: E402

pytestmark = pytest.mark.distributed

GOALS = [("even", False, None), ("even", True, None), ("narrow", False, None), ("even", False, (0.8, 0.95))]
NAMES = ["even", "two-sided", "narrow", "window"]
TREES = {"tree_method": "hist", "eta": 0.1, "max_depth": 3, "min_child_weight": 5, "lambda": 5, "nthread": 1}
ROUNDS = 15


def rows(n: int, seed: int) -> tuple[Any, Any, Any]:
    """Features with few distinct values, so that the histograms of two workers have the same bins as those of one."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 20, (n, 2)).astype(float)
    y_pred = X[:, 1]
    y = y_pred + (1 + X[:, 0]) * rng.normal(size=n)
    return X, y, y_pred


def features_of(X: Any, y_pred: Any) -> Any:
    return np.column_stack([X, y_pred])


def settings(objective: WidthObjective) -> dict[str, Any]:
    return {
        "params": {**TREES, **objective.params},
        "num_boost_round": ROUNDS,
        "obj": objective,
        "custom_metric": objective.metric,
        "verbose_eval": False,
    }


def trained_alone(objective: WidthObjective, fit: Any, hold: Any) -> tuple[Any, list[float]]:
    history: dict[str, Any] = {}
    booster = xgboost.train(
        **settings(objective),
        dtrain=training_matrix(*fit),
        evals=[(training_matrix(*hold), "hold")],
        evals_result=history,
    )
    return booster, history["hold"]["width"]


def assert_same_model(booster: Any, alone: Any, X: Any, y_pred: Any) -> None:
    matrix = xgboost.DMatrix(features_of(X, y_pred))
    booster.feature_names = alone.feature_names = None
    np.testing.assert_allclose(
        booster.predict(matrix, output_margin=True), alone.predict(matrix, output_margin=True), atol=1e-4
    )


def gradient_jobs(objective: WidthObjective, tracker: dict[str, Any], parts: list[Any]) -> list[Callable[[], Any]]:
    """One job per worker: gradient, Hessian and metric of its rows. Closures, because these are sent by value."""

    def job_of(rank: int, part: Any) -> Callable[[], Any]:
        def job() -> Any:
            features, residuals, weights, parameters = part
            with collective.CommunicatorContext(dmlc_task_id=str(rank), **tracker):
                matrix = xgboost.DMatrix(features, label=residuals, weight=weights, nthread=1)
                gradient, hessian = objective(parameters, matrix)
                return gradient, hessian, objective.metric(parameters, matrix)[1], objective.unit

        return job

    return [job_of(rank, part) for rank, part in enumerate(parts)]


def start_tracker() -> RabitTracker:
    tracker = RabitTracker(n_workers=2, host_ip="127.0.0.1", sortby="task")
    tracker.start()
    return tracker


def assert_same_gradients(run: Callable[[list[Callable[[], Any]]], list[Any]], goal: Any, split: int) -> None:
    """Run on two workers, with rows [:split] and [split:], and compare with one worker."""
    name, two_sided, window = goal
    objective = WidthObjective(name, two_sided=two_sided, level_window=window)
    X, y, y_pred = rows(300, 5)
    rng = np.random.default_rng(0)
    parameters = rng.normal(scale=0.3, size=(300, objective.parameter_count)).astype(np.float32)
    weights = rng.uniform(0.5, 2, 300)
    features = features_of(X, y_pred)
    matrix = xgboost.DMatrix(features, label=y - y_pred, weight=weights, nthread=1)
    gradient, hessian = objective(parameters, matrix)
    _, value = objective.metric(parameters, matrix)

    columns = (features, y - y_pred, weights, parameters)
    parts = [tuple(column[half] for column in columns) for half in (slice(split), slice(split, None))]
    tracker = start_tracker()
    fresh = WidthObjective(name, two_sided=two_sided, level_window=window)
    results = run(gradient_jobs(fresh, tracker.worker_args(), parts))
    tracker.wait_for(timeout=60)
    np.testing.assert_allclose(np.concatenate([result[0] for result in results]), gradient, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.concatenate([result[1] for result in results]), hessian, rtol=1e-5, atol=1e-6)
    for result in results:
        assert result[2] == pytest.approx(value, rel=1e-9)
        assert result[3] == objective.unit


def assert_valid(booster: Any, objective: WidthObjective, fit: Any) -> None:
    """The booster of a distributed system gives valid intervals."""
    localizer = Localizer.from_booster(booster, objective, *fit)
    predictor = Predictor(localizer, localizer.calibrate(*rows(500, 3)))
    evaluation = predictor.evaluate(*rows(3000, 4))
    assert evaluation.valid, str(evaluation)


# ---- Dask


@pytest.mark.parametrize("goal", GOALS, ids=NAMES)
def test_dask_trains_the_model_that_one_worker_trains(client: Any, goal: Any) -> None:
    import dask.array as da
    from xgboost import dask as dxgb

    name, two_sided, window = goal
    fit, hold = rows(1200, 1), rows(400, 2)
    objective = WidthObjective(name, two_sided=two_sided, level_window=window)

    def matrix(X: Any, y: Any, y_pred: Any) -> Any:
        half = len(y) // 2
        data = da.from_array(features_of(X, y_pred), chunks=(half, 3))
        matrix = dxgb.DaskDMatrix(client, data, da.from_array(y - y_pred, chunks=half))
        assert len(matrix.worker_map) == 2
        return matrix

    output = dxgb.train(client, **settings(objective), dtrain=matrix(*fit), evals=[(matrix(*hold), "hold")])
    alone, history = trained_alone(WidthObjective(name, two_sided=two_sided, level_window=window), fit, hold)
    np.testing.assert_allclose(output["history"]["hold"]["width"], history, atol=1e-5)
    assert_same_model(output["booster"], alone, fit[0], fit[2])
    assert_valid(output["booster"], objective, fit)


@pytest.mark.parametrize("split", [100, 300], ids=["uneven", "one worker without rows"])
@pytest.mark.parametrize("goal", GOALS, ids=NAMES)
def test_dask_workers_have_the_gradients_of_one(client: Any, goal: Any, split: int) -> None:
    def run(jobs: list[Callable[[], Any]]) -> list[Any]:
        workers = list(client.scheduler_info()["workers"])
        futures = [client.submit(job, workers=[worker], pure=False) for job, worker in zip(jobs, workers, strict=True)]
        return list(client.gather(futures))

    assert_same_gradients(run, goal, split)


# ---- Spark


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("goal", GOALS[1:3], ids=NAMES[1:3])
def test_spark_trains_the_model_that_one_worker_trains(spark: Any, goal: Any) -> None:
    import pandas
    from xgboost.spark import SparkXGBRegressor

    name, two_sided, window = goal
    fit, hold = rows(1200, 1), rows(400, 2)
    objective = WidthObjective(name, two_sided=two_sided, level_window=window)

    def frame(X: Any, y: Any, y_pred: Any, is_hold: bool) -> pandas.DataFrame:
        columns = {"x0": X[:, 0], "x1": X[:, 1], "y_pred": y_pred, "residual": y - y_pred, "hold": is_hold}
        return pandas.DataFrame(columns)

    together = pandas.concat([frame(*fit, False), frame(*hold, True)]).sample(frac=1, random_state=0)
    settings = {key: value for key, value in TREES.items() if key not in ("nthread", "eta", "lambda")}
    regressor = SparkXGBRegressor(
        features_col=["x0", "x1", "y_pred"],
        label_col="residual",
        validation_indicator_col="hold",
        num_workers=2,
        force_repartition=True,
        obj=objective,
        custom_metric=objective.metric,
        n_estimators=ROUNDS,
        learning_rate=TREES["eta"],
        reg_lambda=TREES["lambda"],
        verbose=False,
        **settings,
        **objective.params,
    )
    model = regressor.fit(spark.createDataFrame(together))
    alone, history = trained_alone(WidthObjective(name, two_sided=two_sided, level_window=window), fit, hold)
    np.testing.assert_allclose(model.training_summary.validation_objective_history["width"], history, atol=1e-5)
    assert_same_model(model.get_booster(), alone, fit[0], fit[2])
    assert_valid(model.get_booster(), objective, fit)


@pytest.mark.parametrize("goal", GOALS[1:3], ids=NAMES[1:3])
def test_spark_workers_have_the_gradients_of_one(spark: Any, goal: Any) -> None:
    def run(jobs: list[Callable[[], Any]]) -> list[Any]:
        parts = spark.sparkContext.parallelize(jobs, 2)
        return list(parts.barrier().mapPartitions(lambda own: [job() for job in own]).collect())

    assert_same_gradients(run, goal, 100)
