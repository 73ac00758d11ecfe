"""The peers: methods of other libraries and papers on the same rows, each used as its documentation recommends.

Every peer gets a `Split` and returns intervals for the test rows at all `LEVELS`, in the format of MAPIE and widthwise:
an array (rows, 2, levels) of lower and upper bounds. The fitting rows fit, exactly the calibration rows calibrate, and
the test rows are only predicted. Peers that model the size of the base model's errors are trained on out-of-fold
errors, as widthwise is. Intervals are not clipped here. With too few calibration rows they are infinite if the peer
returns infinite ones.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import xgboost
from crepes import ConformalRegressor
from crepes.extras import DifficultyEstimator, MondrianCategorizer
from deel.puncc.api.prediction import MeanVarPredictor
from deel.puncc.regression import LocallyAdaptiveCP
from joblib import parallel_config
from lightgbm import LGBMRegressor
from mapie.conformity_scores import ResidualNormalisedScore
from mapie.regression import ConformalizedQuantileRegressor, SplitConformalRegressor
from numpy.typing import NDArray
from quantile_forest import RandomForestQuantileRegressor
from scipy.stats import beta
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler

from widthwise import Calibration

from .protocol import LEVELS, Split

Floats = NDArray[np.float64]

# The lower and the upper quantile of the central interval of each level: 0.16, 0.84, 0.05, 0.95, ...
QUANTILES = [round(side, 10) for level in LEVELS for side in ((1 - level) / 2, (1 + level) / 2)]


def mapie_absolute(split: Split) -> Floats:
    """MAPIE's split conformal regressor around the fitted base model: constant width."""
    mapie = SplitConformalRegressor(split.base, LEVELS, conformity_score="absolute", prefit=True)
    mapie.conformalize(split.X_cal, split.y_cal)
    return mapie.predict_interval(split.X_test)[1]


def mapie_residual(split: Split) -> Floats:
    """MAPIE's residual-normalised score. Its residual model is fitted beforehand, on the log of out-of-fold errors.

    MAPIE would fit it on a quarter of the calibration rows. Errors are clipped from below at a thousandth of their
    mean, because the log would exaggerate smaller ones.
    """
    residual_model = TransformedTargetRegressor(
        HistGradientBoostingRegressor(random_state=split.seed), func=np.log, inverse_func=np.exp, check_inverse=False
    )
    errors = np.abs(split.y_fit - split.oof)
    residual_model.fit(split.X_fit, np.maximum(errors, 1e-3 * errors.mean()))
    score = ResidualNormalisedScore(residual_estimator=residual_model, prefit=True)
    mapie = SplitConformalRegressor(split.base, LEVELS, conformity_score=score, prefit=True)
    mapie.conformalize(split.X_cal, split.y_cal)
    return mapie.predict_interval(split.X_test)[1]


def mapie_cqr(split: Split) -> Floats:
    """MAPIE's conformalized quantile regressor with LightGBM, as in its examples, with separately corrected sides."""

    def fitted(quantile: float) -> LGBMRegressor:
        model = LGBMRegressor(objective="quantile", alpha=quantile, n_jobs=1, verbose=-1, random_state=split.seed)
        return model.fit(split.X_fit, split.y_fit)

    median = fitted(0.5)
    intervals = []
    for level in LEVELS:
        models = [fitted((1 - level) / 2), fitted((1 + level) / 2), median]
        mapie = ConformalizedQuantileRegressor(models, confidence_level=level, prefit=True)
        mapie.conformalize(split.X_cal, split.y_cal)
        intervals.append(mapie.predict_interval(split.X_test)[1])
    return np.concatenate(intervals, axis=2)


def error_model(split: Split) -> HistGradientBoostingRegressor:
    """A model of absolute errors, fitted on out-of-fold errors; the Poisson loss keeps them positive."""
    model = HistGradientBoostingRegressor(loss="poisson", random_state=split.seed)
    return model.fit(split.X_fit, np.abs(split.y_fit - split.oof))


def crepes_intervals(split: Split, difficulty: DifficultyEstimator, bins: MondrianCategorizer | None = None) -> Floats:
    """Calibrate crepes with normalisation by difficulty, or with bins of difficulty."""

    def about(X: Floats) -> dict[str, Floats]:
        return {"bins": bins.apply(X)} if bins else {"sigmas": difficulty.apply(X)}

    regressor = ConformalRegressor().fit(split.y_cal - split.f_cal, **about(split.X_cal))
    told = about(split.X_test)
    return np.stack([regressor.predict_int(split.f_test, confidence=level, **told) for level in LEVELS], axis=2)


def crepes_neighbours(split: Split) -> Floats:
    """crepes with its defaults: normalised by the mean out-of-fold error of the 25 nearest fitting rows."""
    with parallel_config(backend="sequential"):  # crepes uses all cores by default
        difficulty = DifficultyEstimator().fit(split.X_fit, residuals=split.y_fit - split.oof)
        return crepes_intervals(split, difficulty)


