"""Train localizers with your own XGBoost loop, on one machine, or on several with Dask or Spark.

`widthwise.Localizer` trains with XGBoost directly. Use this module for other settings, callbacks, a GPU, or more rows
than fit on one machine.

>>> import numpy as np
>>> import xgboost
>>> from widthwise import Localizer, Predictor
>>> from widthwise.xgboost import WidthObjective, training_matrix
>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(0, 4, (3000, 1))
>>> y = X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=3000)
>>> y_pred = X[:, 0]                                                # of a model that has not seen these rows
>>> objective = WidthObjective("even")
>>> booster = xgboost.train(
...     {**objective.params, "eta": 0.1, "max_depth": 4, "min_child_weight": 10, "lambda": 5, "nthread": 1},
...     training_matrix(X[:1500], y[:1500], y_pred[:1500]),
...     num_boost_round=500,
...     obj=objective,
...     custom_metric=objective.metric,
...     evals=[(training_matrix(X[1500:2000], y[1500:2000], y_pred[1500:2000]), "holdout")],
...     early_stopping_rounds=20,
...     verbose_eval=False,
... )
>>> localizer = Localizer.from_booster(booster, objective, X[:1500], y[:1500], y_pred[:1500])
>>> calibration = localizer.calibrate(X[2000:], y[2000:], y_pred[2000:])
>>> _, intervals = Predictor(localizer, calibration).predict_interval([[1.0], [3.0]], [1.0, 3.0])
>>> width = intervals[:, 1, 0] - intervals[:, 0, 0]
>>> bool(2 < width[1] / width[0] < 4)                               # errors are three times as large at 3
True

**Dask.** Pass the objective to ``xgboost.dask.train``. Workers sum their statistics through XGBoost's collective, so
the model is the same as on a single machine::

    dtrain = xgboost.dask.DaskDMatrix(client, da.column_stack([X, y_pred]), y - y_pred)
    output = xgboost.dask.train(client, {**objective.params, "eta": 0.1}, dtrain, 200, obj=objective)
    localizer = Localizer.from_booster(output["booster"], objective, X_sample, y_sample, y_pred_sample)

**Spark.** ``SparkXGBRegressor`` accepts only names as ``objective``, but passes ``obj`` and ``custom_metric`` to
``xgboost.train`` on each worker. The label column holds the residuals, the last feature is the prediction::

    regressor = SparkXGBRegressor(
        features_col=[*features, "y_pred"], label_col="residual", num_workers=8,
        obj=objective, custom_metric=objective.metric, n_estimators=200, learning_rate=0.1, **objective.params,
    )
    booster = regressor.fit(frame).get_booster()

Use the booster as above and predict with `widthwise.Predictor`; Spark's ``transform`` would return raw parameters.

XGBoost's workers listen on every network interface and accept any connection: train only on machines in a private
network.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import xgboost
    from xgboost import collective
except ImportError as error:
    raise ImportError("widthwise.xgboost needs XGBoost 3.1 or later: pip install xgboost-cpu (or xgboost)") from error
if [int(part) for part in xgboost.__version__.split(".")[:2]] < [3, 1]:  # base_score per output
    raise ImportError(f"widthwise.xgboost needs XGBoost 3.1 or later, found {xgboost.__version__}; upgrade it")

from . import _tables
from ._docs import with_shared
from ._objective import HasObjective
from ._tables import Floats

__all__ = ["WidthObjective", "training_matrix"]


@with_shared
class WidthObjective(HasObjective):
    """Width objective for ``xgboost.train``.

    The labels are residuals y - f(x) of a model that was not trained on the rows. Weights of the DMatrix are used: a
    row of weight 2 counts as two rows.

    Parameters
    ----------
    {objective}
    unit : float, optional
        Scale of the residuals; they are divided by the nearest power of two. By default the mean absolute residual of
        all workers. Set it to continue training a booster with other rows (``xgb_model``).

    Attributes
    ----------
    goal, score_transform : str
        Names, "auto" resolved.
    two_sided : bool
    parameter_count : int
        Number of outputs of the booster.
    unit : float or None
        Scale of the residuals; None before training and on the client of Dask or Spark.
    params : dict
        Required parameters of ``xgboost.train``; add your tree settings.

    Notes
    -----
    Gradients are sums over rows, as XGBoost's settings expect. Settings such as
    ``eta=0.1, max_depth=4, min_child_weight=10, subsample=0.7, colsample_bytree=0.7, reg_lambda=5``, the defaults of
    `widthwise.Localizer`, work well. Trees of several outputs (``multi_strategy="multi_output_tree"``) train, but
    `Localizer.from_booster` does not read them.

    Examples
    --------
    >>> from widthwise.xgboost import WidthObjective
    >>> objective = WidthObjective("narrow")
    >>> objective.score_transform, objective.parameter_count
    ('affine', 2)
    >>> objective.params
    {'base_score': [0.0, 0.0], 'disable_default_eval_metric': True, 'num_target': 2}
    """

    @property
    def params(self) -> dict[str, Any]:
        first = self._first_outputs()
        params: dict[str, Any] = {"base_score": first[0] if len(first) == 1 else first}
        params["disable_default_eval_metric"] = True
        if len(first) > 1:
            params["num_target"] = len(first)
        return params

    def __call__(self, predt: NDArray[Any], dtrain: xgboost.DMatrix) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return gradient and Hessian of shape (n, P); called by XGBoost."""
        _, self.unit, gradient, hessian = self._boost(predt, dtrain, self._given_unit, derivatives=True)
        return gradient, hessian

    def metric(self, predt: NDArray[Any], dmatrix: xgboost.DMatrix) -> tuple[str, float]:
        """Log of the width that the goal optimises, for ``custom_metric``; smaller is better, and 0.01 is about 1%."""
        # Parameters refer to the unit of the training rows.
        loss, unit, _, _ = self._boost(predt, dmatrix, self.unit, derivatives=False)
        return "width", loss + math.log(unit)

    def _boost(
        self, predt: NDArray[Any], dmatrix: xgboost.DMatrix, unit: float | None, *, derivatives: bool
    ) -> tuple[float, float, NDArray[np.float32], NDArray[np.float32]]:
        """Loss, unit and derivatives of this worker's rows."""
        return self._objective.core.boost(
            np.ascontiguousarray(dmatrix.get_label(), dtype=np.float32),
            np.ascontiguousarray(dmatrix.get_weight(), dtype=np.float32),
            np.ascontiguousarray(predt, dtype=np.float32).ravel(),
            unit,
            derivatives,
            _sum_over_workers,
            collective.get_rank(),
            collective.get_world_size(),
        )

    def _first_outputs(self) -> list[float]:
        """Initial outputs: 0, or 1 for erc, whose gradient vanishes at 0."""
        residuals = np.array([-3.0, -1.0, 1.0, 2.0])
        somewhere = np.linspace(-1, 1, 4 * self.parameter_count).reshape(4, self.parameter_count)
        first = []
        for column in range(self.parameter_count):
            parameters = somewhere.copy()
            parameters[:, column] = 0
            _, gradient, _ = self._objective.core.evaluate(residuals, parameters, None, True, False)
            first.append(0.0 if gradient[:, column].any() else 1.0)
        return first

    def __repr__(self) -> str:
        return f"WidthObjective({self._objective!r})"


