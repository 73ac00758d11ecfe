"""Intervals from arrays, for people without an estimator: features, predictions and outcomes in, intervals out."""

from __future__ import annotations

import errno
import math
import os
import warnings
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core, _tables
from ._engine import ProgressCallback, logger, progress, threads_of, xgboost_library
from ._evaluation import Evaluation, evaluate
from ._tables import Floats

Goal = str | float
Levels = float | Sequence[float] | NDArray[np.float64]

FITTED_ON = "fitted_on_rows"  # note of a model: the fingerprint of the rows that fitted it
FEWEST_ROWS_TO_TRAIN = 20


def levels_of(confidence_level: Levels | None, by_default: list[float]) -> list[float]:
    """One level or many as a list."""
    if confidence_level is None:
        return by_default
    levels = np.atleast_1d(np.asarray(confidence_level, dtype=np.float64))
    if levels.ndim != 1 or not len(levels):
        raise ValueError("confidence_level must be a number or a list of numbers between 0 and 1")
    return [float(level) for level in levels]


def goal_text(goal: Goal | None) -> str:
    """A goal as C++ reads it."""
    if goal is None or isinstance(goal, str):
        return goal or ""
    if isinstance(goal, Real) and not isinstance(goal, bool):
        return repr(float(goal))
    raise ValueError(f"goal is {goal!r}; expected 'even', 'narrow' or a number from 0 to 1")


def load_model(path: str | os.PathLike[str]) -> _core.Model:
    """Load a model file, with the exceptions that Python people expect."""
    file = os.fspath(path)
    try:
        return _core.Model.load(file)
    except OSError as error:
        if not Path(file).exists():
            raise FileNotFoundError(errno.ENOENT, "there is no model file", file) from None
        raise OSError(str(error)) from None


class Calibration:
    """A sample of scores of rows that nothing was fitted on; it knows which of them bounds the next.

    The same rows give the same calibration in whatever order and on however many machines they are added; a row that comes
    twice is an error, because it would make intervals too narrow.

    Parameters
    ----------
    capacity : int, default=1_000_000
        Rows kept of each group. Of more rows a uniform sample is kept; the guarantee stays exact.
    random_state : int, default=0
        Chooses the sample. Calibrations that are to be merged have the same.

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise import Calibration
    >>> calibration = Calibration().add(np.arange(1.0, 10.0))
    >>> len(calibration), calibration.quantile(0.9)
    (9, 9.0)
    >>> calibration.quantile(0.95)          # 9 rows are too few to promise that
    inf
    """

    def __init__(self, *, capacity: int = 1_000_000, random_state: int = 0) -> None:
        self._core = _core.Calibration(capacity, random_state)

    @classmethod
    def _of(cls, core: _core.Calibration) -> Calibration:
        self = cls.__new__(cls)
        self._core = core
        return self

    def add(
        self,
        scores: ArrayLike,
        *,
        above: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        first_row: int | None = None,
    ) -> Calibration:
        """Add scores, all of them or, when one is refused, none.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Of rows that nothing was fitted on; NaN is an error.
        above : array-like of bool, optional
            Whether the outcome lies above the prediction; quantiles of one side need it.
        weights : array-like of float, optional
            Likelihood ratios of the rows to predict to these, under covariate shift.
        groups : array-like of int, optional
            Categories that are calibrated apart (Mondrian).
        first_row : int, optional
            Number of the first row. Numbers are unique over everything that is ever merged; by default they go on from the
            rows added before.

        Returns
        -------
        Calibration
            This one.
        """
        values = _tables.numbers(scores, "scores")
        n = len(values)
        self._core.add(
            values,
            self.rows_seen if first_row is None else first_row,
            None if above is None else np.ascontiguousarray(above, dtype=bool),
            None if weights is None else _tables.numbers(weights, "weights", n),
            None if groups is None else _tables.integers(groups, "groups", n),
        )
        return self

    def merge(self, other: Calibration) -> Calibration:
        """Take in the rows of another calibration, of another machine say, and return this one."""
        self._core.merge(other._core)
        return self

    def quantile(self, confidence_level: float, *, group: int = 0, test_weight: float = 1.0) -> float:
        """The score that bounds the next one with this probability; infinite when there are too few rows."""
        return self._core.sorted().quantile(confidence_level, group, test_weight)

    def p_values(self, scores: ArrayLike, *, group: int = 0) -> Floats:
        """The p-values of scores: small where a score would surprise."""
        return self._core.sorted().p_values(_tables.numbers(scores, "scores"), group)

    @property
    def rows_seen(self) -> int:
        """Rows added so far, kept or not."""
        return self._core.rows_seen

    @property
    def groups(self) -> list[int]:
        """The groups seen, ascending."""
        return self._core.groups

    def to_bytes(self) -> bytes:
        """The calibration as bytes: equal for equal sets of rows."""
        return self._core.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Calibration:
        """Read back what `to_bytes` wrote; anything else is a ValueError."""
        return cls._of(_core.Calibration.from_bytes(data))

    def __len__(self) -> int:
        return self._core.rows_kept

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Calibration) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> bytes:
        return self.to_bytes()

    def __setstate__(self, state: bytes) -> None:
        self._core = _core.Calibration.from_bytes(state)

    def __repr__(self) -> str:
        return f"Calibration of {len(self):,} rows"


