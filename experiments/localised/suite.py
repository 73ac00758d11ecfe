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
from ..runner import SplitJob
from . import rlcp

SPLITS = {"bike": 5, "facebook_1": 3}
QUICK_SPLITS = {"bike": 2}
BLOCK = 1000  # test rows that are weighted at a time

DEFAULT, EVEN, NARROW, HALF, CONSTANT = "evenness 0.85", "even", "narrow", "evenness 0.5", "constant width"
GOALS: dict[str, str | float] = {NARROW: "narrow", HALF: 0.5, DEFAULT: 0.85, EVEN: "even"}

# The scores on which localised calibration is tried.
BASES = (CONSTANT, NARROW, DEFAULT, EVEN)


class Variant(NamedTuple):
    """A key, a kernel and the effective sample size as a share of the calibration rows, one part in `parts`.

    Without a kernel, `parts` groups of equal size by the key are calibrated separately (Mondrian).
    """

    key: str
    parts: int
    kernel: rlcp.Kernel | None = "gaussian"

    def __str__(self) -> str:
        kind = {"gaussian": "", "box": ", box", None: ", groups"}[self.kernel]
        return f"{self.key}{kind} 1/{self.parts}"

    @property
    def bases(self) -> list[str]:
        """The scores to calibrate; one size suffices to see whether `even` gains."""
        if self.kernel is None:
            return [NARROW, DEFAULT]
        return [name for name in BASES if name != EVEN or self.parts == 5]


KEYS = ("difficulty", "prediction", "both")
LARGE_VARIANTS = [Variant(key, parts) for key in KEYS for parts in (5, 20)]
GROUPS = [Variant(key, 5, None) for key in ("difficulty", "prediction")]
VARIANTS = {
    "bike": [
        Variant("difficulty", 2),
        *LARGE_VARIANTS,
        Variant("features", 5),
        Variant("features", 20),
        Variant("difficulty", 5, "box"),
        *GROUPS,
    ],
    # Each measurement takes seconds, and distances between 53 columns are not informative.
    "facebook_1": [*LARGE_VARIANTS, *GROUPS, Variant("difficulty", 2)],
}


def jobs(quick: bool) -> list[SplitJob]:
    splits = QUICK_SPLITS if quick else SPLITS
    return [SplitJob(name, split) for name, count in splits.items() for split in range(count)]


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


def work(job: SplitJob) -> list[Record]:
    """Measure all methods on one split. All random choices depend only on the number of the split."""
    split = make_split(data.load(job.dataset), job.split)
    localizers = {name: fit_goal(split, goal) for name, goal in GOALS.items()}
    common = {"dataset": job.dataset, "split": job.split}
    return [{**common, **record} for record in measured(split, localizers, VARIANTS[job.dataset])]


def fit_goal(split: Split, goal: str | float) -> Localizer:
    localizer = Localizer(goal=goal, random_state=split.seed, n_jobs=1)
    return localizer.fit(split.X_fit, split.y_fit, y_pred_cv=split.oof)


def measured(split: Split, localizers: dict[str, Localizer], variants: list[Variant]) -> Iterator[Record]:
    bases = {CONSTANT: constant_base(split)} | {name: base_of(split, each) for name, each in localizers.items()}
    for name, base in bases.items():
        calibration = Calibration().add(base.scores)
        same = np.tile([calibration.quantile(level) for level in LEVELS], (len(split.y_test), 1))
        yield {"method": name, "base": name, "key": "none", **at_level(split, base.intervals(same))}
    keys = keys_of(split, localizers[DEFAULT])
    for number, variant in enumerate(variants):
        scores = [bases[name].scores for name in variant.bases]
        found, about = localised(keys[variant.key], variant, scores, (split.seed, number))
        for name, quantiles in zip(variant.bases, found, strict=True):
            record = at_level(split, bases[name].intervals(quantiles))
            label = {"method": f"{name}, {variant}", "base": name, "key": variant.key}
            yield {**label, "kernel": variant.kernel or "groups", "parts": variant.parts, **about, **record}


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
    """The quantiles of each list of scores, (test rows, levels); the bandwidth and the effective rows."""
    if variant.kernel is None:
        return grouped(key, variant.parts, scores)
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
    about = {"bandwidth": bandwidth, **about_rows(np.concatenate(effective))}
    return [np.concatenate(blocks) for blocks in found], about


def grouped(key: Key, parts: int, scores: list[Floats]) -> tuple[list[Floats], Record]:
    """The quantiles of each list of scores in the group of each test row; groups are equal parts of the fitting rows."""
    edges = np.quantile(key.fit[:, 0], np.arange(1, parts) / parts)
    cal, test = (np.searchsorted(edges, part[:, 0], side="right") for part in (key.cal, key.test))
    found = []
    for each in scores:
        calibrations = [Calibration().add(each[cal == group]) for group in range(parts)]
        found.append(np.array([[one.quantile(level) for level in LEVELS] for one in calibrations])[test])
    return found, about_rows(np.bincount(cal, minlength=parts)[test].astype(float))


def about_rows(effective: Floats) -> Record:
    low, middle = np.quantile(effective, [0.05, 0.5])
    return {"effective_rows": float(middle), "effective_rows_low": float(low)}
