"""A trained `widthwise.Localizer` as a conformity score of MAPIE.

It makes the intervals of MAPIE wider where the model has larger errors:

>>> import numpy as np
>>> from mapie.regression import SplitConformalRegressor
>>> from sklearn.linear_model import LinearRegression
>>> from sklearn.model_selection import cross_val_predict
>>> from widthwise import Localizer
>>> from widthwise.mapie import LocalizedScore
>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(0, 4, (3000, 1))
>>> y = X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=3000)
>>> estimator = LinearRegression().fit(X[:2000], y[:2000])
>>> y_pred_cv = cross_val_predict(LinearRegression(), X[:2000], y[:2000])   # for training only
>>> localizer = Localizer(n_jobs=1).fit(X[:2000], y[:2000], y_pred_cv=y_pred_cv)
>>> mapie = SplitConformalRegressor(estimator, 0.9, LocalizedScore(localizer), prefit=True)
>>> _ = mapie.conformalize(X[2000:], y[2000:])                              # rows that no model was fitted on
>>> _, intervals = mapie.predict_interval([[1.0], [3.0]])
>>> width = intervals[:, 1, 0] - intervals[:, 0, 0]
>>> bool(2 < width[1] / width[0] < 4)                                       # errors are three times as large at 3
True

The intervals are those of a `widthwise.Predictor` that is calibrated with the same rows, up to rounding, with one
difference. Both use the ceil(level (n + 1))-th smallest score of n. MAPIE computes level (n + 1) in floating point,
widthwise with exact decimals: if the product is a whole number, MAPIE may use the next score. At level 0.55 with 99
rows, for example, 0.55 * 100 is 55.00000000000001, and MAPIE uses the 56th score of 99. Its intervals are then slightly
wider, never narrower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from mapie.conformity_scores import BaseRegressionScore
except ImportError as error:
    raise ImportError("widthwise.mapie needs MAPIE 1: pip install 'mapie>=1'") from error

from ._localizer import Localizer
from ._tables import Floats

__all__ = ["LocalizedScore"]


class LocalizedScore(BaseRegressionScore):  # type: ignore[misc]
    """The scores of a trained localizer, for ``SplitConformalRegressor``.

    It supports any transform and goal. Bounds are clipped to the ``outcome_range`` of the localizer and not rounded to
    its ``outcome_step``, because MAPIE asks for the two bounds of a row separately. The intervals of a two-sided
    localizer are asymmetric; both sides are calibrated together, as in `widthwise.Predictor`.

    Parameters
    ----------
    localizer : Localizer
        Trained on other rows than those passed to ``conformalize``; training rows are rejected. Without clusters,
        because MAPIE counts rows.

    Notes
    -----
    MAPIE needs positive scores, signed by the side of the outcome. Scores of widthwise can be negative, so MAPIE
    receives an increasing function of them, 1 + B or 1 / (1 - B), as ``conformity_scores``. This does not change the
    intervals.

    ``sklearn.base.clone`` fails on MAPIE's regressors, which are not estimators of scikit-learn. A `LocalizedScore`
    can be cloned, copied and pickled; copies keep the trained localizer.

    Cross-conformal and jackknife regressors refit the model, which a single localizer does not support: predictions of
    several models are rejected.

    Examples
    --------
    See the module `widthwise.mapie`.
    """

    def __init__(self, localizer: Localizer) -> None:
        # Disable MAPIE's check that scores convert back to outcomes exactly, because half-widths are rounded up.
        super().__init__(sym=True, consistency_check=False)
        localizer._require_rows("MAPIE")
        self.localizer = localizer

    def get_signed_conformity_scores(self, y: Any, y_pred: Any, X: Any = None, **kwargs: Any) -> Floats:
        """Return the scores of rows with outcomes, negative if the outcome is below the prediction.

        Parameters
        ----------
        y, y_pred : array-like of shape (n,)
        X : table of shape (n, d)
        """
        # MAPIE silently drops rows without a score. This call names them in an error and rejects training rows.
        self.localizer.calibrate(_given(X), y, y_pred)
        scores = _positive(self.localizer.scores(X, y, y_pred))
        return np.where(np.less(y, y_pred), -scores, scores)

    def get_estimation_distribution(self, y_pred: Any, conformity_scores: Any, X: Any = None, **kwargs: Any) -> Floats:
        """Return the outcomes with these scores: lower bounds for negative scores, upper bounds for positive scores.

        Parameters
        ----------
        y_pred : array-like of shape (n,) or (n, 1)
        conformity_scores : array-like of shape (n,), or (1, m) or (n, m)
        X : table of shape (n, d)

        Returns
        -------
        array of shape (n,), or (n, m)
        """
        f = np.asarray(y_pred, dtype=np.float64)
        scores = np.asarray(conformity_scores, dtype=np.float64)
        one_each = f.ndim == 1
        if one_each:
            f, scores = f[:, None], scores[:, None]
        if f.shape[1] != 1:
            raise ValueError(
                "LocalizedScore: found predictions of several models, but the localizer was trained for one; use "
                "SplitConformalRegressor"
            )
        lower, upper = self.localizer.half_widths(
            _given(X), f[:, 0], np.broadcast_to(_from_positive(np.abs(scores)), (len(f), scores.shape[1]))
        )
        below = np.signbit(scores)
        bounds = f + np.where(below, -lower, upper)
        # A NaN bound becomes infinite.
        bounds = np.where(np.isnan(bounds), np.where(below, -np.inf, np.inf), bounds)
        bounds = np.clip(bounds, *self.localizer._model.range)
        return bounds[:, 0] if one_each else bounds

    def __sklearn_clone__(self) -> LocalizedScore:
        return LocalizedScore(self.localizer)

    def __repr__(self) -> str:
        return f"LocalizedScore({self.localizer!r})"


def _given(X: Any) -> Any:
    if X is None:
        raise ValueError("LocalizedScore: scores depend on the row; pass X")
    return X


def _positive(scores: Floats) -> Floats:
    """Map numbers to positive numbers, strictly increasing also in floating point."""
    return np.where(scores >= 0, 1 + scores, 1 / (1 - np.minimum(scores, 0)))


def _from_positive(positive: Floats) -> Floats:
    """Inverse of `_positive`, rounded up by more than the rounding error of both."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1 / positive
        scores = np.where(positive >= 1, positive - 1, 1 - inverse)
        rounded_up = scores + 4 * np.finfo(np.float64).eps * np.maximum(positive, inverse)
    return np.where(np.isinf(scores), scores, rounded_up)
