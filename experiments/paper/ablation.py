"""Vary the paper's protocol: `python -m experiments.paper.ablation`.

Part one varies inputs, training and target on facebook_1 and casp, whose printed sizes the suite does not reproduce.
Part two repeats the error fit on facebook_1 with bounded inputs. Part three replaces the nearest neighbours with other
point predictions, which the paper leaves to future work.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from xgboost import XGBRegressor

from widthwise.torch import ErrorLoss

from .. import data
from ..records import Record, processor_seconds
from ..runner import main
from . import ablation_report, nets
from .ablation_report import ERROR_FIT, ERROR_FIT_CLIPPED, FACEBOOK, NET_ROWS, VARIED
from .authors import TEST_ROWS, squared_width_loss, width_loss
from .methods import METHODS, PAPER_NET_ROWS, Method, fit_localizer, seed_of
from .nets import Loss, Recipe
from .protocol import ALPHAS, Evaluation, FitModel, Fitted, Floats, Parts, Rows, nearest_neighbours, split

RUNS = 2
ERROR_FIT_RUNS = 5  # those of the suite

# Runs of each data set with other point predictions.
MODEL_RUNS = {"energy": 2, "concrete": 2, "homes": 1, "casp": 1, "facebook_1": 1}

MODELS: dict[str, FitModel] = {
    "nearest neighbours": nearest_neighbours,
    "linear": lambda X, y: Ridge().fit(X, y),
    "forest": lambda X, y: RandomForestRegressor(min_samples_leaf=3, random_state=0, n_jobs=1).fit(X, y),
    "XGBoost": lambda X, y: XGBRegressor(
        n_estimators=200, learning_rate=0.05, max_depth=4, subsample=0.7, random_state=0, n_jobs=1
    ).fit(X, y),
}


def _exp(rows: Rows, seed: int) -> Fitted:
    """The row exp of the suite, on fewer rows."""
    return fit_localizer(rows.first(NET_ROWS), "exp", "paper-net", seed)


MODEL_METHODS: dict[str, Method] = {"fixed": METHODS["fixed"], "exp": _exp, "affine, trees": METHODS["affine, trees"]}


def _net(recipe: Recipe, rows: int = NET_ROWS, loss: Loss = width_loss) -> Method:
    return lambda part, seed: nets.fit(part.first(rows), loss, "exp", seed, recipe)


def _unchanged(y: Floats) -> Floats:
    return y


# The recipe of the suite, whose nets clip inputs at ten standard deviations.
CLIPPED = Recipe(bound=10)


def _error_fit_clipped(rows: Rows, seed: int) -> Fitted:
    """The row erc (error fit) of the suite, with scaled inputs clipped as those of the other rows are."""
    return nets.fit(rows.first(PAPER_NET_ROWS), ErrorLoss(), "erc", seed, Recipe(start=1, bound=CLIPPED.bound))


# By title, with the rows and the seeds of the suite.
ERROR_FITS: dict[str, Method] = {ERROR_FIT: METHODS[ERROR_FIT], ERROR_FIT_CLIPPED: _error_fit_clipped}


class Variant(NamedTuple):
    """A method, and what is done to the outcomes before all else."""

    method: Method
    target: Callable[[Floats], Floats] = _unchanged


# By title: the row exp of the suite; a loop with the same recipe, but with PyTorch's initial weights and the paper's loss
# instead of its log; and changes of that loop.
VARIANTS: dict[str, Variant] = {
    "exp as in the suite": Variant(_exp),
    "PyTorch's initial weights": Variant(_net(CLIPPED, loss=lambda g, residuals: width_loss(g, residuals).log())),
    "PyTorch's initial weights, no log": Variant(_net(CLIPPED)),
    "without f(x) as input": Variant(_net(CLIPPED._replace(prediction=False))),
    "at most 5 epochs": Variant(_net(CLIPPED._replace(epochs=5))),
    "at most 240 epochs": Variant(_net(CLIPPED._replace(epochs=240))),
    "inputs not clipped": Variant(_net(Recipe())),
    "inputs scaled to [0, 1]": Variant(_net(Recipe(scaling="range"))),
    "inputs scaled by the protocol only": Variant(_net(Recipe(scaling="none"))),
    "target log(1 + y)": Variant(_net(CLIPPED), np.log1p),
    "200 rows": Variant(_net(CLIPPED, 200)),
    "no root in the loss": Variant(_net(CLIPPED, loss=squared_width_loss)),
    "g(x) / g(0)": Variant(_net(CLIPPED._replace(normalised=True))),
    "without f(x), inputs not clipped": Variant(_net(Recipe(prediction=False))),
    "without f(x), inputs not clipped, no root, g(x) / g(0)": Variant(
        _net(Recipe(prediction=False, normalised=True), loss=squared_width_loss)
    ),
}


class Job(NamedTuple):
    part: str  # "variant", "error fit" or "model"
    name: str
    dataset: str
    run: int

    def __str__(self) -> str:
        return f"{self.part} {self.name} {self.dataset}, run {self.run}"


def jobs(quick: bool) -> list[Job]:
    """All jobs; the quick form has two variants and the smallest set."""
    variants, model_runs, runs = (list(VARIANTS)[:2], {"energy": 1}, 1) if quick else (list(VARIANTS), MODEL_RUNS, RUNS)
    varied = VARIED[:1] if quick else VARIED
    return [
        *(Job("variant", name, dataset, run) for dataset in varied for run in range(runs) for name in variants),
        *(
            Job("error fit", name, FACEBOOK, run)
            for run in range(0 if quick else ERROR_FIT_RUNS)
            for name in ERROR_FITS
        ),
        *(
            Job("model", name, dataset, run)
            for run in range(max(model_runs.values()))
            for dataset, count in model_runs.items()
            if run < count
            for name in MODELS
        ),
    ]


def work(job: Job) -> list[Record]:
    """Run a job. All random choices depend only on its data set and run."""
    loaded = data.load(job.dataset)
    if job.part == "variant":
        variant = VARIANTS[job.name]
        parts = split(loaded.X, variant.target(loaded.y), job.run)
        methods = {"fixed": METHODS["fixed"], "exp": variant.method}
    elif job.part == "error fit":
        parts = split(loaded.X, loaded.y, job.run)
        methods = {"fixed": METHODS["fixed"], ERROR_FIT: ERROR_FITS[job.name]}
    else:
        parts = split(loaded.X, loaded.y, job.run, MODELS[job.name])
        methods = MODEL_METHODS
    return list(measured(job, parts, methods))


def measured(job: Job, parts: Parts, methods: dict[str, Method]) -> Iterator[Record]:
    """The records of each method for all alphas, and the share of the variance that the point prediction explains."""
    test = parts.test
    explained = 1 - float(np.mean((test.y - test.f) ** 2) / test.y.var())
    for name, fit in methods.items():
        start = processor_seconds()
        fitted = fit(parts.localizer, seed_of(name, job.run) if job.part == "error fit" else job.run)
        evaluation, few = Evaluation(fitted, test), Evaluation(fitted, test.first(TEST_ROWS))
        seconds = round(processor_seconds() - start, 2)
        common: dict[str, Any] = {"part": job.part, "name": job.name, "dataset": job.dataset, "method": name}
        for alpha in ALPHAS:
            size, coverage = evaluation.leave_one_out(alpha)
            yield {
                **common,
                "alpha": float(alpha),
                "run": job.run,
                "width": size,
                "width_of_few": few.leave_one_out(alpha).size,
                "coverage": coverage,
                "explained": explained,
                "seconds": seconds,
            }


if __name__ == "__main__":
    sys.exit(main("paper.ablation", jobs, work, ablation_report.write, __doc__))
