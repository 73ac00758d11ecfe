"""Fit an estimator of another library to the rows that a plan of the C++ library names, and predict the others."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from . import _core, _tables
from ._categories import Categories, with_categories, with_used_categories
from ._engine import logger
from ._fit_rows import FitRows
from ._localizer import Localizer
from ._predictions import Predictions
from ._progress import Steps
from ._tables import Floats

Folds = list[tuple[Any, Any]]


class Fitted(NamedTuple):
    """An estimator that was fitted here, and the categories that it knows."""

    estimator: Any
    categories: Categories

    def predict(self, X: Any) -> Floats:
        """One number per row, or two of an estimator that predicts a lower and an upper quantile."""
        return predictions_of(self.estimator, with_categories(X, self.categories))


def predictions_of(estimator: Any, X: Any) -> Floats:
    """One number per row, or two of an estimator that predicts a lower and an upper quantile."""
    name = "the estimator's prediction"
    made = _tables.floats(estimator.predict(X), name)
    return np.ascontiguousarray(made) if made.ndim == 2 and made.shape[1] == 2 else _tables.numbers(made, name)


@dataclass(frozen=True)
class ForeignEstimator:
    """An estimator with the rows and the parameters of its fit."""

    estimator: Any
    X: Any
    y: Floats
    fit_params: dict[str, Any]
    cv: Any
    n_jobs: int | None
    steps: Steps

    def fit(self, localizer: Localizer, rows: FitRows, splits: dict[str, str]) -> list[Fitted]:
        """Fit by the plan of the rows, then the localizer, which calibrates; return the deployed estimators."""
        plan = self._plan(localizer, rows, splits)
        parts = plan.parts
        self.steps.plan("estimator", sum(len(folds) + 1 for _, _, _, folds in parts))
        self.steps.plan("localizer")
        fitted: list[Fitted] = []
        for number, (fitting, calibration, learning, folds) in enumerate(parts):
            prefix = f"fold {number + 1} of {len(parts)}: " if len(parts) > 1 else ""
            logger.info("%scross-fitting the estimator on %d rows", prefix, len(fitting))
            predicted = self._cross_fit(folds, prefix)
            self.steps.begin(prefix + "estimator")
            deployed = self._fitted(fitting)
            learns = len(folds) or len(learning)
            for rows_to_predict in (calibration, learning if learns else fitting):
                if len(rows_to_predict):
                    predicted.append((rows_to_predict, deployed.predict(rows_of(self.X, rows_to_predict))))
            values = self._values(predicted)
            plan.predict(number, values.ravel())
            fitted.append(deployed)
        self.steps.begin()
        two = values.ndim == 2
        names = ("y_pred_lower", "y_pred_upper") if two else ("y_pred", "")
        localizer._fit(rows, Predictions(np.empty(0), *names), splits=splits, plan=plan, progress=self.steps.callback())
        return fitted

    def _plan(self, localizer: Localizer, rows: FitRows, splits: dict[str, str]) -> _core.SplitPlan:
        """The plan of C++, with the folds of a splitter of scikit-learn if there is one."""
        if isinstance(self.cv, (Integral, str)):
            return localizer._plan(rows, splits)
        ((fitting, _, _, _),) = localizer._plan(rows, splits, []).parts
        clusters = rows.blocks.clusters
        folds = _folds_of(
            self.cv, rows_of(self.X, fitting), self.y[fitting], None if clusters is None else clusters[fitting]
        )
        return localizer._plan(rows, splits, [(fitting[train], fitting[test]) for train, test in folds])

    def _fitted(self, rows: Any) -> Fitted:
        """The estimator fitted to some of the rows."""
        X, categories = with_used_categories(rows_of(self.X, rows))
        params = _check_method_params(self.X, self.fit_params, rows)
        return Fitted(clone(self.estimator).fit(X, self.y[rows], **params), categories)

    def _cross_fit(self, folds: Folds, prefix: str) -> list[tuple[Any, Floats]]:
        """The test rows of each fold, with their predictions by an estimator that was not fitted on them."""
        if not folds:
            return []
        steps = self.steps

        def fold(train: Any, test: Any) -> Floats:
            return self._fitted(train).predict(rows_of(self.X, test))

        class Reporting(Parallel):  # type: ignore[misc]
            """Reports each fold that is finished."""

            begun = 0

            def print_progress(self) -> None:
                while self.begun <= min(getattr(self, "n_completed_tasks", 0), len(folds) - 1):
                    self.begun += 1
                    steps.begin(f"{prefix}estimator, fold {self.begun} of {len(folds)}")

        run = Reporting(n_jobs=self.n_jobs)
        run.print_progress()
        made = run(delayed(fold)(train, test) for train, test in folds)
        return [(test, values) for (_, test), values in zip(folds, made, strict=True)]

    def _values(self, predicted: list[tuple[Any, Floats]]) -> Floats:
        """The predictions of all rows; of several predictions of a row, as by ShuffleSplit, the last one counts."""
        values = np.full((len(self.y), *predicted[0][1].shape[1:]), np.nan)
        for rows, made in predicted:
            values[rows] = made
        return values


def _folds_of(cv: Any, X: Any, y: Floats, clusters: Any) -> Folds:
    """The positions of the training and test rows of each fold of a splitter."""
    every = np.arange(len(y))  # so that masks and negative positions become positions
    try:
        folds = [(every[train], every[test]) for train, test in check_cv(cv).split(X, y, clusters)]
    except ValueError as error:
        if "groups" in str(error):
            raise ValueError(
                f"{type(cv).__name__} needs groups; pass the labels of the rows to fit as clusters="
            ) from error
        raise
    if not folds:
        raise ValueError("cv has no folds; pass a number of folds, or a splitter that makes some")
    return folds


def rows_of(X: Any, rows: Any) -> Any:
    """Some rows of a table of any kind that an estimator reads."""
    try:
        return _safe_indexing(X, rows)
    except TypeError as error:
        raise TypeError(
            f"cannot select rows of a {type(X).__name__} to fit an estimator; pass a frame (.df() or .pl() in DuckDB)"
        ) from error
