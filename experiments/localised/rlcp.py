"""Randomly localised conformal prediction [Hore and Barber 2023, "Conformal prediction with local weights"].

Each new row draws a centre z from the kernel around its key. Calibration rows are weighted with the kernel between their
key and z, and the weight of the new row is at an infinite score. If keys, kernel and bandwidth do not depend on the
calibration rows, marginal coverage is at least the level: given z, the rows are exchangeable up to these weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Kernel = Literal["gaussian", "box"]

ROUNDING = 1e-12  # relative error allowed when sums of weights are compared with a level
SEARCH_ROWS, SEARCH_CENTRES, SEARCH_STEPS = 2000, 200, 30


def draw_centres(keys: Floats, kernel: Kernel, bandwidth: float, random: np.random.Generator) -> Floats:
    """Draw one centre per row from the kernel around its key; keys are (rows, columns)."""
    noise = random.normal(size=keys.shape) if kernel == "gaussian" else random.uniform(-1, 1, keys.shape)
    return keys + bandwidth * noise


def weights(centres: Floats, keys: Floats, kernel: Kernel, bandwidth: float) -> Floats:
    """The kernel between centres (m, columns) and keys (n, columns), as (m, n), up to one factor."""
    distances = np.zeros((len(centres), len(keys)))
    for centre, key in zip(centres.T, keys.T, strict=True):
        apart = (centre[:, None] - key) / bandwidth
        if kernel == "gaussian":
            distances += apart**2
        else:
            np.maximum(distances, np.abs(apart), out=distances)
    found: Floats = np.exp(-distances / 2) if kernel == "gaussian" else (distances <= 1).astype(float)
    return found


def own_weights(centres: Floats, keys: Floats, kernel: Kernel, bandwidth: float) -> Floats:
    """The kernel between each new row's centre and its own key."""
    if kernel == "box":
        return np.ones(len(keys))
    found: Floats = np.exp(-(((centres - keys) / bandwidth) ** 2).sum(axis=1) / 2)
    return found


def effective_rows(weight: Floats) -> Floats:
    """The effective sample size of each row of weights, (sum w)^2 / sum w^2; 0 if all weights are 0."""
    squares = (weight**2).sum(axis=1)
    found: Floats = np.divide(weight.sum(axis=1) ** 2, squares, out=np.zeros(len(weight)), where=squares > 0)
    return found


def quantiles(weight: Floats, own: Floats, scores: Floats, levels: Sequence[float]) -> Floats:
    """The smallest score whose weighted share of rows at or below it is at least the level, as (m, levels).

    The share includes the new row, at infinity; the quantile is infinite if the calibration rows do not suffice.
    """
    order = np.argsort(scores)
    sums = np.cumsum(weight[:, order], axis=1)
    total = sums[:, -1] + own
    ascending = np.append(scores[order], np.inf)
    needed = np.multiply.outer(total * (1 - ROUNDING), np.asarray(levels))
    return np.stack([ascending[(sums < column[:, None]).sum(axis=1)] for column in needed.T], axis=1)


def choose_bandwidth(keys: Floats, kernel: Kernel, share: float, random: np.random.Generator) -> float:
    """The bandwidth whose median effective sample size is this share of the rows, found on fitting rows by bisection."""
    rows = keys[random.permutation(len(keys))[:SEARCH_ROWS]]
    seed = int(random.integers(2**32))
    low, high = 1e-3, 1e3
    for _ in range(SEARCH_STEPS):
        middle = float(np.sqrt(low * high))
        centres = draw_centres(rows[:SEARCH_CENTRES], kernel, middle, np.random.default_rng(seed))
        found = np.median(effective_rows(weights(centres, rows, kernel, middle)))
        low, high = (middle, high) if found < share * len(rows) else (low, middle)
    return high
