"""Weights of rows: likelihood ratios of the population to predict to that of the calibration rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core, _tables
from ._tables import Floats


def column_of(model: _core.Model, X: Any, weights: Any) -> Any:
    """The weights given, as values or as the name of a column of X. By default the column of the model, if X has it."""
    X = _tables.named(X)
    if weights is None and model.weight in _tables.names_of(X):
        weights = model.weight
    return _tables.given_column(X, weights, "weights").values


def checked(weights: Any, rows: int) -> Floats | None:
    """Weights as positive, finite numbers."""
    if weights is None:
        return None
    values = _tables.numbers(weights, "weights", rows)
    bad = np.flatnonzero(~((values > 0) & np.isfinite(values)))
    if len(bad):
        raise ValueError(f"weights[{bad[0]}] is {values[bad[0]]}; expected a positive, finite likelihood ratio")
    return values


def for_model(model: _core.Model, weights: Any, rows: int) -> Floats | None:
    """Weights of rows of a model, which needs them or has none."""
    if weights is None:
        if model.needs_weights:
            raise ValueError(
                f"the model has weights; pass the likelihood ratios of the rows, the column {model.weight!r}, as weights="
            )
        return None
    if not model.needs_weights:
        why = "learns its weights" if model.weighted else "was fitted without weights"
        raise ValueError(f"the model {why}; do not pass weights")
    return checked(weights, rows)


def for_training(sample_weight: Any, rows: int) -> Floats | None:
    """Sample weights as finite numbers of at least 0, some of which are positive."""
    if sample_weight is None:
        return None
    values = _tables.numbers(sample_weight, "sample_weight", rows)
    bad = np.flatnonzero(~((values >= 0) & np.isfinite(values)))
    if len(bad):
        raise ValueError(f"sample_weight[{bad[0]}] is {values[bad[0]]}; expected a finite number of at least 0")
    if not values.any():
        raise ValueError("all values of sample_weight are zero; expected some positive ones")
    return values


def arguments(estimator: Any, weights: Floats | None) -> dict[str, Floats]:
    """The argument sample_weight of an estimator's fit, or of the last step of a pipeline, if there are weights."""
    if weights is None:
        return {}
    from sklearn import get_config
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]:
        name, last = estimator.steps[-1]
        return {f"{name}__{key}": values for key, values in arguments(last, weights).items()}
    if isinstance(estimator, Pipeline):
        return {"sample_weight": weights}  # routed by the pipeline to the steps that request it
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{type(estimator).__name__}.fit does not take sample_weight; use an estimator that does, or fit without"
        )
    return {"sample_weight": weights}
