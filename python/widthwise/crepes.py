"""A trained `widthwise.Localizer` as a difficulty estimator of crepes.

It makes the intervals of crepes wider where the model has larger errors:

>>> import numpy as np
>>> from crepes import WrapRegressor
>>> from sklearn.linear_model import LinearRegression
>>> from sklearn.model_selection import cross_val_predict
>>> from widthwise import Localizer
>>> from widthwise.crepes import LocalizedDifficulty
>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(0, 4, (3000, 1))
>>> y = X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=3000)
>>> wrapped = WrapRegressor(LinearRegression())
>>> wrapped.fit(X[:2000], y[:2000])
>>> y_pred_cv = cross_val_predict(LinearRegression(), X[:2000], y[:2000])   # for training only
>>> localizer = Localizer(n_jobs=1).fit(X[:2000], y[:2000], y_pred_cv=y_pred_cv)
>>> difficulty = LocalizedDifficulty(localizer, wrapped.learner)
>>> _ = wrapped.calibrate(X[2000:], y[2000:], de=difficulty)                # rows that no model was fitted on
>>> intervals = wrapped.predict_int(np.array([[1.0], [3.0]]), confidence=0.9)
>>> width = intervals[:, 1] - intervals[:, 0]
>>> bool(2 < width[1] / width[0] < 4)                                       # errors are three times as large at 3
True

The intervals are those of a `widthwise.Predictor` that is calibrated with the same rows, up to rounding, with one
difference. Both use the score with floor((1 - level) (n + 1)) - 1 larger scores among n. crepes computes this number in
floating point, widthwise with exact decimals: if the product is a whole number, crepes may use the next larger score.
At level 0.9 with 99 rows, for example, (1 - 0.9) * 100 is 9.999999999999998, and crepes uses the 91st score instead of
the 90th. With 9 rows its intervals are infinite, although 9 rows suffice. Its intervals are never narrower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from crepes.extras import DifficultyEstimator
except ImportError as error:
    raise ImportError("widthwise.crepes needs crepes: pip install crepes") from error

from . import _tables
from ._localizer import Localizer
from ._tables import Floats

__all__ = ["LocalizedDifficulty"]


class LocalizedDifficulty(DifficultyEstimator):  # type: ignore[misc]
    """Difficulty estimates of a trained localizer, for ``WrapRegressor.calibrate(..., de=...)``.

    It works with conformal regressors, conformal predictive systems (``cps=True``) and Mondrian categories.

    Parameters
    ----------
    localizer : Localizer
        Trained on other rows than the calibration rows, symmetric, with a scale transform (the goal even or a number),
        because crepes multiplies by the difficulty, and without clusters, because crepes counts rows.
    estimator : estimator
        The fitted model that crepes wraps (``wrapped.learner``): difficulties depend on its predictions, which crepes
        does not pass.

    Notes
    -----
    crepes ignores the ``outcome_range`` and the ``outcome_step`` of the localizer: pass ``y_min`` and ``y_max`` to
    ``predict_int``.

    ``sklearn.base.clone`` fails on crepes' objects, which are not estimators of scikit-learn. A `LocalizedDifficulty`
    can be cloned, copied and pickled; copies keep the trained localizer and the estimator.

    Examples
    --------
    See the module `widthwise.crepes`.
    """

    def __init__(self, localizer: Localizer, estimator: Any) -> None:
        super().__init__()
        localizer._require_rows("crepes")
        self.localizer = localizer
        localizer.difficulty(np.empty((0, len(localizer.features))), np.empty(0))  # raises if it has no difficulty
        self.estimator = estimator
        self.fitted = self.fitted_ = True

    def fit(self, *args: Any, **kwargs: Any) -> LocalizedDifficulty:
        """Always raises TypeError, because the localizer is already trained."""
        raise TypeError("LocalizedDifficulty cannot be fitted; fit its Localizer instead")

    def apply(self, X: Any = None) -> Floats:
        """Return the difficulties of rows, in the units of y up to a constant factor.

        Parameters
        ----------
        X : table of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        if X is None:
            raise ValueError("LocalizedDifficulty has no out-of-bag estimates; calibrate with separate rows")
        return self.localizer.difficulty(X, _tables.numbers(self.estimator.predict(X), "the estimator's prediction"))

    def __sklearn_clone__(self) -> LocalizedDifficulty:
        return LocalizedDifficulty(self.localizer, self.estimator)

    def __repr__(self) -> str:
        return f"LocalizedDifficulty({self.localizer!r}, {self.estimator!r})"
