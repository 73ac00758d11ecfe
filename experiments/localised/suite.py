"""The jobs: one job measures every goal, with and without localised calibration, on one split of a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from widthwise import Calibration, Localizer

from .. import data
from ..field.protocol import LEVELS, SLAB_LEVEL, Floats, Split, make_split, measure
from ..records import Record
from . import rlcp

SPLITS = {"bike": 10, "facebook_1": 3}
QUICK_SPLITS = {"bike": 2}
BLOCK = 1000  # test rows that are weighted at a time

DEFAULT, EVEN, NARROW, HALF, CONSTANT = "evenness 0.85", "even", "narrow", "evenness 0.5", "constant width"
GOALS: dict[str, str | float] = {NARROW: "narrow", HALF: 0.5, DEFAULT: 0.85, EVEN: "even"}

# The scores on which localised calibration is tried.
BASES = (CONSTANT, NARROW, DEFAULT, EVEN)


class Variant(NamedTuple):
    """A key, a kernel and the effective sample size as a share of the calibration rows, one part in `parts`."""

    key: str
    parts: int
    kernel: rlcp.Kernel = "gaussian"

    def __str__(self) -> str:
        return f"{self.key}{', box' if self.kernel == 'box' else ''} 1/{self.parts}"


KEYS = ("difficulty", "prediction", "both")
LARGE_VARIANTS = [Variant(key, parts) for key in KEYS for parts in (5, 20)]
VARIANTS = {
    "bike": [
        Variant("difficulty", 2),
        *LARGE_VARIANTS,
        Variant("features", 5),
        Variant("features", 20),
        Variant("difficulty", 5, "box"),
    ],
    # Each measurement takes seconds, and distances between 53 columns are not informative.
    "facebook_1": LARGE_VARIANTS,
}


class Job(NamedTuple):
    dataset: str
    split: int

    def __str__(self) -> str:
        return f"{self.dataset}, split {self.split}"


def jobs(quick: bool) -> list[Job]:
    splits = QUICK_SPLITS if quick else SPLITS
    return [Job(name, split) for name, count in splits.items() for split in range(count)]


@dataclass(frozen=True)
class Base:
    """Scores of the calibration rows, and the intervals of the test rows for scores of shape (rows, levels)."""

    scores: Floats
    intervals: Callable[[Floats], Floats]


class Key(NamedTuple):
    """The values that the kernel compares, (rows, columns), in units of their spread over the fitting rows."""

    fit: Floats
    cal: Floats
    test: Floats


def work(job: Job) -> list[Record]:
    """Measure all methods on one split. All random choices depend only on the number of the split."""
    split = make_split(data.load(job.dataset), job.split)
    localizers = {name: fit_goal(split, goal) for name, goal in GOALS.items()}
    common = {"dataset": job.dataset, "split": job.split}
    return [{**common, **record} for record in measured(split, localizers, VARIANTS[job.dataset])]


def fit_goal(split: Split, goal: str | float) -> Localizer:
    localizer = Localizer(goal=goal, random_state=split.seed, n_jobs=1, compare=False)
    return localizer.fit(split.X_fit, split.y_fit, y_pred_cv=split.oof)


def measured(split: Split, localizers: dict[str, Localizer], variants: list[Variant]) -> Iterator[Record]:
    bases = {CONSTANT: constant_base(split)} | {name: base_of(split, each) for name, each in localizers.items()}
    for name, base in bases.items():
        calibration = Calibration().add(base.scores)
        scores = np.array([calibration.quantile(level) for level in LEVELS])
        intervals = base.intervals(np.broadcast_to(scores, (len(split.y_test), len(LEVELS))))
        yield {"method": name, "base": name, "key": "none", **at_level(split, intervals)}
    keys = keys_of(split, localizers[DEFAULT])
    for number, variant in enumerate(variants):
        # One localised calibration of `even` per key suffices to see that the goal gains nothing.
        chosen = [name for name in BASES if name != EVEN or variant.parts == 5]
        found, about = localised(
            keys[variant.key], variant, [bases[name].scores for name in chosen], (split.seed, number)
        )
        for name, scores in zip(chosen, found, strict=True):
            record = at_level(split, bases[name].intervals(scores))
            label = {"method": f"{name}, {variant}", "base": name, "key": variant.key}
            yield {**label, "kernel": variant.kernel, "parts": variant.parts, **about, **record}


def at_level(split: Split, intervals: Floats) -> Record:
    return measure(split, intervals)[LEVELS.index(SLAB_LEVEL)]


def constant_base(split: Split) -> Base:
    middle = split.f_test[:, None]
    return Base(np.abs(split.y_cal - split.f_cal), lambda scores: np.stack([middle - scores, middle + scores], axis=1))


def base_of(split: Split, localizer: Localizer) -> Base:
    def intervals(scores: Floats) -> Floats:
        lower, upper = localizer.half_widths(split.X_test, split.f_test, scores)
        return np.stack([split.f_test[:, None] - lower, split.f_test[:, None] + upper], axis=1)

    return Base(localizer.scores(split.X_cal, split.y_cal, split.f_cal), intervals)


def keys_of(split: Split, localizer: Localizer) -> dict[str, Key]:
    """Keys that depend only on the fitting rows: the localizer's scale, the rank of the prediction, the features."""
    ordered = np.sort(split.oof)
    rows = ((split.X_fit, split.oof), (split.X_cal, split.f_cal), (split.X_test, split.f_test))
    difficulty = _standardised([np.log(localizer.difficulty(X, f))[:, None] for X, f in rows])
    prediction = _standardised([np.searchsorted(ordered, f, side="right")[:, None] / len(ordered) for _, f in rows])
    both = Key(*(np.hstack(pair) for pair in zip(difficulty, prediction, strict=True)))
    features = _standardised([X for X, _ in rows])
    return {"difficulty": difficulty, "prediction": prediction, "both": both, "features": features}


def _standardised(parts: list[Floats]) -> Key:
    middle, spread = parts[0].mean(axis=0), parts[0].std(axis=0)
    return Key(*((part - middle) / np.where(spread > 0, spread, 1) for part in parts))


def localised(key: Key, variant: Variant, scores: list[Floats], seed: tuple[int, int]) -> tuple[list[Floats], Record]:
    """The localised quantiles of each list of scores, (test rows, levels); the bandwidth and the effective rows."""
    random = np.random.default_rng(seed)
    bandwidth = rlcp.choose_bandwidth(key.fit, variant.kernel, 1 / variant.parts, random)
    centres = rlcp.draw_centres(key.test, variant.kernel, bandwidth, random)
    own = rlcp.own_weights(centres, key.test, variant.kernel, bandwidth)
    found: list[list[Floats]] = [[] for _ in scores]
    effective = []
    for start in range(0, len(centres), BLOCK):
        block = slice(start, start + BLOCK)
        weight = rlcp.weights(centres[block], key.cal, variant.kernel, bandwidth)
        effective.append(rlcp.effective_rows(weight))
        for blocks, each in zip(found, scores, strict=True):
            blocks.append(rlcp.quantiles(weight, own[block], each, LEVELS))
    rows = np.concatenate(effective)
    about = {
        "bandwidth": bandwidth,
        "effective_rows": float(np.median(rows)),
        "effective_rows_low": float(np.quantile(rows, 0.05)),
    }
    return [np.concatenate(blocks) for blocks in found], about
