"""All variants of widthwise in the comparison: goals, transforms, sides, levels; trees, nets and their average."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from widthwise import Calibration, Localizer, Predictor

from ..averaging import MeanLocalizer
from ..records import processor_seconds
from .protocol import LEVELS, Floats, Split

# The goals drawn as our frontier, from the widest and most even to the narrowest.
FRONTIER = ("even", "evenness 0.85", "evenness 0.5", "narrow")

# The goal to which the targets of width apply, the most even one, and the default.
NARROW, EVEN, DEFAULT = "narrow", "even", "evenness 0.85"
SHORTEST = "even, shortest"


# Only the goals; also the shortest intervals; also all variants of trees; also nets.
Variants = Literal["goals", "shortest", "trees", "all"]


def methods(split: Split, variants: Variants) -> Iterator[tuple[str, Floats, float]]:
    """Yield the name, the intervals (rows, 2, levels) and the seconds to fit of every variant."""

    def trained(**options: Any) -> tuple[Localizer, float]:
        start = processor_seconds()
        localizer = Localizer(random_state=split.seed, n_jobs=1, **options)
        localizer.fit(split.X_fit, split.y_fit, y_pred_cv=split.oof)
        return localizer, processor_seconds() - start

    narrow, seconds = trained(goal="narrow")
    intervals = intervals_of(split, narrow)
    yield NARROW, intervals, seconds
    for name, goal in {"even": "even", "evenness 0.85": 0.85, "evenness 0.5": 0.5}.items():
        localizer, took = trained(goal=goal)
        yield name, intervals_of(split, localizer), took
    if variants == "goals":
        return
    localizer, took = trained(goal="even", score_transform="shortest")
    yield SHORTEST, intervals_of(split, localizer), took
    if variants == "shortest":
        return

    # The default chose one side or two; skip the variant that equals it.
    sides = {False: "narrow, symmetric", True: "narrow, two-sided"}
    yield sides[narrow.two_sided], intervals, seconds
    other, seconds_of_other = trained(goal="narrow", two_sided=not narrow.two_sided)
    yield sides[other.two_sided], intervals_of(split, other), seconds_of_other

    for name, options in {
        "narrow, all levels": {"goal": "narrow", "level_window": "all", "two_sided": narrow.two_sided},
        "density": {"score_transform": "density", "goal": "narrow", "two_sided": narrow.two_sided},
        "evenness 0.85, two-sided": {"goal": 0.85, "two_sided": True},
    }.items():
        localizer, took = trained(**options)
        yield name, intervals_of(split, localizer), took
    if variants == "trees":
        return

    net, seconds_of_net = trained(goal="narrow", two_sided=narrow.two_sided, localizer="net")
    yield "narrow, net", intervals_of(split, net), seconds_of_net
    yield "narrow, trees and net", averaged_intervals(split, narrow, net), seconds + seconds_of_net


def intervals_of(split: Split, localizer: Localizer) -> Floats:
    calibration = localizer.calibrate(split.X_cal, split.y_cal, split.f_cal)
    return Predictor(localizer, calibration).predict_interval(split.X_test, split.f_test, confidence_level=LEVELS)[1]


def averaged_intervals(split: Split, *localizers: Localizer) -> Floats:
    """Intervals of the mean of localizers for the goal narrow."""
    mean = MeanLocalizer(list(localizers), split.X_fit, split.y_fit, split.oof)
    calibration = Calibration().add(mean.scores(split.X_cal, split.y_cal, split.f_cal))
    quantiles = np.array([calibration.quantile(level) for level in LEVELS])
    lower, upper = mean.half_widths(split.X_test, split.f_test, quantiles)
    return np.stack([split.f_test[:, None] - lower, split.f_test[:, None] + upper], axis=1)