class _HasModel:
    """What a localizer and a predictor share: a C++ model, and the way to give it rows."""

    _model: _core.Model

    @property
    def features(self) -> list[str]:
        """Names of the columns of X that widths depend on."""
        return self._model.features

    @property
    def transform(self) -> str:
        """The transform that was trained."""
        return self._model.transform

    @property
    def two_sided(self) -> bool:
        """Whether the two sides of an interval were learnt apart."""
        return self._model.two_sided

    def _table(self, X: Any) -> _core.Table:
        table, named = _tables.read(X)
        return _tables.select_names(table, self._model.features, named)

    def _predictions(self, y_pred: Any, rows: int) -> Floats | None:
        if y_pred is None:
            if self._model.needs_predictions:
                raise ValueError("this model has no base model: give the predictions of the rows as y_pred")
            return None
        if not self._model.needs_predictions:
            raise ValueError("this model makes its own predictions: leave y_pred out")
        return _tables.numbers(y_pred, "y_pred", rows)

    def _inputs(self, X: Any, y_pred: Any) -> tuple[_core.Table, Floats | None]:
        table = self._table(X)
        return table, self._predictions(y_pred, table.rows)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if "_model" in state:
            state["_model"] = self._model.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_model" in state:
            self._model = _core.Model.from_bytes(state["_model"])


def _groups(groups: Any, rows: int) -> NDArray[np.int64] | None:
    return None if groups is None else _tables.integers(groups, "groups", rows)


