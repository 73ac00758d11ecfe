"""The paper's four synthetic sets: a random parabola, with noise whose size depends on x."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .protocol import Floats

RHO = 0.1
SAMPLES = 1000

# The standard deviation of the noise at x.
NOISE: dict[str, Callable[[Floats], Floats]] = {
    "cos": lambda x: RHO + 2 * np.cos(math.pi / 2 * np.abs(x)) * (np.abs(x) < 0.5),
    "squared": lambda x: RHO + 2 * x**2 * (np.abs(x) > 0.5),
    "inverse": lambda x: RHO + 2 / (RHO + np.abs(x)) * (np.abs(x) > 0.5),
    "linear": lambda x: RHO + (2 - np.abs(x)) * (np.abs(x) < 0.5),
}


class Sample(NamedTuple):
    x: Floats  # (n,)
    X: Floats  # (n, 3): 1, x, x^2, before they are normalised
    y: Floats
    truth: Floats  # the parabola


def generate(noise: str, run: int, low: float = -1, high: float = 1) -> Sample:
    """Draw x uniformly and y around a parabola with normal coefficients; deterministic for each run."""
    random = np.random.default_rng([run, zlib.crc32(noise.encode())])
    weights = random.normal(size=3)
    x = low + (high - low) * random.uniform(size=SAMPLES)
    X = np.column_stack([np.ones_like(x), x, x**2])
    truth = X @ weights
    return Sample(x, X, truth + NOISE[noise](x) * random.normal(size=SAMPLES), truth)
