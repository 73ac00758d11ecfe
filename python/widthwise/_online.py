"""Online conformal intervals for streams that drift."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _core, _tables
from ._batches import predictor_of
from ._model import HasModel, Origin, inputs_of, load_model, not_fitted
from ._options import Levels, levels_of, real, whole, word
from ._predictor import Predictor
from ._tables import Floats
from ._warn import warn

if TYPE_CHECKING:
    from ._regressor import WidthwiseRegressor


class Issued(tuple[Floats, Floats]):
    """Predictions and intervals of a batch: a pair with the batch number as an attribute.

    Attributes
    ----------
    y_pred : array of shape (n,)
    intervals : array of shape (n, 2, k)
        Lower bounds ``[:, 0, :]`` and upper bounds ``[:, 1, :]``.
    batch : int
        Batch number to pass to `OnlinePredictor.observe`.
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
    """Online intervals for rows that arrive in time order, updated with each observed outcome.

    A fixed calibration is valid for rows that are exchangeable with the calibration rows. When the errors of a model
    change over time, rows are not exchangeable. Online, the long-run coverage tends to the level for every sequence of
    outcomes.

    `predict_interval` issues a batch of intervals and records it. `observe` takes outcomes later, in any order, and
    scores them against the issued intervals. `track` does both for rows whose outcomes are known, as in a backtest.

    Parameters
    ----------
    predictor : Predictor or WidthwiseRegressor
        A calibrated model. The estimator of a `WidthwiseRegressor` makes the predictions of rows without ``y_pred``; it is
        not saved with the stream. `load` resumes a stream that `save` wrote, with ``estimator=``.
    confidence_level : float or list of k floats, optional
        By default the levels of the predictor.
    method : {"adaptive", "decaying"}
        "adaptive" adjusts the level with constant steps and uses quantiles of the last `window_rows` rows; it follows
        drift indefinitely (Gibbs and Candes 2021). "decaying" adjusts the quantile with shrinking steps; it
        converges for stationary streams (Angelopoulos, Barber and Bates 2024).
    step : float, optional
        Step size of one update; by default (1 - level) / 20 for "adaptive" and 1 for "decaying". A batch of more than
        20 rows counts as 20 rows.
    window_rows : int, optional
        Recent rows used for the quantiles of "adaptive" and for `recent_coverage`; 1000 by default. Quantiles use ten
        batches if these have more rows.
    false_alarm_rate : float, default=0.01
        Maximum probability that `alarm` is ever set for a stream that is exchangeable with the calibration rows. 0 for
        no alarm.

    Examples
    --------
    >>> online = OnlinePredictor(predictor, confidence_level=0.9)   # doctest: +SKIP
    >>> for X, y in days:                                           # doctest: +SKIP
    ...     y_pred, intervals = online.predict_interval(X)          # in the morning
    ...     online.observe(X, y)                                    # in the evening

    Delayed outcomes, in any order:

    >>> monday = online.predict_interval(X_monday)                  # doctest: +SKIP
    >>> tuesday = online.predict_interval(X_tuesday)                # doctest: +SKIP
    >>> online.observe(X_tuesday, y_tuesday, batch=tuesday.batch)   # doctest: +SKIP
    >>> online.observe(X_monday, y_monday, batch=monday.batch)      # doctest: +SKIP
    """

    _regressor: WidthwiseRegressor | None = None

    def __init__(
        self,
        predictor: Predictor | WidthwiseRegressor,
        confidence_level: Levels | None = None,
        *,
        method: str = "adaptive",
        step: float | None = None,
        window_rows: int | None = None,
        false_alarm_rate: float = 0.01,
    ) -> None:
        if not isinstance(predictor, Predictor):
            if not hasattr(predictor, "conformalize"):
                raise TypeError(
                    f"predictor is a {type(predictor).__name__}; expected a Predictor or a WidthwiseRegressor; OnlinePredictor.load "
                    "opens a file"
                )
            self._regressor = predictor._as_it_is()
            predictor = predictor_of(predictor)
        model = predictor._fitted_model()
        if model.calibration_rows == 0:
            raise not_fitted("the model is not calibrated; calibrate it with rows that no model was fitted on")
        self._model = model.with_online(None)  # only _online stores the online state
        self._origin = predictor._origin
        levels = levels_of(confidence_level, model.levels)
        rows = None if window_rows is None else whole(window_rows, "window_rows", minimum=1)
        self._online = _core.OnlineCalibration(
            model.calibration,
            levels,
            word(method, "method"),
            None if step is None else real(step, "step"),
            rows,
            real(false_alarm_rate, "false_alarm_rate"),
        )

    def _inputs(self, X: Any, y_pred: Any) -> tuple[_core.Table, Floats | None]:
        if self._regressor is not None:
            X, y_pred = self._regressor._inputs(X, y_pred)
        # A batch may have one new label throughout, such as a season; the bound of a stream holds for every sequence.
        return inputs_of(self._fitted_model(), X, y_pred, all_rows=False)

    @classmethod
    def load(cls, path: str | os.PathLike[str], estimator: Any = None) -> OnlinePredictor:
        """Load a model file written by `save` or ``widthwise track --save`` and resume its stream.

        Parameters
        ----------
        path : path-like
        estimator : fitted estimator, optional
            The estimator whose predictions the model was fitted to, as in `WidthwiseRegressor.load`: it makes the
            predictions of rows without ``y_pred``.
        """
        origin = Origin.of(path)
        model = load_model(path)
        online = model.online
        if online is None:
            raise ValueError(
                f"{os.fsdecode(path)}: the model has no online state; start with "
                f"OnlinePredictor(Predictor.load(...), confidence_level)"
            )
        self = cls.__new__(cls)
        self._model = model.with_online(None)
        self._online = online
        self._origin = origin
        if estimator is not None:
            from ._regressor import WidthwiseRegressor

            self._regressor = WidthwiseRegressor._of(self.predictor, estimator)
        return self

    def __getattr__(self, name: str) -> Any:
        """Explain the method that a stream does not have."""
        if name == "predict_quantile":
            raise AttributeError(
                "a stream tracks intervals, not quantiles; an end of an interval of level t is a one-sided bound of "
                "level t: predict_interval(X).intervals[:, 1, 0] is exceeded at most as often as the interval misses"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file with the online state, including pending batches. `Predictor.load` also reads it.

        Raises `OSError` if the stream was loaded from that file and another process has changed the file since.
        """
        self._save_model(self._model.with_online(self._online), path)

    @property
    def predictor(self) -> Predictor:
        """The predictor with the original calibration."""
        return Predictor._of(self._model, self._origin)

    @property
    def confidence_levels(self) -> list[float]:
        """Confidence levels."""
        return self._online.levels

    @property
    def method(self) -> str:
        """Update method."""
        return self._online.method

    @property
    def rows_observed(self) -> int:
        """Number of rows with observed outcomes."""
        return self._online.rows

    @property
    def longest_delay(self) -> int:
        """Largest number of rows issued from the first row of a batch until one of its outcomes was observed.

        This is d in the guarantee: 1 row by row, b in batches of b rows.
        """
        return self._online.longest_delay

    @property
    def pending(self) -> dict[int, int]:
        """Pending batches, oldest first: batch number to number of pending rows.

        At most 100,000; the oldest batch is dropped if there are more.
        """
        return self._online.pending()

    def predict_interval(self, X: Any, y_pred: Any = None) -> Issued:
        """Issue a batch of intervals for new rows, from the outcomes observed so far.

        Parameters
        ----------
        X : table of shape (n, d)
        y_pred : array-like of shape (n,) or (n, 2), optional
            Predictions, if the model has no base model.

        Returns
        -------
        y_pred : array of shape (n,)
        intervals : array of shape (n, 2, k)
            Lower bounds ``[:, 0, :]`` and upper bounds ``[:, 1, :]``. The returned pair has the number of the batch as
            its attribute ``batch``.
        """
        table, predictions = self._inputs(X, y_pred)
        if table.rows == 0:
            raise ValueError("X has no rows; expected at least one")
        batch, f, intervals = self._online.issue(self._model, table, predictions)
        return Issued(f, intervals, batch)

    def observe(self, X: Any, y: Any, y_pred: Any = None, *, batch: int | None = None) -> None:
        """Observe outcomes of rows issued by `predict_interval`.

        Each outcome is scored against the interval that was issued. Rows of a batch may be observed in several calls.
        Rows are recognised by their features. A row that was not issued in the batch, a row that was already observed
        and rows that fitted the model raise `ValueError`, and no outcome of the call is observed.

        Parameters
        ----------
        X : table of shape (n, d)
            All or some rows of the batch, as passed to `predict_interval`.
        y : array-like of shape (n,)
            Outcomes; rows with NaN stay pending.
        y_pred : array-like of shape (n,) or (n, 2), optional
            Predictions, as passed to `predict_interval`.
        batch : int, optional
            Batch number; optional if exactly one batch is pending.
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
                "no batch is pending; call predict_interval before observe, or use track for rows with known outcomes"
            )
        some = ", ".join(map(str, batches[:5])) + (", ..." if len(batches) > 5 else "")
        raise ValueError(
            f"{len(batches)} batches are pending ({some}); pass batch=, the attribute `batch` of the result of "
            f"predict_interval, or drop batches without outcomes"
        )

    def drop(self, batch: int) -> None:
        """Drop a pending batch. Its rows are ignored."""
        self._online.drop(whole(batch, "batch"))

    def track(
        self, X: Any, y: Any, y_pred: Any = None, *, batch_size: int = 1, delay: int = 0
    ) -> tuple[Floats, Floats]:
        """Issue and observe rows whose outcomes are known, in time order, as in a backtest.

        Raises `ValueError` if more rows than by chance fitted the model or were observed before; no outcome is then
        observed. Fewer than 30 rows can always repeat by chance.

        Parameters
        ----------
        X : table of shape (n, d)
        y : array-like of shape (n,)
            Outcomes; rows with NaN get intervals and are not recorded.
        y_pred : array-like of shape (n,) or (n, 2), optional
            Predictions, if the model has no base model.
        batch_size : int, default 1
            Rows per batch. By default each outcome is observed before the next row is issued; use the batch size of
            production.
        delay : int, default 0
            Number of later batches, not rows, issued before the outcomes of a batch are observed. All outcomes are
            observed at the end. A warning says if no outcome was observed before the last batch, so that no interval
            was updated.

        Returns
        -------
        y_pred, intervals
            As `predict_interval`; each interval uses only outcomes observed before its batch was issued.
        """
        batch_size = whole(batch_size, "batch_size", minimum=1)
        delay = whole(delay, "delay")
        table, predictions = self._inputs(X, y_pred)
        outcomes = _tables.not_infinite(_tables.numbers(y, "y", table.rows), "y")
        f, intervals, warning = self._online.track(self._model, table, predictions, outcomes, batch_size, delay)
        if warning:
            warn(warning)
        return f, intervals

    @property
    def coverage(self) -> list[float]:
        """Coverage of the issued intervals per level."""
        return self._measured("coverage")

    @property
    def recent_coverage(self) -> list[float]:
        """Coverage of the last `window_rows` rows per level."""
        return self._measured("recent_coverage")

    @property
    def fixed_coverage(self) -> list[float]:
        """Coverage that the original calibration would have had, per level."""
        return self._measured("fixed_coverage")

    @property
    def alarm(self) -> dict[str, Any] | None:
        """The alarm that rows stopped being exchangeable with the calibration rows; None if there was none.

        A dict with ``row``, counted from 1 in the order in which outcomes were observed, and ``errors``, "larger" or
        "smaller" than those of the calibration rows. The probability that an alarm is ever raised for an exchangeable
        stream is at most `false_alarm_rate`, provided that the order of the outcomes does not depend on their values.
        """
        state = self.exchangeability
        return None if state is None else state["alarm"]

    @property
    def exchangeability(self) -> dict[str, Any] | None:
        """The test behind `alarm`; None if it is switched off or the state was saved by a version without it.

        A dict with ``false_alarm_rate``, ``rows``, ``alarm``, ``log_martingale``, ``highest_log_martingale`` and
        ``text``. The alarm is raised when the logarithm of the martingale reaches ``log(1 / false_alarm_rate)``.
        """
        report: dict[str, Any] | None = self._online.report()["exchangeability"]
        return report

    def _measured(self, name: str) -> list[float]:
        return [level[name] for level in self._online.report()["levels"]]

    def __getstate__(self) -> dict[str, Any]:
        return {"_model": self._model.with_online(self._online).to_bytes(), "_regressor": self._regressor}

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = _core.Model.from_bytes(state["_model"])
        assert model.online is not None
        self._model = model.with_online(None)
        self._online = model.online
        self._regressor = state["_regressor"]

    def __repr__(self) -> str:
        levels = ", ".join(f"{level:g}" for level in self.confidence_levels)
        return f"OnlinePredictor({self.method}, level {levels}, {_core.count_of(self.rows_observed, 'row')} observed)"
