"""Training a localizer, compared with training the same engine for squared errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import xgboost

from widthwise import Localizer
from widthwise.torch import WidthLoss
from widthwise.xgboost import WidthObjective, training_matrix

from ..rows import Rows
from .task import Other, Sizes, Task

TREES = {
    "eta": 0.05,
    "max_depth": 4,
    "min_child_weight": 10,
    "lambda": 5,
    "subsample": 0.7,
    "colsample_bytree": 0.7,
    "nthread": 1,
    "seed": 0,
}
ROUNDS = 30


def boosting(sizes: Sizes, name: str, options: dict[str, Any]) -> Task:
    rows = Rows(sizes.rows(400_000), 20, 1)
    matrix = training_matrix(rows.X, rows.y, rows.f)
    outputs = WidthObjective(**options).parameter_count
    plain = xgboost.DMatrix(
        np.column_stack([rows.X, rows.f]), np.repeat((rows.y - rows.f)[:, None], outputs, axis=1), nthread=1
    )

    def ours() -> xgboost.Booster:
        objective = WidthObjective(**options)
        return xgboost.train({**TREES, **objective.params}, matrix, ROUNDS, obj=objective)

    def squared() -> xgboost.Booster:
        return xgboost.train({**TREES, "objective": "reg:squarederror"}, plain, ROUNDS)

    return Task(
        f"boosting, 400,000 rows of 21 features, {ROUNDS} rounds, {name}",
        ours,
        {f"XGBoost, squared error, {outputs} output{'s' if outputs > 1 else ''}": Other(squared, 1.3)},
        lambda mine, found: same_shape(mine, next(iter(found.values()))),
        repeats=3,
    )


def same_shape(mine: xgboost.Booster, other: xgboost.Booster) -> None:
    """Both have trained as many trees."""
    assert len(mine.get_dump()) == len(other.get_dump())


def boosting_exp(sizes: Sizes) -> Task:
    return boosting(sizes, "`exp`", {"goal": "even"})


def boosting_affine(sizes: Sizes) -> Task:
    return boosting(sizes, "`affine`", {"goal": "narrow"})


def localizer(sizes: Sizes, transform: str, goal: str) -> Task:
    """A whole fit of `Localizer`, which calls XGBoost without Python: rounds with a hold-out, then on all rows."""
    rows = Rows(sizes.rows(400_000), 20, 1)
    residuals, held_out = rows.y - rows.f, len(rows.f) // 5
    options = {"max_rounds": ROUNDS, "patience": ROUNDS, "retrain_factor": 1}
    outputs = WidthObjective(goal, transform).parameter_count

    def ours() -> Localizer:
        trained = Localizer(
            goal=goal,
            score_transform=transform,
            two_sided=False,
            random_state=0,
            n_jobs=1,
            localizer_options=options,
        )
        return trained.fit(rows.X, rows.y, y_pred_cv=rows.f)

    def matrix(part: slice) -> xgboost.DMatrix:
        labels = np.repeat(residuals[part, None], outputs, axis=1)
        return xgboost.DMatrix(np.column_stack([rows.X[part], rows.f[part]]), labels, nthread=1)

    def squared() -> xgboost.Booster:
        settings = {**TREES, "objective": "reg:squarederror"}
        watched = [(matrix(slice(0, held_out)), "holdout")]
        xgboost.train(settings, matrix(slice(held_out, None)), ROUNDS, evals=watched, verbose_eval=False)
        return xgboost.train(settings, matrix(slice(None)), ROUNDS)

    return Task(
        f"fit of `Localizer`, the same rows and rounds, `{transform}`",
        ours,
        {
            f"XGBoost, the same two trainings, squared error, {outputs} output{'s' if outputs > 1 else ''}": Other(
                squared, 1.3
            )
        },
        repeats=3,
    )


def localizer_exp(sizes: Sizes) -> Task:
    return localizer(sizes, "exp", "even")


def localizer_affine(sizes: Sizes) -> Task:
    return localizer(sizes, "affine", "narrow")


def net(sizes: Sizes, batch: int) -> Task:
    """One epoch of AdamW over 100 batches, with the network of `localizer="net"`."""
    torch.set_num_threads(1)
    rows = Rows(100 * batch if not sizes.quick else 4 * batch, 20, 1)
    x, residuals = torch.tensor(rows.X, dtype=torch.float32), torch.tensor(rows.y - rows.f, dtype=torch.float32)
    width_loss = WidthLoss("even", unit=float(residuals.abs().mean()))

    def epoch(loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[[], None]:
        def work() -> None:
            torch.manual_seed(0)
            layers: list[torch.nn.Module] = [torch.nn.Linear(20, 100), torch.nn.ReLU()]
            for _ in range(4):
                layers += [torch.nn.Linear(100, 100), torch.nn.ReLU()]
            model = torch.nn.Sequential(*layers, torch.nn.Linear(100, 1))
            optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3)
            for first in range(0, len(x), batch):
                optimiser.zero_grad()
                loss(model(x[first : first + batch]), residuals[first : first + batch]).backward()
                optimiser.step()

        return work

    def squared(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.mse_loss(outputs[:, 0], targets)

    return Task(
        f"net, one epoch of 100 batches of {batch}, `exp`",
        epoch(width_loss),
        {"the same loop of PyTorch, mean squared error": Other(epoch(squared), 1.05)},
        repeats=5,
    )


def net_large_batches(sizes: Sizes) -> Task:
    return net(sizes, 1024)


def net_small_batches(sizes: Sizes) -> Task:
    return net(sizes, 16)


def mixture(sizes: Sizes) -> Task:
    rows = Rows(1000 if not sizes.quick else 200, 5, 1)

    def fitted(transform: str) -> Callable[[], Localizer]:
        def work() -> Localizer:
            localizer = Localizer(score_transform=transform, random_state=0, n_jobs=1)
            return localizer.fit(rows.X, rows.y, y_pred_cv=rows.f)

        return work

    return Task(
        "fit of `mixture`, 1,000 rows", fitted("mixture"), {"fit of `exp`": Other(fitted("exp"), 10)}, repeats=1
    )


MAKERS = [boosting_exp, boosting_affine, localizer_exp, localizer_affine, net_large_batches, net_small_batches, mixture]
