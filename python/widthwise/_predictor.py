"""Intervals, p-values and quantiles from a localizer and a calibration."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from . import _core, _tables
from ._calibration import Calibration
from ._evaluation import Evaluation, evaluate
from ._model import HOW_TO_CALIBRATE, HasModel, Origin, add_rows, groups_of, load_model
from ._options import Guarantee, Levels, guarantee_of, guarantee_text, levels_of
from ._tables import Floats

if TYPE_CHECKING:
    from ._localizer import Localizer


class Predictor(HasModel):
    """Intervals, p-values and quantiles from a localizer and a calibration.

    Parameters
    ----------
    localizer : Localizer
    calibration : Calibration
        Of this localizer's scores.

    Examples
    --------
    See `Localizer`. A model file that ``widthwise fit`` or `WidthwiseRegressor.save` wrote is a predictor, too:

    >>> from widthwise import Predictor
    >>> predictor = Predictor.load("homes.safetensors")         # doctest: +SKIP
    >>> y_pred, intervals = predictor.predict_interval(X_new)   # doctest: +SKIP
    """

    def __init__(self, localizer: Localizer, calibration: Calibration) -> None:
        with calibration._lock:
            self._model = localizer._fitted_model().with_calibration(calibration._core, calibration._rows)

    @classmethod
    def _of(cls, model: _core.Model, origin: Origin | None = None) -> Predictor:
        self = cls.__new__(cls)
        self._model = model
        self._origin = origin
        return self

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Predictor:
        """Load a model file. The file is checked and never executed."""
        origin = Origin.of(path)
        return cls._of(load_model(path), origin)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, whole or not at all, which C++ and the command line load, too.

        Raises `OSError` when this model was loaded from that file, `calibrated` included, and the file has changed
        since: the update of another process would be lost. Load the file again and repeat the update.
        """
        self._save_model(self._model, path)

    @property
    def needs_predictions(self) -> bool:
        """Whether rows bring their predictions; else the model makes them."""
        return self._model.needs_predictions

    @property
    def calibration(self) -> Calibration:
        """A copy of the calibration."""
        return Calibration._of(self._model.calibration, self._model.calibration_sketch)

    @property
    def confidence_levels(self) -> list[float]:
        """What is predicted when nobody says."""
        return self._model.levels

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of intervals and quantiles: "marginal", or the confidence of a training-conditional one."""
        return guarantee_of(self._model.guarantee)

    def with_guarantee(self, guarantee: Guarantee) -> Predictor:
        """This predictor with another guarantee; nothing is fitted or calibrated again.

        Parameters
        ----------
        guarantee : "marginal" or float
            See `WidthwiseRegressor`.
        """
        return Predictor._of(self._model.with_guarantee(guarantee_text(guarantee)), self._origin)

    def predict(self, X: Any) -> Floats:
        """Predictions of the base model."""
        table, _ = self._inputs(X, None)
        return self._model.predictions(table)

    def predict_interval(
        self, X: Any, y_pred: Any = None, *, confidence_level: Levels | None = None, groups: Any = None
    ) -> tuple[Floats, Floats]:
        """Predictions and intervals.

        Parameters
        ----------
        X : table of shape (n, d)
            With the columns that were seen in fit, in any order; further ones do not matter.
        y_pred : array-like of shape (n,), optional
            Predictions; left out when the model makes its own.
        confidence_level : float or list of k floats, optional
        groups : array-like of int, optional
            The rows' categories, when the calibration has them. One that was not calibrated gets an infinite interval.

        Returns
        -------
        y_pred : array of shape (n,)
        intervals : array of shape (n, 2, k)
            Lower bounds ``[:, 0, :]`` and upper bounds ``[:, 1, :]``.
        """
        levels = self._checked_levels(confidence_level)
        table, predictions = self._inputs(X, y_pred)
        return self._model.intervals(table, predictions, groups_of(groups, table.rows), levels)

    def predict_p(self, X: Any, y: Any, y_pred: Any = None, *, groups: Any = None) -> Floats:
        """The p-values of outcomes y: small where an outcome would surprise."""
        table, predictions = self._inputs(X, y_pred)
        outcomes = _tables.numbers(y, "y", table.rows)
        self._warn_if_uncalibrated(stacklevel=3)
        return self._model.p_values(table, predictions, groups_of(groups, table.rows), outcomes)

    def predict_quantile(self, X: Any, quantiles: Levels, y_pred: Any = None, *, groups: Any = None) -> Floats:
        """Quantiles of the outcome, of shape (n, k).

        An outcome lies below a quantile of t >= 0.5 with probability at least t, above one of t < 0.5 with probability
        at least 1 - t.
        """
        table, predictions = self._inputs(X, y_pred)
        self._warn_if_uncalibrated(stacklevel=3)
        return self._model.quantiles(table, predictions, groups_of(groups, table.rows), levels_of(quantiles, []))

    def evaluate(
        self, X: Any, y: Any, y_pred: Any = None, *, confidence_level: Levels | None = None, groups: Any = None
    ) -> Evaluation:
        """Say whether intervals keep their promise on rows the model has not seen, and where they do not."""
        table, predictions = self._inputs(X, y_pred)
        levels = self._checked_levels(confidence_level)
        outcomes = _tables.outcomes(y, table.rows)
        self._model.check_outcomes(outcomes)
        evaluation = evaluate(self._model, table, predictions, groups_of(groups, table.rows), outcomes, levels)
        if seen := evaluation["seen"]:
            warnings.warn(seen["text"], UserWarning, stacklevel=2)
        return evaluation

    def calibrated(
        self, X: Any, y: Any, y_pred: Any = None, *, groups: Any = None, key: Any = None, replace: bool = False
    ) -> Predictor:
        """This predictor with fresh rows added to its calibration, or with these rows alone.

        Parameters
        ----------
        X, y, y_pred
            Rows that nothing was fitted on, with outcomes and, when the model does not make them, predictions. Rows that
            fitted the model, or are already in its calibration set, are refused in any order and format.
        groups : array-like of int, optional
            Calibrate each group separately (Mondrian). A calibration has groups for all of its rows or for none: to
            begin with groups, use ``replace=True``.
        key : array-like of int, optional
            A number for each row that no other row has, in this call or another. Then the result is the same to the
            byte however the rows are ordered and split into calls. By default rows are known by the whole table.
        replace : bool, default=False
            Forget the calibration there was, and use these rows alone.
        """
        calibration = Calibration() if replace else self.calibration
        add_rows(self._model, calibration, *self._inputs(X, y_pred), groups, y, key)
        return Predictor._of(self._model.with_calibration(calibration._core, calibration._rows), self._origin)

    def _checked_levels(self, confidence_level: Levels | None) -> list[float]:
        levels = levels_of(confidence_level, self._model.levels)
        rows = self._model.calibration_rows
        if self._warn_if_uncalibrated(stacklevel=5):
            return levels
        for level in levels:
            needed = _core.min_rows(level, self._model.guarantee)
            if rows < needed:
                warnings.warn(
                    f"intervals of level {level:g} are infinite: it needs {needed} calibration rows, "
                    f"the model has {rows}; calibrate with more",
                    UserWarning,
                    stacklevel=4,
                )
        return levels

    def _warn_if_uncalibrated(self, stacklevel: int) -> bool:
        why = self._model.uncalibrated()
        if why:
            warnings.warn(f"{why}: {HOW_TO_CALIBRATE}", UserWarning, stacklevel=stacklevel)
        return bool(why)

    def __repr__(self) -> str:
        rows = self._model.calibration_rows
        return f"Predictor({self.transform}, {len(self.features)} features, {rows:,} calibration rows)"
