"""Calibrated prediction intervals for any regression model.

>>> from widthwise import WidthwiseRegressor                                    # doctest: +SKIP
>>> model = WidthwiseRegressor(estimator, goal="even").fit(X, y)                # doctest: +SKIP
>>> y_pred, intervals = model.predict_interval(X_new, confidence_level=0.9)     # doctest: +SKIP

If new rows are exchangeable with the calibration rows, a 90% interval contains the outcome with probability at least
90%, on average over calibration sets and new rows (marginal coverage). This holds for any model and any data
distribution, at any sample size. It does not say that coverage is 90% for every kind of row; `evaluate` and the report
measure that.

Use `WidthwiseRegressor` with a scikit-learn estimator, and `Localizer`, `Calibration` and `Predictor` with predictions
of any other model. `OnlinePredictor` handles rows that arrive in time order and drift. `report` writes an HTML report on
coverage and width, `evaluate_intervals` measures intervals of any origin, and `plan` computes how many
calibration rows a tolerance on coverage needs. `interval_score`, `pinball_loss` and `crps` score intervals and
quantiles; `widthwise.metrics` has scorers for model selection with scikit-learn. `widthwise.xgboost`,
`widthwise.torch` and `widthwise.onnx` connect to those packages; `widthwise.spark`, `widthwise.dask` and
`widthwise.duckdb` predict and calibrate on those engines; `widthwise.plot` draws intervals and coverage.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._calibration import Calibration as Calibration
    from ._core import VERSION as __version__
    from ._evaluation import Evaluation as Evaluation
    from ._evaluation import evaluate_intervals as evaluate_intervals
    from ._localizer import Localizer as Localizer
    from ._metrics import crps as crps
    from ._metrics import interval_score as interval_score
    from ._metrics import pinball_loss as pinball_loss
    from ._online import OnlinePredictor as OnlinePredictor
    from ._plan import Plan as Plan
    from ._plan import plan as plan
    from ._predictor import Predictor as Predictor
    from ._regressor import WidthwiseRegressor as WidthwiseRegressor
    from ._report import report as report

# The module of each name, so that `import widthwise` imports neither scikit-learn nor matplotlib.
_HOME = {
    "Calibration": "_calibration",
    "Evaluation": "_evaluation",
    "Localizer": "_localizer",
    "OnlinePredictor": "_online",
    "Plan": "_plan",
    "Predictor": "_predictor",
    "WidthwiseRegressor": "_regressor",
    "crps": "_metrics",
    "evaluate_intervals": "_evaluation",
    "interval_score": "_metrics",
    "pinball_loss": "_metrics",
    "plan": "_plan",
    "report": "_report",
}
_MODULES = ("dask", "duckdb", "metrics", "onnx", "plot", "spark", "torch", "xgboost")

__all__ = [  # noqa: F822 - found by __getattr__
    "Calibration",
    "Evaluation",
    "Localizer",
    "OnlinePredictor",
    "Plan",
    "Predictor",
    "WidthwiseRegressor",
    "__version__",
    "crps",
    "evaluate_intervals",
    "interval_score",
    "pinball_loss",
    "plan",
    "report",
]


def _unavailable(name: str, message: str) -> type:
    """Placeholder for a class or function whose packages are not installed: calling it raises ImportError.

    The name always exists, so that ``from widthwise import name``, `help` and `inspect` do not fail.
    """

    class Meta(type):
        def __getattr__(cls, attribute: str) -> Any:
            raise AttributeError(f"{name}.{attribute}: {message}")

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise ImportError(message)

    return Meta(name, (), {"__init__": refuse, "__doc__": f"Not available: {message}.", "__module__": __name__})


def __getattr__(name: str) -> Any:
    if name in _HOME:
        try:
            value = getattr(importlib.import_module("." + _HOME[name], __name__), name)
        except ImportError as error:
            return _unavailable(name, str(error))
        globals()[name] = value
        return value
    if name == "__version__":
        return importlib.import_module("._core", __name__).VERSION
    if name in _MODULES:
        # `import widthwise.name` raises the ImportError itself. For a missing attribute, hasattr, help and inspect
        # expect an AttributeError.
        try:
            return importlib.import_module("." + name, __name__)
        except ImportError as error:
            raise AttributeError(str(error)) from error
    raise AttributeError(f"module 'widthwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
