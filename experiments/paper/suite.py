"""The jobs of the paper's experiments: one job is a run of a data set and returns records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .. import data
from ..records import Record, processor_seconds
from . import authors, synthetic
from .methods import MEAN, MEAN_OF, METHODS, QUICK, mean_of, seed_of
from .protocol import ALPHAS, Evaluation, Fitted, Parts, split

DATASETS = ("energy", "concrete", "homes", "casp", "facebook_1")  # as in the paper's table
RUNS = 5
DIFFERENCES_ON = ("energy", "concrete")  # small data sets: each training takes seconds
SYNTHETIC_METHODS = ("fixed", "erc (error fit)", "exp", "affine, trees")
SYNTHETIC_ALPHA = "0.05"
CODE_RANGE = (-1.0, 3.0)  # the range of x in the authors' code


class Job(NamedTuple):
    kind: str
    dataset: str
    run: int
    quick: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.dataset}, run {self.run}"


def jobs(quick: bool) -> list[Job]:
    """All jobs, longest first, so that no processor idles at the end."""
    datasets, differences_on, runs = (
        (DATASETS[:2], DIFFERENCES_ON[:1], 2) if quick else (DATASETS, DIFFERENCES_ON, RUNS)
    )
    return [
        *(Job("table", name, run, quick) for name in reversed(datasets) for run in range(runs)),
        *(Job("differences", name, run, quick) for name in differences_on for run in range(runs)),
        *(Job("synthetic", name, run, quick) for name in synthetic.NOISE for run in range(1 if quick else runs)),
    ]


def work(job: Job) -> list[Record]:
    """Run a job. All random choices depend only on its data set and run."""
    methods = [name for name in METHODS if not job.quick or name in QUICK]
    if job.kind == "table":
        return list(table(job.dataset, job.run, methods))
    if job.kind == "differences":
        return list(differences(job.dataset, job.run))
    return list(synthetic_set(job.dataset, job.run, [name for name in methods if name in SYNTHETIC_METHODS]))


def table(dataset: str, run: int, methods: list[str]) -> Iterator[Record]:
    """A run of the paper's table: every method on the same rows."""
    loaded = data.load(dataset)
    parts = split(loaded.X, loaded.y, run)
    fitted: dict[str, Fitted] = {}
    for name in methods:
        start = processor_seconds()
        fitted[name] = METHODS[name](parts.localizer, seed_of(name, run))
        yield from cells(dataset, run, name, fitted[name], parts, start)
    if set(MEAN_OF) <= set(methods):
        start = processor_seconds()
        fitted[MEAN] = mean_of([fitted[name] for name in MEAN_OF], parts.localizer)
        yield from cells(dataset, run, MEAN, fitted[MEAN], parts, start)
    yield from authors.tested(dataset, run, parts)


def cells(dataset: str, run: int, name: str, fitted: Fitted, parts: Parts, start: float) -> Iterator[Record]:
    """The records of a method for all alphas."""
    evaluation = Evaluation(fitted, parts.test)
    seconds = processor_seconds() - start
    for alpha in ALPHAS:
        measured = evaluation.leave_one_out(alpha)
        yield {
            "dataset": dataset,
            "method": name,
            "alpha": float(alpha),
            "run": run,
            "width": measured.size,
            "coverage": measured.coverage,
            "worst_slab": evaluation.worst_slab(alpha),
            "coverage_of_halves": evaluation.coverage_of_halves(alpha),
            "test_rows": len(parts.test.y),
            "neighbours": parts.model.n_neighbors,
            "seconds": round(seconds, 2),
        }


def differences(dataset: str, run: int) -> Iterator[Record]:
    """The differences of the authors' code that affect training."""
    loaded = data.load(dataset)
    yield from authors.trained(dataset, run, split(loaded.X, loaded.y, run))


def synthetic_set(noise: str, run: int, methods: list[str]) -> Iterator[Record]:
    """A synthetic set as in the paper's text, with a picture of the first run, and as in the authors' code."""
    for version, bounds, names in (("paper", (-1, 1), methods), ("code", CODE_RANGE, ["fixed", "affine, trees"])):
        sample = synthetic.generate(noise, run, *bounds)
        parts = split(sample.X, sample.y, run)
        test, x = parts.test, sample.x[parts.test_rows]
        order = np.argsort(x)
        picture: Record = {
            "kind": "picture",
            "dataset": noise,
            "x": x[order],
            "y": test.y[order],
            "prediction": test.f[order],
            # Outcomes were divided by a number, so the noise is divided by it as well.
            "noise": (synthetic.NOISE[noise](x) * test.y / sample.y[parts.test_rows])[order],
        }
        for name in names:
            start = processor_seconds()
            fitted = METHODS[name](parts.localizer, seed_of(name, run))
            sizes = Evaluation(fitted, test).half_widths(SYNTHETIC_ALPHA)
            seconds = processor_seconds() - start
            picture[name] = sizes[order]
            yield {
                "kind": "synthetic",
                "dataset": noise,
                "version": version,
                "method": name,
                "alpha": float(SYNTHETIC_ALPHA),
                "run": run,
                "width": sizes.mean(),
                "coverage": (test.residuals <= sizes).mean(),
                "seconds": round(seconds, 2),
            }
        if run == 0 and version == "paper":
            yield {
                key: np.round(value, 4) if isinstance(value, np.ndarray) else value for key, value in picture.items()
            }
