"""Intervals that follow a stream whose errors change."""

from __future__ import annotations

import os
from typing import Any

from . import _core, _tables
from ._model import HasModel, load_model, not_fitted
from ._options import Levels, levels_of
from ._predictor import Predictor
from ._tables import Floats


class OnlinePredictor(HasModel):
    """Intervals for rows that come in the order of time: each outcome corrects those after it.

    A calibration promises coverage for rows that are like its own. When the errors of a model change, the promise
    breaks. Here the long-run coverage tends to the level whatever the outcomes do.

    Parameters
    ----------
    predictor : Predictor
        Where to begin: a calibrated model. One that `save` wrote in the middle of a stream goes on with `load`.
    confidence_level : float or list of k floats, optional
        By default the predictor's.
    method : {"adaptive", "decaying"}
        "adaptive" moves the level and takes quantiles of the last `window` rows: it follows drift for ever
        (Gibbs and Candes 2021). "decaying" moves the quantile by steps that shrink: it settles when the stream does
        (Angelopoulos, Barber and Bates 2024).
    step : float, optional
        How far one miss moves the level: by default a twentieth of 1 - level for "adaptive", 1 for "decaying".
    window : int, optional
        Recent rows that "adaptive" takes quantiles of, and that `recent_coverage` counts; 1000 by default.

    Examples
    --------
    >>> online = OnlinePredictor(predictor, confidence_level=0.9)   # doctest: +SKIP
    >>> for X, y in days:                                           # doctest: +SKIP
    ...     y_pred, intervals = online.predict_interval(X)          # in the morning
    ...     online.observe(X, y)                                    # in the evening
    """

    def __init__(
        self,
        predictor: Predictor,
        confidence_level: Levels | None = None,
        *,
        method: str = "adaptive",
        step: float | None = None,
        window: int | None = None,
    ) -> None:
        model = predictor._fitted_model()
        if model.calibration_rows == 0:
            raise not_fitted("the model is not calibrated yet: give it rows that nothing was fitted on")
        self._model = model.with_online(None)  # the place in the stream is in _online alone
        levels = levels_of(confidence_level, model.levels)
        self._online = _core.OnlineCalibration(model.calibration, levels, method, step, window)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> OnlinePredictor:
        """Load a model file that `save` or ``widthwise track --save`` wrote, and go on where it ended."""
        model = load_model(path)
        online = model.online
        if online is None:
            raise ValueError(
                f"{os.fspath(path)}: this model follows no stream yet; "
                "begin with OnlinePredictor(Predictor.load(...), confidence_level)"
            )
        self = cls.__new__(cls)
        self._model = model.with_online(None)
        self._online = online
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file with the place in the stream, whole or not at all; `Predictor.load` takes it, too."""
        self._model.with_online(self._online).save(os.fspath(path))

    @property
    def predictor(self) -> Predictor:
        """The predictor that this one began with, its calibration as it was."""
        return Predictor._of(self._model)

    @property
    def confidence_levels(self) -> list[float]:
        """The levels that are followed."""
        return self._online.levels

    @property
    def method(self) -> str:
        """How the stream is followed."""
        return self._online.method

    @property
    def rows_observed(self) -> int:
        """Rows with outcomes so far."""
        return self._online.rows

    def predict_interval(self, X: Any, y_pred: Any = None) -> tuple[Floats, Floats]:
        """Predictions and intervals of rows to come, with what is known now.

        Parameters
        ----------
        X : table of shape (n, d)
        y_pred : array-like of shape (n,), optional
            Predictions; left out when the model makes its own.

        Returns
        -------
        y_pred : array of shape (n,)
        intervals : array of shape (n, 2, k)
            Lower bounds ``[:, 0, :]`` and upper bounds ``[:, 1, :]``.
        """
        return self._online.intervals(self._model, *self._inputs(X, y_pred))

    def observe(self, X: Any, y: Any, y_pred: Any = None) -> tuple[Floats, Floats]:
        """Learn the outcomes y of rows in the order of time; NaN where there is none.

        Returns
        -------
        y_pred, intervals
            As `predict_interval`; each interval as it was before the outcome of its row was seen.
        """
        table, predictions = self._inputs(X, y_pred)
        outcomes = _tables.numbers(y, "y", table.rows)
        return self._online.track(self._model, table, predictions, outcomes)

    @property
    def coverage(self) -> list[float]:
        """The share of outcomes so far that were covered, for each level."""
        return self._shares("covered", "rows")

    @property
    def recent_coverage(self) -> list[float]:
        """The same of the last `window` rows."""
        return self._shares("recent_covered", "recent_rows")

    @property
    def fixed_coverage(self) -> list[float]:
        """What the calibration would have covered, left as it was."""
        return self._shares("covered_fixed", "rows")

    def _shares(self, part: str, whole: str) -> list[float]:
        return [level[part] / level[whole] if level[whole] else float("nan") for level in self._online.coverage()]

    def __getstate__(self) -> dict[str, Any]:
        return {"_model": self._model.with_online(self._online).to_bytes()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = _core.Model.from_bytes(state["_model"])
        assert model.online is not None
        self._model = model.with_online(None)
        self._online = model.online

    def __repr__(self) -> str:
        levels = ", ".join(f"{level:g}" for level in self.confidence_levels)
        return f"OnlinePredictor({self.method}, level {levels}, {self.rows_observed:,} rows observed)"
