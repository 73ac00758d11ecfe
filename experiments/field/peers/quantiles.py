"""Quantile regressions with the score of conformalized quantile regression: forests, XGBoost, CatBoost."""

from __future__ import annotations

import numpy as np
from catboost import CatBoostRegressor
from quantile_forest import RandomForestQuantileRegressor
from xgboost import XGBRegressor

from ..protocol import LEVELS, QUANTILES, Floats, Split, base_model
from .scores import conformalized_quantiles


def quantile_forest_cqr(split: Split) -> Floats:
    """A quantile forest of the package quantile-forest, conformalized as in its documentation.

    It uses the defaults (100 trees of all rows, one stored row per leaf), except for leaves of at least two rows, which
    were chosen in its favour on test rows of the first split (NOTES.md).
    """
    forest = RandomForestQuantileRegressor(min_samples_leaf=2, n_jobs=1, random_state=split.seed)
    forest.fit(split.X_fit, split.y_fit)
    cal, test = (forest.predict(X, quantiles=QUANTILES) for X in (split.X_cal, split.X_test))
    return conformalized_quantiles(cal, split.y_cal, test)


def quantile_forest_oob(split: Split) -> Floats:
    """Quantile out-of-bag conformal after QOOB (Gupta, Kuchibhotla and Ramdas 2022), with a forest of quantile-forest.

    The fitting and the calibration rows fit one forest. Their scores are those of conformalized quantile regression,
    with the quantiles of the trees that were grown without the row. The whole forest predicts new rows.

    Guarantee: the published QOOB covers at least 1 - 2 alpha of exchangeable rows. For that, it predicts a new row with
    the trees grown without row i, for every i. Using the whole forest, as Johansson et al. (2014) do, has no guarantee
    for finite samples; coverage is near 1 - alpha if one row more or less does not change the forest much.

    All outcomes of a leaf are stored, as by the authors. The nominal quantiles, alpha and 1 - alpha, and leaves of at
    least two rows were chosen in its favour (NOTES.md).
    """
    X, y = np.concatenate([split.X_fit, split.X_cal]), np.concatenate([split.y_fit, split.y_cal])
    forest = RandomForestQuantileRegressor(
        min_samples_leaf=2, max_samples_leaf=None, n_jobs=1, random_state=split.seed
    ).fit(X, y)
    nominal = [round(side, 10) for level in LEVELS for side in (1 - level, level)]
    out_of_bag = forest.predict(X, quantiles=nominal, oob_score=True)
    return conformalized_quantiles(out_of_bag, y, forest.predict(split.X_test, quantiles=nominal))


def xgboost_cqr(split: Split) -> Floats:
    """XGBoost's quantile regression at all six quantiles jointly, with the score of Romano et al. (2019)."""
    model = XGBRegressor(
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


def xgboost_cqr_out_of_fold(split: Split) -> Floats:
    """Quantiles of the out-of-fold errors of the base model, with its settings and the score of Romano et al. (2019).

    XGBoost gets the prediction of the base model as a further feature.
    """
    model = base_model(split.seed).set_params(objective="reg:quantileerror", quantile_alpha=QUANTILES)
    model.fit(np.column_stack([split.X_fit, split.oof]), split.y_fit - split.oof)
    cal, test = (
        f[:, None] + model.predict(np.column_stack([X, f])).astype(float)
        for X, f in ((split.X_cal, split.f_cal), (split.X_test, split.f_test))
    )
    return conformalized_quantiles(cal, split.y_cal, test)


def catboost_cqr(split: Split) -> Floats:
    """CatBoost's quantile regression at all six quantiles jointly, with the default settings."""
    model = CatBoostRegressor(
        loss_function="MultiQuantile:alpha=" + ",".join(f"{quantile:g}" for quantile in QUANTILES),
        thread_count=1,
        random_seed=split.seed,
        verbose=False,
        allow_writing_files=False,
    )
    model.fit(split.X_fit, split.y_fit)
    cal, test = (model.predict(X) for X in (split.X_cal, split.X_test))
    return conformalized_quantiles(cal, split.y_cal, test)