def crepes_residual(split: Split) -> Floats:
    """crepes, normalised by a model of out-of-fold errors, scaled as in its documentation."""
    difficulty = DifficultyEstimator().fit(split.X_fit, f=error_model(split).predict, scaler=True)
    return crepes_intervals(split, difficulty)


def crepes_mondrian(split: Split) -> Floats:
    """crepes with constant width in each of ten difficulty bins, made from the calibration rows as documented.

    There are fewer bins if they would hold less than 50 rows.
    """
    np.random.seed(split.seed)  # crepes breaks ties with it
    difficulty = DifficultyEstimator().fit(split.X_fit, f=error_model(split).predict, scaler=True)
    number = max(1, min(10, len(split.y_cal) // 50))
    return crepes_intervals(split, difficulty, MondrianCategorizer().fit(split.X_cal, de=difficulty, no_bins=number))


def puncc_adaptive(split: Split) -> Floats:
    """puncc's locally adaptive conformal prediction around the base model and a model of its out-of-fold errors.

    Both models are fitted before: puncc would fit the second to in-sample errors of the first.
    """
    predictor = MeanVarPredictor([split.base, error_model(split)], is_trained=[True, True])
    puncc = LocallyAdaptiveCP(predictor, train=False)
    puncc.fit(X_calib=split.X_cal, y_calib=split.y_cal)
    bounds = [puncc.predict(split.X_test, alpha=round(1 - level, 10))[1:] for level in LEVELS]
    return np.stack([np.stack(pair, axis=1) for pair in bounds], axis=2)


def conformalized_quantiles(cal: Floats, y_cal: Floats, test: Floats) -> Floats:
    """Correct quantiles (rows, 2 levels) with the score of conformalized quantile regression, level by level."""
    intervals = []
    for j, level in enumerate(LEVELS):
        lower, upper = cal[:, 2 * j], cal[:, 2 * j + 1]
        correction = Calibration().add(np.maximum(lower - y_cal, y_cal - upper)).quantile(level)
        intervals.append(np.stack([test[:, 2 * j] - correction, test[:, 2 * j + 1] + correction], axis=1))
    return np.stack(intervals, axis=2)


def quantile_forest_cqr(split: Split) -> Floats:
    """A quantile forest of the package quantile-forest, conformalized as in its documentation.

    It uses the defaults, except for leaves of at least two rows and, to save time, 50 trees of at most 5000 rows each.
    """
    forest = RandomForestQuantileRegressor(
        n_estimators=50, min_samples_leaf=2, max_samples=min(len(split.y_fit), 5000), n_jobs=1, random_state=split.seed
    )
    forest.fit(split.X_fit, split.y_fit)
    cal, test = (forest.predict(X, quantiles=QUANTILES) for X in (split.X_cal, split.X_test))
    return conformalized_quantiles(cal, split.y_cal, test)


def xgboost_cqr(split: Split) -> Floats:
    """XGBoost's quantile regression at all six quantiles jointly, with the score of Romano et al. (2019)."""
    model = xgboost.XGBRegressor(
        objective="reg:quantileerror",
        quantile_alpha=QUANTILES,
        n_estimators=100,
        learning_rate=0.2,
        max_depth=8,
        max_bin=64,
        min_child_weight=5,
        n_jobs=1,
        random_state=split.seed,
    )
    model.fit(split.X_fit, split.y_fit)
    cal, test = (model.predict(X).astype(float) for X in (split.X_cal, split.X_test))
    return conformalized_quantiles(cal, split.y_cal, test)


def scaled_intervals(split: Split, cal: tuple[Floats, Floats], test: tuple[Floats, Floats]) -> Floats:
    """Intervals with the score |y - mean| / scale; `cal` and `test` are means and scales."""
    calibration = Calibration().add(np.abs(split.y_cal - cal[0]) / cal[1])
    widths = test[1][:, None] * np.array([calibration.quantile(level) for level in LEVELS])
    return np.stack([test[0][:, None] - widths, test[0][:, None] + widths], axis=1)


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


class WidthAtOneLevel:
    """The loss of boosted conformal prediction: the mean width at one level, of intervals calibrated on the same rows.

    The interval of a row is mean +- q sigma, where mean = f + s u, sigma = s e^v, s is an initial guess of the error,
    and q is a smooth quantile of the scores |y - mean| / sigma. Trees are boosted on u and v.

    The smooth quantile is the Harrell-Davis estimator: order statistics, weighted by the probability that each is the
    quantile of a sample of `window` rows. With a sample of all rows, only the few scores next to it would count.

    Parameters
    ----------
    residuals : y - f, an array (rows,)
    scales : the initial guess s, an array (rows,)
    level : level of the intervals
    window : number of rows of a sample
    """

    def __init__(self, residuals: Floats, scales: Floats, level: float, window: int = 200) -> None:
        self.residuals, self.scales = residuals, scales
        rows = len(residuals)
        size = min(window, rows)
        ranks = np.arange(rows + 1) / rows
        self.weights_by_rank = np.diff(beta.cdf(ranks, (size + 1) * level, (size + 1) * (1 - level)))

    def __call__(self, parameters: Floats) -> float:
        """The loss for parameters (rows, 2): u and v."""
        _, _, sigma, quantile = self._parts(parameters)
        return 2 * quantile * sigma.mean()

    def derivatives(self, parameters: Floats) -> tuple[Floats, Floats]:
        """The gradient (rows, 2) of rows * log(loss), and positive curvatures that give reasonable step sizes.

        The true Hessian is not positive definite. For v, the curvature is the sum of the absolute values of the two
        opposing terms of the gradient. For u, it is the squared slope of the score, as for a quadratic loss.
        """
        weights, scores, sigma, quantile = self._parts(parameters)
        pull = len(sigma) * weights / quantile
        push = sigma / sigma.mean()
        slope = self.scales / sigma
        side = np.sign(self.residuals - self.scales * parameters[:, 0])
        gradient = np.stack([-pull * slope * side, push - pull * scores], axis=1)
        curvature = np.stack([pull * slope**2 / quantile, push + pull * scores], axis=1)
        return gradient, curvature

    def _parts(self, parameters: Floats) -> tuple[Floats, Floats, Floats, float]:
        """Weights in the quantile, scores and sigmas of the rows, and the quantile."""
        sigma = self.scales * np.exp(parameters[:, 1])
        scores = np.abs(self.residuals - self.scales * parameters[:, 0]) / sigma
        weights = np.empty_like(scores)
        weights[np.argsort(scores, kind="stable")] = self.weights_by_rank
        return weights, scores, sigma, float(weights @ scores)


BOOSTED_LEVEL = 0.9
BOOSTED_ROUNDS = 300
BOOSTED_PATIENCE = 30
BOOSTED_TREES = {
    "num_target": 2,
    "base_score": 0,
    "learning_rate": 0.05,
    "max_depth": 4,
    "min_child_weight": 50,
    "lambda": 10,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "nthread": 1,
    "disable_default_eval_metric": True,
}


def boosted_conformal(split: Split) -> Floats:
    """Boosted conformal prediction (Xie, Barber and Candes 2024) for short intervals, implemented from the paper.

    Starting from the score |y - f| / s, where s is a model of out-of-fold errors, trees are boosted for the mean width
    at level 0.9 only. Intervals of the other levels use the same score. Differences from the authors' program:
    second-order steps, the log of the scale, the smooth quantile without soft sorting, the cross-fitted s, and the
    number of rounds, possibly 0, chosen on a fifth of the fitting rows instead of by cross-validation.
    """
    errors = error_model(split)
    residuals = split.y_fit - split.oof
    # Cross-fitted, because a model that was fitted on the same errors would leave nothing to learn.
    scales = cross_val_predict(errors, split.X_fit, np.abs(residuals), cv=5)
    order = np.random.default_rng(split.seed).permutation(len(residuals))
    held_out, rows = np.split(order, [len(order) // 5])

    def loss_of(rows: NDArray[np.int64]) -> WidthAtOneLevel:
        return WidthAtOneLevel(residuals[rows], scales[rows], BOOSTED_LEVEL)

    def matrix(rows: NDArray[np.int64]) -> xgboost.DMatrix:
        return xgboost.DMatrix(split.X_fit[rows], label=np.zeros((len(rows), 2)), nthread=1)

    def boost(rows: NDArray[np.int64], rounds: int, **watch: Any) -> xgboost.Booster:
        loss = loss_of(rows)
        return xgboost.train(
            {**BOOSTED_TREES, "seed": split.seed},
            matrix(rows),
            rounds,
            obj=lambda parameters, _: loss.derivatives(parameters.astype(float)),
            verbose_eval=False,
            **watch,
        )

    judge = loss_of(held_out)
    searched = boost(
        rows,
        BOOSTED_ROUNDS,
        evals=[(matrix(held_out), "held_out")],
        custom_metric=lambda parameters, _: ("width", judge(parameters.astype(float))),
        early_stopping_rounds=BOOSTED_PATIENCE,
    )
    improved = searched.best_score < judge(np.zeros((len(held_out), 2)))
    booster = boost(order, searched.best_iteration + 1 if improved else 0)

    def predict(X: Floats, f: Floats) -> tuple[Floats, Floats]:
        shift, log_scale = booster.predict(xgboost.DMatrix(X, nthread=1)).astype(float).T
        scale = errors.predict(X)
        return f + scale * shift, scale * np.exp(log_scale)

    return scaled_intervals(split, predict(split.X_cal, split.f_cal), predict(split.X_test, split.f_test))


PEERS: dict[str, Callable[[Split], Floats]] = {
    "mapie absolute": mapie_absolute,
    "mapie residual": mapie_residual,
    "mapie cqr": mapie_cqr,
    "crepes neighbours": crepes_neighbours,
    "crepes residual": crepes_residual,
    "crepes mondrian": crepes_mondrian,
    "puncc adaptive": puncc_adaptive,
    "quantile forest cqr": quantile_forest_cqr,
    "xgboost cqr": xgboost_cqr,
    "gaussian net": gaussian_net,
    "boosted conformal": boosted_conformal,
}
