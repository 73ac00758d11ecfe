"""Intervals that follow a stream whose errors change."""

from __future__ import annotations

import os
from typing import Any

from . import _core, _tables
from ._model import HasModel, Origin, load_model, not_fitted
from ._options import Levels, levels_of, real, whole, word
from ._predictor import Predictor
from ._tables import Floats


class Issued(tuple[Floats, Floats]):
    """Predictions and intervals of a batch of rows: a pair that knows the number of its batch.

    Attributes
    ----------
    y_pred : array of shape (n,)
    intervals : array of shape (n, 2, k)
        Lower bounds ``[:, 0, :]`` and upper bounds ``[:, 1, :]``.
    batch : int
        The number to give to `OnlinePredictor.observe` with the outcomes.
    """

    batch: int

    def __new__(cls, y_pred: Floats, intervals: Floats, batch: int) -> Issued:
        self = super().__new__(cls, (y_pred, intervals))
        self.batch = batch
        return self

    def __getnewargs__(self) -> tuple[Floats, Floats, int]:
        return self[0], self[1], self.batch

    @property
    def y_pred(self) -> Floats:
        return self[0]

    @property
    def intervals(self) -> Floats:
        return self[1]


class OnlinePredictor(HasModel):
    """Intervals for rows that arrive in time order: each outcome corrects the intervals issued after it.

    A calibration is valid for rows that are exchangeable with its own. When the errors of a model change over time,
    they are not. Here the long-run share of covered outcomes tends to the level for every sequence of outcomes.

    `predict_interval` issues a batch of intervals and records it. `observe` takes the outcomes, later and in any order,
    and scores them against the intervals that were issued. `track` does both for rows whose outcomes are known, as in a
    backtest.

    Parameters
    ----------
    predictor : Predictor
        A calibrated model. `load` resumes a stream that `save` wrote.
    confidence_level : float or list of k floats, optional
        By default the predictor's.
    method : {"adaptive", "decaying"}
        "adaptive" moves the level and takes quantiles of the last `window_rows` rows: it follows drift indefinitely
        (Gibbs and Candes 2021). "decaying" moves the quantile by steps that shrink: it settles when the stream does
        (Angelopoulos, Barber and Bates 2024).
    step : float, optional
        How far one miss moves the level: by default a twentieth of 1 - level for "adaptive", 1 for "decaying". A batch
        of more than 20 rows moves it as far as 20 rows at most.
    window_rows : int, optional
        Recent rows that "adaptive" takes quantiles of, at least, and that `recent_coverage` counts; 1000 by default.
        Quantiles are taken of ten batches when that is more.

    Examples
    --------
    >>> online = OnlinePredictor(predictor, confidence_level=0.9)   # doctest: +SKIP
    >>> for X, y in days:                                           # doctest: +SKIP
    ...     y_pred, intervals = online.predict_interval(X)          # in the morning
    ...     online.observe(X, y)                                    # in the evening

    Outcomes that come late, in any order:

    >>> monday = online.predict_interval(X_monday)                  # doctest: +SKIP
    >>> tuesday = online.predict_interval(X_tuesday)                # doctest: +SKIP
    >>> online.observe(X_tuesday, y_tuesday, batch=tuesday.batch)   # doctest: +SKIP
    >>> online.observe(X_monday, y_monday, batch=monday.batch)      # doctest: +SKIP
    """

    def __init__(
        self,
        predictor: Predictor,
        confidence_level: Levels | None = None,
        *,
        method: str = "adaptive",
        step: float | None = None,
        window_rows: int | None = None,
    ) -> None:
        model = predictor._fitted_model()
        if model.calibration_rows == 0:
            raise not_fitted("the model is not calibrated yet: give it rows that nothing was fitted on")
        self._model = model.with_online(None)  # the place in the stream is in _online alone
        self._origin = predictor._origin
        levels = levels_of(confidence_level, model.levels)
        rows = None if window_rows is None else whole(window_rows, "window_rows", minimum=1)
        self._online = _core.OnlineCalibration(
            model.calibration, levels, word(method, "method"), None if step is None else real(step, "step"), rows
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> OnlinePredictor:
        """Load a model file that `save` or ``widthwise track --save`` wrote, and resume its stream."""
        origin = Origin.of(path)
        model = load_model(path)
        online = model.online
        if online is None:
            raise ValueError(
                f"{os.fsdecode(path)}: this model follows no stream yet; "
                "begin with OnlinePredictor(Predictor.load(...), confidence_level)"
            )
        self = cls.__new__(cls)
        self._model = model.with_online(None)
        self._online = online
        self._origin = origin
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file with the state of the stream, pending batches included; `Predictor.load` reads it too.

        Raises `OSError` when the stream was loaded from that file and another process has changed it since.
        """
        self._save_model(self._model.with_online(self._online), path)

    @property
    def predictor(self) -> Predictor:
        """The predictor that this one began with, its calibration as it was."""
        return Predictor._of(self._model, self._origin)

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

    @property
    def longest_delay(self) -> int:
        """The greatest number of rows issued until an outcome was observed, from the first row of its batch on.

        The d of the guarantee: 1 row by row, b in batches of b rows.
        """
        return self._online.longest_delay

    @property
    def pending(self) -> dict[int, int]:
        """Batches whose outcomes are still to come, oldest first: batch number to rows pending.

        At most 100,000; the oldest is dropped when there are more.
        """
        return self._online.pending()

    def predict_interval(self, X: Any, y_pred: Any = None) -> Issued:
        """Issue a batch of intervals for new rows, from the outcomes observed so far.

        Parameters
        ----------
        X : table of shape (n, d)
        y_pred : array-like of shape (n,), optional
            Predictions; left out when the model makes its own.

        Returns
        -------
        y_pred : array of shape (n,)
        intervals : array of shape (n, 2, k)
            Lower bounds ``[:, 0, :]`` and upper bounds ``[:, 1, :]``. The returned pair has the number of the batch as
            its attribute ``batch``.
        """
        table, predictions = self._inputs(X, y_pred)
        if table.rows == 0:
            raise ValueError("X has no rows; a batch needs at least one")
        batch, f, intervals = self._online.issue(self._model, table, predictions)
        return Issued(f, intervals, batch)

    def observe(self, X: Any, y: Any, y_pred: Any = None, *, batch: int | None = None) -> None:
        """Learn outcomes of rows that `predict_interval` issued intervals for.

        Each outcome is scored against the interval that was issued. Rows of a batch may be observed in several calls.

        Parameters
        ----------
        X : table of shape (n, d)
            Rows of the batch, all or some, as they were given to `predict_interval`.
        y : array-like of shape (n,)
            Outcomes; rows with NaN stay pending.
        y_pred : array-like of shape (n,), optional
            Predictions, as they were given to `predict_interval`.
        batch : int, optional
            Number of the batch; may be left out when exactly one is pending.
        """
        batch = self._only_pending() if batch is None else whole(batch, "batch")
        table, predictions = self._inputs(X, y_pred)
        outcomes = _tables.not_infinite(_tables.numbers(y, "y", table.rows), "y")
        self._online.observe(batch, self._model, table, predictions, outcomes)

    def _only_pending(self) -> int:
        batches = list(self.pending)
        if len(batches) == 1:
            return batches[0]
        if not batches:
            raise ValueError(
                "no batch is pending: issue intervals with predict_interval before you observe outcomes, "
                "or use track for rows whose outcomes are known"
            )
        some = ", ".join(map(str, batches[:5])) + (", ..." if len(batches) > 5 else "")
        raise ValueError(
            f"{len(batches)} batches are pending ({some}): say which with batch=, the attribute `batch` of what "
            "predict_interval returned; drop gives up batches whose outcomes will not come"
        )

    def drop(self, batch: int) -> None:
        """Give up the pending outcomes of a batch; its rows count for nothing."""
        self._online.drop(whole(batch, "batch"))

    def track(
        self, X: Any, y: Any, y_pred: Any = None, *, batch_size: int = 1, delay: int = 0
    ) -> tuple[Floats, Floats]:
        """Issue and observe rows whose outcomes are known, in time order, as in a backtest.

        Parameters
        ----------
        X : table of shape (n, d)
        y : array-like of shape (n,)
            Outcomes; rows with NaN get intervals and are not recorded.
        y_pred : array-like of shape (n,), optional
            Predictions; left out when the model makes its own.
        batch_size : int, default 1
            Rows issued together. By default each outcome is observed before the next row is issued: choose the size
            of the batches that are issued in production.
        delay : int, default 0
            Batches issued before the outcomes of a batch are observed. All outcomes are observed at the end.

        Returns
        -------
        y_pred, intervals
            As `predict_interval`; each interval from the outcomes observed when its batch was issued.
        """
        batch_size = whole(batch_size, "batch_size", minimum=1)
        delay = whole(delay, "delay")
        table, predictions = self._inputs(X, y_pred)
        outcomes = _tables.not_infinite(_tables.numbers(y, "y", table.rows), "y")
        return self._online.track(self._model, table, predictions, outcomes, batch_size, delay)

    @property
    def coverage(self) -> list[float]:
        """The share of observed outcomes inside the intervals that were issued, for each level."""
        return self._shares("covered", "rows")

    @property
    def recent_coverage(self) -> list[float]:
        """The same of the last `window_rows` rows."""
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
