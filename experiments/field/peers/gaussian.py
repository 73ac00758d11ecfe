"""Models of a mean and a scale, by the Gaussian likelihood, with the score |y - mean| / scale."""

from __future__ import annotations

import copy
import math

import numpy as np
import torch
from catboost import CatBoostRegressor
from ngboost import NGBRegressor
from ngboost.distns import Normal
from sklearn.preprocessing import StandardScaler

from ..protocol import Floats, Split
from .scores import scaled_intervals

NET_STEPS = 2500
NET_EPOCHS = 200
NET_PATIENCE = 20


def gaussian_net(split: Split) -> Floats:
    """A net for mean and log-sigma with the Gaussian likelihood, calibrated with the score |y - mean| / sigma.

    It has two hidden layers of 64 and trains with Adam. A tenth of the fitting rows selects the best of at most 2500
    steps by likelihood.
    """
    torch.manual_seed(split.seed)
    scaler = StandardScaler().fit(split.X_fit)
    centre, unit = split.y_fit.mean(), split.y_fit.std()

    def inputs(X: Floats) -> torch.Tensor:
        # Far outside the training data, a net returns arbitrary values of sigma; clip at five standard deviations.
        return torch.tensor(np.clip(scaler.transform(X), -5, 5), dtype=torch.float32)

    x, y = inputs(split.X_fit), torch.tensor((split.y_fit - centre) / unit, dtype=torch.float32)
    order = torch.randperm(len(x))
    held_out, rows = order[: len(order) // 10], order[len(order) // 10 :]
    net = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 2),
    )

    def loss(rows: torch.Tensor) -> torch.Tensor:
        mean, log_sigma = net(x[rows]).unbind(1)
        return (log_sigma + 0.5 * ((y[rows] - mean) / log_sigma.exp()) ** 2).mean()

    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3, weight_decay=1e-5, fused=True)
    best, best_state, waited = math.inf, net.state_dict(), 0
    for _ in range(min(NET_EPOCHS, 1 + NET_STEPS * 256 // len(rows))):
        for batch in rows[torch.randperm(len(rows))].split(256):
            optimizer.zero_grad()
            loss(batch).backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        with torch.no_grad():
            now = loss(held_out).item()
        waited += 1
        if now < best:
            best, best_state, waited = now, copy.deepcopy(net.state_dict()), 0
        if waited == NET_PATIENCE:
            break
    net.load_state_dict(best_state)

    def predict(X: Floats) -> tuple[Floats, Floats]:
        with torch.no_grad():
            mean, log_sigma = net(inputs(X)).double().unbind(1)
        return mean.numpy() * unit + centre, log_sigma.exp().numpy() * unit

    return scaled_intervals(split, predict(split.X_cal), predict(split.X_test))


def catboost_uncertainty(split: Split) -> Floats:
    """CatBoost's loss RMSEWithUncertainty with the default settings: a mean and a variance."""
    model = CatBoostRegressor(
        loss_function="RMSEWithUncertainty",
        thread_count=1,
        random_seed=split.seed,
        verbose=False,
        allow_writing_files=False,
    )
    model.fit(split.X_fit, split.y_fit)

    def predict(X: Floats) -> tuple[Floats, Floats]:
        mean, variance = model.predict(X, prediction_type="RMSEWithUncertainty").T
        return mean, np.sqrt(variance)

    return scaled_intervals(split, predict(split.X_cal), predict(split.X_test))


def ngboost_normal(split: Split) -> Floats:
    """NGBoost's normal distribution with the default settings (500 trees of depth 3 per parameter)."""
    model = NGBRegressor(Dist=Normal, verbose=False, random_state=split.seed).fit(split.X_fit, split.y_fit)

    def predict(X: Floats) -> tuple[Floats, Floats]:
        distribution = model.pred_dist(X)
        return distribution.params["loc"], distribution.params["scale"]

    return scaled_intervals(split, predict(split.X_cal), predict(split.X_test))