def _sum_over_workers(values: Floats) -> Floats:
    return collective.allreduce(values, collective.Op.SUM)


def training_matrix(X: Any, y: Any, y_pred: Any, **kwargs: Any) -> xgboost.DMatrix:
    """Build the training DMatrix: numeric columns of X, the prediction as the last column, and residuals as labels.

    Parameters
    ----------
    X : table of shape (n, d)
        NumPy, pandas, polars, pyarrow, a DuckDB relation, or anything that streams Arrow. NaN is a missing value.
        Columns that are not numeric are dropped.
    y : array-like of shape (n,)
        Outcomes.
    y_pred : array-like of shape (n,)
        Predictions of a model that was not trained on the rows, for example cross-validated.
    **kwargs
        For ``xgboost.DMatrix``: ``weight``, ``nthread``, ...

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise.xgboost import training_matrix
    >>> matrix = training_matrix(np.ones((3, 2)), [1.0, 2.0, 3.0], [1.0, 1.0, 1.0])
    >>> matrix.feature_names
    ['x0', 'x1', 'y_pred']
    >>> matrix.get_label().tolist()
    [0.0, 1.0, 2.0]
    """
    table, _ = _tables.read_numbers(X)
    predictions = _tables.numbers(y_pred, "y_pred", table.rows)
    residuals = _tables.numbers(y, "y", table.rows) - predictions
    last = _tables.name_of(y_pred, "y_pred")
    while last in table.names:
        last += "_"
    kwargs.setdefault("feature_names", [*table.names, last])
    return xgboost.DMatrix(np.column_stack([table.to_matrix(), predictions]), label=residuals, **kwargs)