class Localizer(_HasModel):
    """Learns from a model's errors how its uncertainty depends on the row.

    Parameters
    ----------
    goal : {"even", "narrow"} or float, default="even"
        What intervals are to be: even, the same coverage everywhere; narrow, the smallest mean width; or a number between, 1
        being even.
    transform : str, default="auto"
        How a score depends on the row: auto is exp, or affine for the goal narrow.
    two_sided : bool, default=False
        Learn the lower and the upper side apart: for outcomes that are skewed around the prediction.
    window : (float, float), optional
        Levels to train for, as (0.85, 0.95); by default all count alike.
    outcome_range : (float, float), optional
        What is known of y; intervals are cut to it. Use infinities for one side.
    random_state : int, default=0
    n_jobs : int, optional
        Threads of XGBoost; by default all processors.
    verbose : int, default=0
        1 shows how far training is.

    Attributes
    ----------
    fit_report_ : dict
        What the goal costs and gives on rows held out, beside one width for all and the other end of the dial.

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise import Localizer, Predictor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 4, (3000, 1))
    >>> y = X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=3000)
    >>> y_pred = X[:, 0]                                                        # of a model that has not seen these rows
    >>> localizer = Localizer(n_jobs=1).fit(X[:2000], y[:2000], y_pred[:2000])
    >>> calibration = localizer.calibrate(X[2000:], y[2000:], y_pred[2000:])    # rows that nothing was fitted on
    >>> _, intervals = Predictor(localizer, calibration).predict_interval([[1.0], [3.0]], [1.0, 3.0])
    >>> width = intervals[:, 1, 0] - intervals[:, 0, 0]
    >>> bool(2 < width[1] / width[0] < 4)                                       # errors are three times as large at 3
    True
    """

    fit_report_: dict[str, Any]

    def __init__(
        self,
        *,
        goal: Goal | None = "even",
        transform: str = "auto",
        two_sided: bool = False,
        window: tuple[float, float] | None = None,
        outcome_range: tuple[float, float] | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self._options: dict[str, Any] = {
            "goal": goal_text(goal),
            "transform": transform,
            "two_sided": two_sided,
            "window": window,
            "range": outcome_range or (-math.inf, math.inf),
            "seed": random_state,
        }
        self._n_jobs = n_jobs
        self._verbose = verbose

    def fit(self, X: Any, y: Any, y_pred: Any) -> Localizer:
        """Train on rows with out-of-sample predictions.

        Parameters
        ----------
        X : table of shape (n, d)
            NumPy, pandas, polars, pyarrow, a DuckDB relation, or anything that streams Arrow. NaN is a missing value. Columns
            without numbers are left out.
        y : array-like of shape (n,)
            Outcomes.
        y_pred : array-like of shape (n,)
            Predictions by a model that had not seen the rows: cross-validated, say.

        Returns
        -------
        Localizer
            This one.
        """
        table, _ = _tables.read(X)
        table, left_out = _tables.select_numbers(table)
        if left_out:
            logger.info("left out what does not hold numbers: %s", ", ".join(left_out))
        self._fit(
            table,
            _tables.numbers(y, "y", table.rows),
            _tables.numbers(y_pred, "y_pred", table.rows),
            target=_tables.name_of(y, "y"),
            prediction=_tables.name_of(y_pred, "y_pred"),
        )
        return self

    def _fit(
        self,
        table: _core.Table,
        y: Floats,
        y_pred: Floats | None,
        *,
        target: str,
        prediction: str,
        levels: list[float] | None = None,
        base: str = "",
        folds: int = _core.FOLDS,
        calibration_share: float = 0.0,
        may_be_exact: bool = False,
    ) -> None:
        options = dict(self._options)
        if prediction == target:
            prediction += "_pred"
        if len(y) * (1 - calibration_share) < FEWEST_ROWS_TO_TRAIN and options["transform"] == "auto":
            warnings.warn(
                f"{len(y)} rows are too few to learn how errors depend on the row: all intervals have one width",
                UserWarning,
                stacklevel=3,
            )
            options["transform"] = "identity"
        callback: ProgressCallback | None
        with progress(self._verbose) as callback:
            self._model, self.fit_report_ = _core.fit(
                table=table,
                y=y,
                predictions=y_pred,
                target=target,
                prediction=prediction,
                base=base,
                levels=levels or [0.9],
                calibration_share=calibration_share,
                folds=folds,
                may_be_exact=may_be_exact,
                compare=True,
                threads=threads_of(self._n_jobs),
                xgboost=xgboost_library() if base == "xgboost" or options["transform"] != "identity" else "",
                progress=callback,
                **options,
            )
        self._model = self._model.with_notes({FITTED_ON: _fingerprint(table, y)})
        for warning in self.fit_report_["warnings"]:
            warnings.warn(warning, UserWarning, stacklevel=3)
        logger.info("%s", self.fit_report_["in_words"])

    @classmethod
    def from_booster(
        cls, booster: Any, objective: Any, X: Any, y: Any, y_pred: Any, *, unit: float | None = None
    ) -> Localizer:
        """Take the localizer that ``xgboost.train`` made with a `widthwise.xgboost.WidthObjective`.

        Parameters
        ----------
        booster : xgboost.Booster
            Trained on the numbers of `X` with the prediction as the last column, as `widthwise.xgboost.training_matrix`
            gives them. Of a booster that stopped early the best rounds are taken.
        objective : widthwise.xgboost.WidthObjective
            What it was trained with.
        X, y, y_pred
            The rows it was trained on, or a sample of them.
        unit : float, optional
            What residuals were divided by; by default as the objective does.
        """
        table, _ = _tables.read(X)
        table, _ = _tables.select_numbers(table)
        outcomes = _tables.numbers(y, "y", table.rows)
        residuals = outcomes - _tables.numbers(y_pred, "y_pred", table.rows)
        best = booster.attr("best_iteration")
        if best is not None:
            booster = booster[: int(best) + 1]
        self = cls(goal=objective.goal, transform=objective.transform, two_sided=objective.two_sided)
        self._model = _core.Model.from_xgboost(
            bytes(booster.save_raw("ubj")),
            objective.transform,
            objective.goal,
            objective.two_sided,
            table.names,
            _tables.name_of(y, "y"),
            _tables.name_of(y_pred, "y_pred"),
            residuals,
            unit or objective.unit or _core.unit_near(float(np.mean(np.abs(residuals)))),
            [0.9],
        ).with_notes({FITTED_ON: _fingerprint(table, outcomes)})
        return self

    def parameters(self, X: Any, y_pred: Any) -> Floats:
        """The parameters of the transform for each row, of shape (n, P)."""
        return self._fitted()._model.parameters(*self._inputs(X, y_pred))

    def difficulty(self, X: Any, y_pred: Any) -> Floats:
        """How large errors are expected to be, up to one factor; for transforms that only rescale (goal even)."""
        return self._fitted()._model.scales(*self._inputs(X, y_pred))

    def scores(self, X: Any, y: Any, y_pred: Any) -> Floats:
        """The scores of rows with outcomes: what a calibration holds."""
        table, predictions = self._fitted()._inputs(X, y_pred)
        return self._model.scores(table, predictions, _tables.numbers(y, "y", table.rows))

    def half_widths(self, X: Any, y_pred: Any, scores: ArrayLike) -> tuple[Floats, Floats]:
        """The distances from the prediction to the lower and the upper bound that these scores give.

        Parameters
        ----------
        scores : array-like of shape (n, m) or (m,)
            Scores to turn back for each row, or the same for all.

        Returns
        -------
        lower, upper : arrays of shape (n, m)
            Not negative; equal when the localizer is one-sided.
        """
        table, predictions = self._fitted()._inputs(X, y_pred)
        q = np.asarray(scores, dtype=np.float64)
        q = np.ascontiguousarray(np.broadcast_to(q, (table.rows, q.shape[-1])))
        return self._model.half_widths(table, predictions, q)

    def calibrate(
        self, X: Any, y: Any, y_pred: Any, *, groups: Any = None, calibration: Calibration | None = None
    ) -> Calibration:
        """Score rows that nothing was fitted on.

        Parameters
        ----------
        X, y, y_pred
            Fresh rows, with outcomes and predictions.
        groups : array-like of int, optional
            Categories that get a promise each (Mondrian).
        calibration : Calibration, optional
            To add to; by default a new one.
        """
        self._fitted()
        calibration = calibration if calibration is not None else Calibration()
        _calibrate(self._model, calibration._core, *self._inputs(X, y_pred), groups, y)
        return calibration

    def _fitted(self) -> Localizer:
        if not hasattr(self, "_model"):
            raise _not_fitted("this Localizer is not fitted yet: call fit with X, y and y_pred")
        return self

    def __repr__(self) -> str:
        state = f"{self.transform}, {len(self.features)} features" if hasattr(self, "_model") else "not fitted"
        return f"Localizer({state})"


class Predictor(_HasModel):
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
        self._model = localizer._fitted()._model.with_calibration(calibration._core)

    @classmethod
    def _of(cls, model: _core.Model) -> Predictor:
        self = cls.__new__(cls)
        self._model = model
        return self

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Predictor:
        """Load a model file. The file is checked and never executed."""
        return cls._of(load_model(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, whole or not at all, which C++ and the command line load, too."""
        self._model.save(os.fspath(path))

    @property
    def needs_predictions(self) -> bool:
        """Whether rows bring their predictions; else the model makes them."""
        return self._model.needs_predictions

    @property
    def calibration(self) -> Calibration:
        """A copy of the calibration."""
        return Calibration._of(self._model.calibration)

    @property
    def confidence_levels(self) -> list[float]:
        """What is predicted when nobody says."""
        return self._model.levels

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
        return self._model.intervals(table, predictions, _groups(groups, table.rows), levels)

    def predict_p(self, X: Any, y: Any, y_pred: Any = None, *, groups: Any = None) -> Floats:
        """The p-values of outcomes y: small where an outcome would surprise."""
        table, predictions = self._inputs(X, y_pred)
        outcomes = _tables.numbers(y, "y", table.rows)
        return self._model.p_values(table, predictions, _groups(groups, table.rows), outcomes)

    def predict_quantile(self, X: Any, quantiles: Levels, y_pred: Any = None, *, groups: Any = None) -> Floats:
        """Quantiles of the outcome, of shape (n, k).

        An outcome lies below a quantile of t >= 0.5 with probability at least t, above one of t < 0.5 with probability at
        least 1 - t.
        """
        table, predictions = self._inputs(X, y_pred)
        return self._model.quantiles(table, predictions, _groups(groups, table.rows), levels_of(quantiles, []))

    def evaluate(
        self, X: Any, y: Any, y_pred: Any = None, *, confidence_level: Levels | None = None, groups: Any = None
    ) -> Evaluation:
        """Say whether intervals keep their promise on rows the model has not seen, and where they do not."""
        table, predictions = self._inputs(X, y_pred)
        levels = self._checked_levels(confidence_level)
        outcomes = _tables.numbers(y, "y", table.rows)
        return evaluate(self._model, table, predictions, _groups(groups, table.rows), outcomes, levels)

    def calibrated(
        self, X: Any, y: Any, y_pred: Any = None, *, groups: Any = None, replace: bool = False
    ) -> Predictor:
        """This predictor with fresh rows added to its calibration, or with these rows alone."""
        core = _core.Calibration() if replace else self._model.calibration
        _calibrate(self._model, core, *self._inputs(X, y_pred), groups, y)
        return Predictor._of(self._model.with_calibration(core))

    def _checked_levels(self, confidence_level: Levels | None) -> list[float]:
        levels = levels_of(confidence_level, self._model.levels)
        rows = self._model.calibration_rows
        if rows == 0:
            raise _not_fitted("the model is not calibrated yet: give it rows that nothing was fitted on")
        for level in levels:
            needed = _core.least_rows(level)
            if rows < needed:
                warnings.warn(
                    f"intervals of level {level:g} are infinite: it needs {needed} calibration rows, "
                    f"the model has {rows}; calibrate with more",
                    UserWarning,
                    stacklevel=4,
                )
        return levels

    def __repr__(self) -> str:
        rows = self._model.calibration_rows
        return f"Predictor({self.transform}, {len(self.features)} features, {rows:,} calibration rows)"


def _calibrate(
    model: _core.Model, core: _core.Calibration, table: _core.Table, y_pred: Floats | None, groups: Any, y: Any
) -> None:
    """Add rows to a calibration; the very rows that fitted the model are refused."""
    outcomes = _tables.numbers(y, "y", table.rows)
    fingerprint = _fingerprint(table, outcomes)
    if model.notes.get(FITTED_ON) == fingerprint:
        raise ValueError(
            "these very rows fitted the model, so their errors are too small: calibrate with rows it has not seen"
        )
    # Numbered by their content, so that a table that is given twice is found.
    model.calibrate(core, table, y_pred, _groups(groups, table.rows), outcomes, int(fingerprint, 16) >> 1)
    residuals = outcomes - (model.predictions(table) if y_pred is None else y_pred)
    if warning := model.in_sample_warning(residuals):
        warnings.warn(warning, UserWarning, stacklevel=4)


def _fingerprint(table: _core.Table, y: Floats) -> str:
    outcomes = _core.Table.from_columns([y], ["y"], [0], len(y))
    return f"{table.fingerprint() ^ outcomes.fingerprint():016x}"


def _not_fitted(message: str) -> Exception:
    """scikit-learn's exception where there is scikit-learn; it is a ValueError, too."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return ValueError(message)
    error: Exception = NotFittedError(message)
    return error
