"""Scores of intervals and quantiles, as functions and as scorers of scikit-learn.

``score`` of a regressor is the R2 of its predictions, which does not depend on the intervals: a search over `goal` or
another option of the intervals needs one of these scorers.

>>> from sklearn.model_selection import GridSearchCV                                            # doctest: +SKIP
>>> search = GridSearchCV(model, {"goal": ["narrow", "balanced", "even"]}, scoring=IntervalScorer())   # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

try:
    from sklearn.base import BaseEstimator
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.pipeline import Pipeline
    from sklearn.utils.metadata_routing import UNUSED
except ImportError as error:
    raise ImportError("widthwise.metrics needs scikit-learn 1.6 or later: pip install 'widthwise[sklearn]'") from error

from . import _core
from ._metrics import crps, interval_score, pinball_loss
from ._options import Levels, levels_of, probabilities_of
from ._tables import Floats

__all__ = ["CrpsScorer", "IntervalScorer", "PinballScorer", "crps", "interval_score", "pinball_loss"]


class _Scorer(BaseEstimator):  # type: ignore[misc]
    """A scorer of scikit-learn: called with an estimator, X and y, it returns a number; greater is better.

    It is an estimator only so that it can be cloned, pickled and asked for metadata like one.
    """

    __metadata_request__score = {"estimator": UNUSED}

    def __call__(self, estimator: Any, X: Any, y: Any, **metadata: Any) -> float:
        return self.score(estimator, X, y, **metadata)

    def score(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        weights: Any = None,
        cluster_sizes: Any = None,
        y_pred: Any = None,
    ) -> float:
        """The negated score of the model on these rows; -inf if an interval or quantile is infinite.

        Parameters
        ----------
        estimator : WidthwiseRegressor
            A fitted one; or a pipeline that ends in one, a ``TransformedTargetRegressor`` of one, or a search for the
            best one.
        X, y
            Rows with outcomes that the model has not seen.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows in the mean.
        groups, weights, cluster_sizes, y_pred
            Of the rows, as for `WidthwiseRegressor.predict_interval`. With metadata routing of scikit-learn, request
            them: ``scorer.set_score_request(groups=True)``.
        """
        of_rows = {"groups": groups, "weights": weights, "cluster_sizes": cluster_sizes, "y_pred": y_pred}
        given = {name: values for name, values in of_rows.items() if values is not None}
        return -self._loss(estimator, X, y, sample_weight, given)

    def _loss(self, estimator: Any, X: Any, y: Any, sample_weight: Any, given: dict[str, Any]) -> float:
        raise NotImplementedError


class IntervalScorer(_Scorer):
    """Scorer of intervals by their negated `interval_score`.

    Parameters
    ----------
    confidence_level : float or list of floats, default=0.9
        Levels of the intervals to compare, the same for all models of a search.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> import numpy as np
    >>> from widthwise import WidthwiseRegressor
    >>> from widthwise.metrics import IntervalScorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 4, (600, 1))
    >>> y = X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=600)
    >>> model = WidthwiseRegressor(base_options={"rounds": 50}, score_transform="identity", random_state=0, n_jobs=1)
    >>> scores = cross_val_score(model, X, y, scoring=IntervalScorer(0.9), cv=3)
    >>> bool((scores < 0).all())
    True
    """

    def __init__(self, confidence_level: Levels = 0.9) -> None:
        self.confidence_level = confidence_level

    def _loss(self, estimator: Any, X: Any, y: Any, sample_weight: Any, given: dict[str, Any]) -> float:
        levels = levels_of(self.confidence_level, [])

        def bounds(model: Any, rows: Any) -> Floats:
            found: Floats = model.predict_interval(rows, confidence_level=levels, **given)[1]
            return found.reshape(len(found), 2 * len(levels))

        found = _predicted(estimator, X, bounds)
        return interval_score(found.reshape(len(found), 2, len(levels)), y, levels, sample_weight=sample_weight)


class PinballScorer(_Scorer):
    """Scorer of quantiles by their negated `pinball_loss`.

    Parameters
    ----------
    probabilities : float or list of floats, default=(0.05, 0.5, 0.95)
        Probabilities of the quantiles to compare, in ascending order.
    """

    def __init__(self, probabilities: Levels = (0.05, 0.5, 0.95)) -> None:
        self.probabilities = probabilities

    def _loss(self, estimator: Any, X: Any, y: Any, sample_weight: Any, given: dict[str, Any]) -> float:
        levels = probabilities_of(self.probabilities, "probabilities")
        return pinball_loss(_quantiles_of(estimator, X, levels, given), y, levels, sample_weight=sample_weight)


class CrpsScorer(_Scorer):
    """Scorer of quantiles by their negated `crps`.

    Parameters
    ----------
    probabilities : list of floats, optional
        Probabilities of the quantiles to compare, in ascending order; by default ``(j - 0.5) / 20`` for j from 1 to 20,
        as in `WidthwiseRegressor.evaluate`. The outermost ones are infinite, and so is the score, with fewer than 39
        calibration rows.
    """

    def __init__(self, probabilities: Levels | None = None) -> None:
        self.probabilities = probabilities

    def _loss(self, estimator: Any, X: Any, y: Any, sample_weight: Any, given: dict[str, Any]) -> float:
        wanted = _core.CRPS_PROBABILITIES if self.probabilities is None else self.probabilities
        levels = probabilities_of(wanted, "probabilities")
        return crps(_quantiles_of(estimator, X, levels, given), y, levels, sample_weight=sample_weight)


def _quantiles_of(estimator: Any, X: Any, levels: list[float], given: dict[str, Any]) -> Floats:
    return _predicted(estimator, X, lambda model, rows: model.predict_quantile(rows, levels, **given))


def _predicted(estimator: Any, X: Any, values: Callable[[Any, Any], Floats]) -> Floats:
    """values(model, rows) of the model inside an estimator, for the rows that it gets and in the units of its outcomes."""
    if hasattr(estimator, "predict_interval"):
        return values(estimator, X)
    if hasattr(estimator, "best_estimator_"):
        return _predicted(estimator.best_estimator_, X, values)
    if isinstance(estimator, Pipeline):
        before = estimator[:-1]
        return _predicted(estimator[-1], before.transform(X) if len(before) else X, values)
    if isinstance(estimator, TransformedTargetRegressor):
        return _inverted(estimator.transformer_, _predicted(estimator.regressor_, X, values))
    raise TypeError(
        f"{type(estimator).__name__} has no intervals to score; expected a WidthwiseRegressor, or a pipeline, a "
        "TransformedTargetRegressor or a search of one"
    )


def _inverted(transformer: Any, values: Floats) -> Floats:
    """Bounds or quantiles in the units of the outcomes. Infinite ones stay infinite."""
    finite = np.isfinite(values)
    inside = values[finite]
    if not len(inside):
        return values
    found = transformer.inverse_transform(inside.reshape(-1, 1)).ravel()
    if (np.diff(found[np.argsort(inside)]) < 0).any():
        raise ValueError(
            "the transformation of the outcomes decreases, so bounds change sides; expected an increasing one"
        )
    out = values.copy()
    out[finite] = found
    return out
