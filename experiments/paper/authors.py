"""Differences between the authors' code and their paper, each measured separately in both versions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch

from ..records import Record
from . import nets
from .methods import Localized
from .protocol import ALPHAS, Evaluation, Floats, Parts, kth_of_the_others, rank

# A hundred test rows without the last, incomplete batch of 16.
TEST_ROWS = 96


def width_loss(g: torch.Tensor, residuals: torch.Tensor) -> torch.Tensor:
    """The paper's l_all for phi = A e^g: the mean over all pairs of sqrt(phi_m^-1(phi_n(A_n)))."""
    return torch.exp(-g / 2).mean() * (residuals * torch.exp(g[:, 0] / 2)).mean()


def squared_width_loss(g: torch.Tensor, residuals: torch.Tensor) -> torch.Tensor:
    """The loss of the code: the same without the root, which is the mean of squared half-widths."""
    return torch.exp(-g).mean() * (residuals**2 * torch.exp(g[:, 0])).mean()


def error_loss(g: torch.Tensor, residuals: torch.Tensor) -> torch.Tensor:
    """The paper's error fit: g is fitted to the squared error, but the error is divided by g^2. The code fits g^2."""
    return ((g[:, 0] - residuals**2) ** 2).mean()


def code_rank(rows: int, alpha: str) -> int:
    """The rank in the code, which counts from 0 and omits the test row, so that it is often too low by one."""
    return math.floor(rows * (1 - float(alpha))) + 1


def one_width(residuals: Floats, k: int) -> tuple[float, float]:
    """Mean size and coverage of `fixed` if each row uses the k-th smallest residual of the others."""
    pair, is_next = kth_of_the_others(residuals, k)
    mine = np.where(is_next, pair[1], pair[0])
    return float(mine.mean()), float((residuals <= mine).mean())


def trained(dataset: str, run: int, parts: Parts) -> Iterator[Record]:
    """Differences in training: the paper's network with the loss of the paper and with that of the code."""
    rows = parts.localizer
    normalised, from_one = nets.Recipe(normalised=True), nets.Recipe(start=1)
    as_written = nets.fit(rows, width_loss, "exp", run)
    for difference, paper, code in (
        ("root", as_written, nets.fit(rows, squared_width_loss, "exp", run)),
        ("g(0)", as_written, nets.fit(rows, width_loss, "exp", run, normalised)),
        ("error fit", nets.fit(rows, error_loss, "erc", run, from_one), Localized(nets.fit_errors(rows, run))),
    ):
        for version, fitted in (("paper", paper), ("code", code)):
            evaluation = Evaluation(fitted, parts.test)
            for alpha in ALPHAS:
                yield _record(difference, dataset, version, alpha, run, *evaluation.leave_one_out(alpha))


def tested(dataset: str, run: int, parts: Parts) -> Iterator[Record]:
    """Differences in measurement: the rank and the number of test rows, with constant width."""
    all_rows = parts.test.residuals
    few = all_rows[:TEST_ROWS]
    others = len(few) - 1
    for alpha in ALPHAS:
        for difference, version, residuals, k in (
            ("rank", "paper", few, rank(others, alpha)),
            ("rank", "code", few, code_rank(others, alpha)),
            ("test rows", "paper", all_rows, rank(len(all_rows) - 1, alpha)),
            ("test rows", "code", few, rank(others, alpha)),
        ):
            yield _record(difference, dataset, version, alpha, run, *one_width(residuals, k))


def _record(difference: str, dataset: str, version: str, alpha: str, run: int, size: float, coverage: float) -> Record:
    return {
        "kind": "difference",
        "difference": difference,
        "dataset": dataset,
        "method": version,
        "alpha": float(alpha),
        "run": run,
        "width": size,
        "coverage": coverage,
    }
