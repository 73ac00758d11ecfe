"""Prediction intervals around any scikit-learn regressor."""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, RegressorMixin, clone
    from sklearn.model_selection import KFold, check_cv
    from sklearn.utils import _safe_indexing, check_random_state, get_tags
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
    from sklearn.utils.parallel import Parallel, delayed
    from sklearn.utils.validation import (
        _check_method_params,
        check_is_fitted,
        validate_data,
    )
except ImportError as error:
    raise ImportError(
        "WidthwiseRegressor needs scikit-learn 1.6 or later: pip install 'widthwise[sklearn]'; "
        "Localizer, Calibration and Predictor do without"
    ) from error

from . import _core, _predictions, _tables, _weights
from ._blocks import Blocks, cluster_column_of, unused
from ._by import by_of, features_without
from ._categories import Categories, storable, with_categories, with_used_categories
from ._copies import NO_COPIES, Copies, RowColumns
from ._engine import logger
from ._evaluation import Evaluation
from ._groups import column_of, for_calibration
from ._localizer import Localizer, one_prediction
from ._model import features_of, first_row_of, not_fitted
from ._options import Goal, Guarantee, Levels, LevelWindow, option_texts, range_of, step_of, whole, word
from ._predictor import Predictor
from ._progress import NO_STEPS, Steps, shown
from ._row_function import RowFunction
from ._tables import Floats
from ._warn import warn

# One lock per model that is fitted or calibrated. An attribute would be copied, cloned and pickled.
_LOCKS: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
_LOCKS_LOCK = threading.Lock()

ESTIMATOR_COLUMNS = "estimator_columns"  # note of a model: the columns of X that its estimator was given, as JSON


class WidthwiseRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Honest prediction intervals around the predictions of any regressor.

    `fit` sets calibration rows aside, cross-fits the estimator on the others, learns from its out-of-sample errors how
    uncertainty depends on the row, and calibrates.

    If new rows are exchangeable with the calibration rows, a 90% interval contains the outcome with probability at
    least 90%, on average over calibration sets and new rows (marginal coverage). This holds for any model and any data
    distribution, at any sample size. It does not say that coverage is 90% for every kind of row; `evaluate` and the
    report measure that.

    Parameters
    ----------
    estimator : estimator, optional
        Any object with fit and predict: an estimator or pipeline of scikit-learn, LightGBM, CatBoost, XGBoost. By
        default boosted trees trained with XGBoost, which are stored in the model file. An estimator may predict two
        columns, a lower and an upper quantile.
    goal : {"even", "narrow"} or float, default=0.85
        What to optimise: "even" coverage for all inputs, "narrow" mean width, or a number between 0 (narrow) and
        1 (even).
    score_transform : str, default="auto"
        Score transform, whose parameters the localizer predicts; "auto" is exp, affine for the goal
        narrow, and for even also spline if that is better on the hold-out.
    confidence_level : float or list of floats, default=0.9
        Default confidence level of `predict_interval`.
    cv : int or splitter, default=5
        Number of folds for cross-fitting, or a scikit-learn splitter if `estimator` is given. Rows outside all test
        folds, such as the first rows of ``TimeSeriesSplit``, do not train the localizer. No fold may train on its test
        rows. With calibration="cross" the folds of the calibration: every row is in one test fold, each fold trains
        on all other rows, and "all" is one fold per row.
    calibration : {"split", "cross"}, default="split"
        "split" sets calibration rows aside. "cross" calibrates every row with the model of its fold (CV+; jackknife+
        with ``cv="all"``), for a few hundred rows or fewer. Intervals are narrower, and cover at least about
        1 - 2 alpha of new outcomes, usually about 1 - alpha (docs/few-rows.md).
    calibration_size : float or int, default=0.25
        Size of the calibration set: a share of the rows below 1, or a number of rows. 0 to calibrate later with
        `conformalize`.
    random_state : int, RandomState or None, default=None
        Random seed. An integer is the seed of the fit, ``--seed`` of the command line; otherwise it is drawn.
    n_jobs : int, optional
        Number of processes for cross-fitting and of training threads for the localizer, as in `Localizer`. None and -1
        choose it by the size of the table.
    verbose : int, default=0
        1 shows the progress of `fit` with the time left, on standard error: one line that a terminal or notebook redraws.
    prefit : bool, default=False
        Whether the estimator is already fitted, on other rows than those passed to `fit`. ``FrozenEstimator`` has the
        same effect.
    two_sided : bool, optional
        Learn the half-widths below and above the prediction separately, for outcomes that are skewed around the
        prediction. By default the goals narrow and even do so if that is better on the hold-out, and the score
        transform shortest always does.
    level_window : (float, float) or "all", optional
        Confidence levels to train for, see `Localizer`.
    outcome_range : (float, float), optional
        Range that contains every y, such as (0, inf), in the units of y. Intervals are clipped to it, and outcomes
        outside raise an error.
    outcome_step : float, optional
        Number of which every y is a multiple, such as 1 for counts. Bounds are rounded inward to multiples: intervals
        are narrower by up to one step per side, and contain the same outcomes. Other outcomes raise an error.
    guarantee : "marginal" or float, default="marginal"
        Guarantee of the intervals. "marginal": an interval contains the outcome with probability at least its
        confidence level, on average over calibration sets and new rows. A confidence such as 0.95 (training-conditional,
        PAC): with probability at least 0.95 over calibration sets, the coverage of this calibrated model is at least
        the confidence level, if calibration rows and new rows are independent draws of one distribution. Intervals are
        somewhat wider then, and need more calibration rows to be finite (29 instead of 9 at level 0.9 with confidence
        0.95); see `plan`. p-values stay marginal.
    pool_groups : "none", "auto" or int, default="none"
        Calibrate groups with fewer calibration rows than this together, as one rest. Coverage then holds on average over
        the rows of small groups, if new rows have small groups as often as calibration rows. "auto" is the number of
        rows that the highest confidence level needs. By default small groups get infinite intervals.
    cluster_coverage : {"rows", "clusters"}, default="rows"
        What counts once in the coverage of new clusters, if `fit` gets clusters. "rows": a 90% interval contains the
        outcome of a row of a new cluster with probability at least 90%, where each row counts once, for clusters of at
        most `max_cluster_size` rows. "clusters": where each cluster counts once, whatever its size.
    max_cluster_size : "auto" or int, default="auto"
        Number of rows that a new cluster has at most, if rows count; larger values give wider intervals. "auto" is that
        of the largest known cluster. Sizes can also be given with the rows to predict.
    duplicates : {"auto", "cluster", "drop", "keep"}, default="auto"
        Copies of rows in the table of `fit`, as from a join that multiplies rows or from oversampling. With copies on
        both sides of a split, intervals would be too narrow. "cluster" keeps all copies of a row on one side of every
        split: all of them train, and the calibration counts each distinct row once. "drop" fits the first copy only.
        "keep" treats equal rows as separate observations, which are frequent in discrete data. "auto" is "cluster",
        with a warning, if rows repeat more than chance allows, else "keep".
    compare : bool, default=True
        Also train the opposite goal, for the fit report; fitting is faster without it.
    holdout_fraction : float, default=0.2
        Share of the fitting rows held out for early stopping and the fit report.
    base : {"trees", "quantiles"}, default="trees"
        Base model to train without an `estimator`: boosted trees for the median, or boosted trees for a lower and an
        upper quantile. With an estimator or predictions, leave it out.
    base_options : dict, optional
        Options of the base model, by name, such as
        ``{"rounds": 800, "learning_rate": 0.03}``; docs/options.md lists them.
    localizer : {"trees", "net", "paper-net"}, default="trees"
        What is trained as the localizer: boosted trees (XGBoost), a fully connected network (PyTorch), or the network
        and training of the paper, see `Localizer`.
    localizer_options : dict, optional
        Options of the localizer's trainer by name, such as ``{"min_child_weight": 20}``; docs/options.md lists them.
    categorical_features : list of str or int, optional
        Columns of integers or booleans, by name or position, to read as categories. Columns of text, ``category`` and
        Arrow dictionaries always are.
    fit_options : dict, optional
        Further options of the fit by name: ``score``, ``gamma`` and ``epsilon``; docs/options.md describes them.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator; None if the model contains its base model, or has one per fold.
    estimators_ : list of estimators
        The estimators of the folds with calibration="cross" and an `estimator`; else None.
    estimator_categories_ : list of dicts
        Labels of the columns of type ``category`` that each estimator was fitted with, by column. Other labels are missing
        values for the estimator.
    predictor_ : Predictor
        The localizer with its calibration.
    fit_report_ : FitReport
        Width and coverage of the goal on the hold-out, compared with one width for all rows and with the opposite goal;
        ``fit_report_["summary"]`` states the result in sentences. Not in the model file: a loaded model has none.
    n_features_in_ : int
    feature_names_in_ : array of str
        Defined if X has column names.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from widthwise import WidthwiseRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 4, (4000, 2))
    >>> y = X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=4000)
    >>> model = WidthwiseRegressor(LinearRegression(), random_state=0, n_jobs=1).fit(X[:3000], y[:3000])
    >>> y_pred, intervals = model.predict_interval(X[3000:], confidence_level=[0.8, 0.9])
    >>> y_pred.shape, intervals.shape
    ((1000,), (1000, 2, 2))
    >>> model.evaluate(X[3000:], y[3000:]).valid
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        goal: Goal | None = None,
        score_transform: str = "auto",
        confidence_level: Levels = 0.9,
        cv: Any = _core.FOLDS,
        calibration: str = "split",
        calibration_size: float | int = _core.CALIBRATION_SIZE,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        prefit: bool = False,
        two_sided: bool | None = None,
        level_window: LevelWindow | None = None,
        outcome_range: tuple[float, float] | None = None,
        outcome_step: float | None = None,
        guarantee: Guarantee = "marginal",
        pool_groups: int | str = "none",
        cluster_coverage: str = "rows",
        max_cluster_size: int | str = "auto",
        duplicates: str = "auto",
        compare: bool = True,
        holdout_fraction: float = 0.2,
        base: str = "trees",
        base_options: dict[str, Any] | None = None,
        localizer: str = "trees",
        localizer_options: dict[str, Any] | None = None,
        fit_options: dict[str, Any] | None = None,
        categorical_features: Sequence[str | int] | None = None,
    ) -> None:
        self.estimator = estimator
        self.goal = goal
        self.score_transform = score_transform
        self.confidence_level = confidence_level
        self.cv = cv
        self.calibration = calibration
        self.calibration_size = calibration_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.prefit = prefit
        self.two_sided = two_sided
        self.outcome_range = outcome_range
        self.outcome_step = outcome_step
        self.guarantee = guarantee
        self.pool_groups = pool_groups
        self.cluster_coverage = cluster_coverage
        self.max_cluster_size = max_cluster_size
        self.duplicates = duplicates
        self.level_window = level_window
        self.compare = compare
        self.holdout_fraction = holdout_fraction
        self.base = base
        self.base_options = base_options
        self.localizer = localizer
        self.localizer_options = localizer_options
        self.fit_options = fit_options
        self.categorical_features = categorical_features

    # ---- fitting

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        y_pred: Any = None,
        y_pred_cv: Any = None,
        groups: Any = None,
        weights: Any = None,
        clusters: Any = None,
        time: Any = None,
        shift_to: Any = None,
        sample_weight: Any = None,
        **fit_params: Any,
    ) -> WidthwiseRegressor:
        """Fit estimator, localizer and calibration.

        Parameters
        ----------
        X : table of shape (n, d)
            NaN is a missing value if the estimator supports it. The estimator receives X unchanged. Widths depend on
            the numeric columns of X and on the prediction.
        y : array-like of shape (n,)
            Outcomes.
        y_pred : array-like of shape (n,) or (n, 2), optional
            Predictions of the model that will be deployed, which was not trained on these rows; never cross-validated
            predictions. Only the intervals are fitted then. `predict_interval` needs ``y_pred`` as well, unless the
            estimator is prefit.
        y_pred_cv : array-like of shape (n,), optional
            Cross-validated predictions, such as those of ``cross_val_predict`` of scikit-learn. They train the
            localizer on all rows. They do not calibrate, because the models of the folds made them: intervals are infinite until
            `conformalize` adds rows predicted by the deployed model (a prefit `estimator`, or its ``y_pred``).
        groups : array-like of shape (n,), str or list of str, optional
            Labels of groups, or the name of their column in X: text, integers or booleans. Several names, or a frame of
            several columns, make one group per combination of labels. Each group is calibrated
            separately (Mondrian), so coverage holds in every group. A group without enough calibration rows gets
            infinite intervals and a warning, see `pool_groups`. A column of X stays a feature.
        weights : array-like of shape (n,) or str, optional
            Likelihood ratios for covariate shift, or the name of their column in X, which stays a feature: how much
            more often a row like this occurs in the population to predict than among these rows, up to a factor.
            Calibration rows count by their weight; training does not use it. `predict_interval` then needs the weights
            of its rows, with the same factor.
        clusters : array-like of shape (n,), optional
            Labels of sets of dependent rows, such as the visits of one patient: text, integers or booleans. No split
            separates the rows of a cluster, and the calibration counts them as `cluster_coverage` says, so coverage
            holds for rows of new clusters. X should not contain the labels, because new rows have others.
        time : array-like of shape (n,), optional
            Times of the rows: numbers, ``datetime64`` or text such as 2024-01-31. The latest rows calibrate, the latest
            of the others are the hold-out, and folds are blocks of time. Rows ordered in time are rarely exchangeable,
            so the coverage of later rows is not guaranteed: measure it with `evaluate`.
        shift_to : table of shape (m, d), optional
            Rows of the population to predict, without outcomes, to learn these weights from instead: a classifier of
            these rows against the fitting rows, stored in the model. Later rows need no weights. The guarantee is then
            approximate, and the two populations have to overlap; `fit_report_` and warnings say how much they do.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows for training, at least 0: estimator and localizer count a row by its weight. The
            calibration does not, so coverage holds for the population of rows, each of which counts once.
        **fit_params
            Further parameters for ``fit`` of the estimator. Each fold and the final fit get their rows of values with one
            element per row. With metadata routing of scikit-learn, those that the estimator requests.

        Returns
        -------
        WidthwiseRegressor
            The fitted estimator itself.
        """
        fitted = self._as_it_is()
        fitted._fit(
            X,
            y,
            y_pred,
            y_pred_cv,
            groups,
            weights,
            clusters,
            time,
            shift_to,
            sample_weight,
            fitted._routed(fit_params),
        )
        with self._lock():
            parameters = {name: value for name, value in dict(vars(self)).items() if not name.endswith("_")}
            learnt = {name: value for name, value in vars(fitted).items() if name.endswith("_")}
            self.__dict__ = parameters | learnt  # one assignment, so that no thread sees half of it
        return self

    def _routed(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """The parameters for ``fit`` of the estimator."""
        if not fit_params:
            return {}
        if self.estimator is None or self._is_prefit():
            raise ValueError(
                f"{', '.join(sorted(fit_params))}: parameters for fit of the estimator, but there is no estimator to fit"
            )
        if not get_config()["enable_metadata_routing"]:
            return fit_params
        return dict(process_routing(self, "fit", **fit_params).estimator.fit)

    def _fit(
        self,
        X: Any,
        y: Any,
        y_pred: Any,
        y_pred_cv: Any,
        groups: Any,
        weights: Any,
        clusters: Any,
        time: Any,
        shift_to: Any,
        sample_weight: Any,
        fit_params: dict[str, Any],
    ) -> None:
        X = _tables.named(X)
        if isinstance(X, _tables.Columns):
            X = X.frame()
        options: dict[str, Any] = {"target": _tables.name_of(y, "y")}
        group, groups = _tables.given_labels(X, groups, "groups")
        weight, weights = _tables.given_column(X, weights, "weights")
        self._check_base(y_pred is not None or y_pred_cv is not None)
        if groups is None and self.pool_groups != "none":
            raise ValueError("pool_groups needs the labels of the rows; pass them as groups= to fit")
        X, y = self._validated(X, y)
        space = {"outcome_range": range_of(self.outcome_range), "outcome_step": step_of(self.outcome_step)}
        _core.check_outcomes(y, option_texts(space, "fit_options"))  # all rows at once, before any is set aside
        n = len(y)
        labels = for_calibration(groups, n)
        ratios = _weights.checked(weights, n)
        cross = self._is_cross()
        samples = _weights.for_training(sample_weight, n)
        if cross and (samples is not None or shift_to is not None):
            raise ValueError("calibration='cross' has neither sample_weight nor shift_to; use calibration='split'")
        if self.estimator is not None and not self._is_prefit():
            fit_params = fit_params | _weights.arguments(self.estimator, samples)
        seed = self._seed()
        features = _tables.read_features(X, self.categorical_features)
        features.warn()
        localizer = self._new_localizer(seed)
        blocks = Blocks.of(clusters, time, n, features.table.names)
        share = 0.0 if cross else self._calibration_share(n)
        if labels is not None:
            options["group"] = group or unused("group", features.table.names)
        if ratios is not None:
            options["weight"] = weight or unused("weight", features.table.names)
        options["shift_to"] = shift_to
        self.estimator_ = None
        self.estimators_: list[Any] | None = None
        self.estimator_categories_: list[Categories] = []  # of each estimator fitted here
        columns = RowColumns(labels, ratios, blocks, samples)
        of_rows = columns._asdict()
        if y_pred is not None or y_pred_cv is not None or self._is_prefit():
            model = self._fit_to_predictions(X, features, y, share, localizer, options | of_rows, y_pred, y_pred_cv)
        elif self.estimator is None:
            model = self._fit_base(features, y, share, localizer, options | of_rows)
        else:
            with shown(self.verbose) as show:
                steps = NO_STEPS if show is None else Steps(show)
                model = self._fit_estimator(X, features, y, seed, localizer, options, columns, fit_params, steps)
        if model.needs_predictions and hasattr(self, "n_features_in_"):
            model = model.with_notes({ESTIMATOR_COLUMNS: self._columns_text()})
        self.predictor_ = Predictor._of(model)
        self.fit_report_ = localizer.fit_report_
        if labels is not None or model.clustered:
            _warn_of_infinite(
                model, "add new clusters" if model.clustered else "add calibration rows, or pool small groups"
            )

    def _check_base(self, has_predictions: bool) -> None:
        """Raise if `base` or `base_options` would be ignored."""
        if self.estimator is None and not has_predictions:
            return
        for name, given in (("base", self.base != "trees" and self.base), ("base_options", self.base_options)):
            if given:
                found = "the predictions are given" if self.estimator is None else "there is an estimator"
                raise ValueError(f"{name} is {given!r} but no base model is trained here: {found}; leave {name} out")

    def _fit_base(
        self, features: _tables.Features, y: Floats, share: float, localizer: Localizer, options: dict[str, Any]
    ) -> _core.Model:
        """Fit a base model that is part of the model."""
        if not isinstance(self.cv, (Integral, str)):
            raise ValueError("cv is a splitter; without an estimator, expected a number of folds")
        localizer._fit(
            features,
            y,
            None,
            base=word(self.base, "base"),
            base_options=option_texts(self.base_options, "base_options"),
            folds=self._folds(len(y) - round(share * len(y))),
            calibration=self.calibration,
            calibration_size=_core.CALIBRATION_SIZE if self._is_cross() else share,
            **options,
        )
        return localizer._model

    def _seed(self) -> int:
        """The seed of a fit: the same integer gives the same model as on the command line."""
        if isinstance(self.random_state, Integral) and not isinstance(self.random_state, bool):
            return whole(self.random_state, "random_state", maximum=2**32 - 1)  # as scikit-learn's splitters
        try:
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        except ValueError:
            raise ValueError(f"random_state is {self.random_state!r}; expected an int, a RandomState or None") from None

    def _new_localizer(self, seed: int) -> Localizer:
        """A localizer with the options of this estimator."""
        return Localizer(
            goal=self.goal,
            score_transform=self.score_transform,
            confidence_level=self.confidence_level,
            two_sided=self.two_sided,
            level_window=self.level_window,
            outcome_range=self.outcome_range,
            outcome_step=self.outcome_step,
            guarantee=self.guarantee,
            pool_groups=self.pool_groups,
            cluster_coverage=self.cluster_coverage,
            max_cluster_size=self.max_cluster_size,
            duplicates=self.duplicates,
            compare=self.compare,
            holdout_fraction=self.holdout_fraction,
            localizer=self.localizer,
            localizer_options=self.localizer_options,
            fit_options=self.fit_options,
            random_state=seed,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _fit_to_predictions(
        self,
        X: Any,
        features: _tables.Features,
        y: Floats,
        share: float,
        localizer: Localizer,
        options: dict[str, Any],
        y_pred: Any,
        y_pred_cv: Any,
    ) -> _core.Model:
        """Fit only the intervals, to given predictions or to those of a prefit estimator."""
        frozen = self._is_prefit()
        if self.estimator is not None and not frozen:
            raise ValueError(
                "found both predictions and an estimator to fit; pass prefit=True if the estimator made the "
                "predictions (y_pred) or is the deployed model (y_pred_cv), or leave one of them out"
            )
        if frozen and y_pred is None and y_pred_cv is None:
            check_is_fitted(self.estimator)
            y_pred = self._predictions(self.estimator, X)
        given = one_prediction(y_pred, y_pred_cv)
        cross_validated = y_pred_cv is not None
        self.estimator_ = self.estimator
        localizer._fit(
            features,
            y,
            _predictions.read(given, "y_pred_cv" if cross_validated else "y_pred", len(y)),
            folds=self._folds(len(y)) if self._is_cross() else _core.FOLDS,
            calibration=self.calibration,
            calibration_size=0.0 if cross_validated else share,
            cross_validated=cross_validated,
            **options,
        )
        return localizer._model

    def _fit_estimator(
        self,
        X: Any,
        features: _tables.Features,
        y: Floats,
        seed: int,
        localizer: Localizer,
        options: dict[str, Any],
        columns: RowColumns,
        fit_params: dict[str, Any],
        steps: Steps,
    ) -> _core.Model:
        """Fit estimator and intervals, without copies of rows on both sides of a split."""
        copies = Copies.of(features, y, columns, localizer._options)
        if copies.first is not None and self.duplicates == "drop":
            kept = copies.distinct(np.arange(len(y)))
            fit_params = _check_method_params(X, fit_params, kept)
            X, y, columns, copies = _rows_of(X, kept), y[kept], columns.take(kept), NO_COPIES
        if self._is_cross():
            return self._fit_folds(X, y, seed, localizer, options, columns.blocks, copies, fit_params, steps)
        return self._fit_split(X, y, seed, localizer, options, columns, copies, fit_params, steps)

    def _fit_split(
        self,
        X: Any,
        y: Floats,
        seed: int,
        localizer: Localizer,
        options: dict[str, Any],
        columns: RowColumns,
        copies: Copies,
        fit_params: dict[str, Any],
        steps: Steps,
    ) -> _core.Model:
        """Cross-fit the estimator, train on its out-of-sample errors and calibrate with the remaining rows."""
        together = columns.blocks or copies.blocks()
        rows, held = _split(len(y), self._calibration_share(len(y)), seed, together)
        held = copies.distinct(held)
        fit_X, fit_y, fit_columns, fit_copies = _rows_of(X, rows), y[rows], columns.take(rows), copies.take(rows)
        fit_params = _check_method_params(X, fit_params, rows)
        cv = self.cv
        if isinstance(cv, Integral):
            folds = self._folds(len(rows))
            cv = together.take(rows).folds(folds, seed) if together else KFold(folds, shuffle=True, random_state=seed)
        logger.info("cross-fitting the estimator on %d rows", len(rows))
        splits = self._splits(fit_X, fit_y, cv, fit_columns.blocks)
        steps.plan("estimator", len(splits) + 1)
        steps.plan("localizer")
        predicted, predictions = self._cross_fit(fit_X, fit_y, splits, fit_copies, fit_params, steps)
        steps.begin("estimator")
        self.estimator_, categories = self._fitted_estimator(fit_X, fit_y, fit_params)
        self.estimator_categories_ = [categories]

        steps.begin()
        localizer._fit(
            _tables.read_features(_rows_of(fit_X, predicted), self.categorical_features),
            fit_y[predicted],
            _predictions.read(predictions, "y_pred", len(predicted)),
            may_be_exact=True,
            cross_validated=True,
            calibrated_later=len(held),
            copies=fit_copies.take(predicted),
            progress=steps.callback(),
            **fit_columns.take(predicted)._asdict(),
            **options,
        )
        model = localizer._model
        if fit_columns.blocks.clusters is not None:  # those of rows that no fold predicted fitted the estimator as well
            model = model.with_fit_clusters(fit_columns.blocks.clusters)
        if not len(held):
            return model
        held_X, held_columns = _rows_of(X, held), columns.take(held)
        held_table = features_of(model, held_X)
        shard = _core.CalibrationShard.of(model)
        held_pred = self._predictions(self.estimator_, with_categories(held_X, categories)).ravel()
        numbers = None if held_columns.groups is None else held_columns.groups.numbers
        labels = None if held_columns.groups is None else held_columns.groups.labels
        first_row = first_row_of(_tables.read_features(X, self.categorical_features).table, y)
        shard.add_rows(
            model,
            held_table,
            held_pred,
            numbers,
            y[held],
            first_row,
            None,
            labels,
            held_columns.weights,
            held_columns.blocks.clusters,
        )
        calibrated = model.with_calibration(shard)
        localizer.fit_report_["effective_rows"] = calibrated.effective_rows
        if warning := calibrated.weights_warning():
            warn(warning)
        return calibrated

    def _fit_folds(
        self,
        X: Any,
        y: Floats,
        seed: int,
        localizer: Localizer,
        options: dict[str, Any],
        blocks: Blocks,
        copies: Copies,
        fit_params: dict[str, Any],
        steps: Steps,
    ) -> _core.Model:
        """Fit estimator and localizer without the rows of each fold, and calibrate them with these rows."""
        if "group" in options:
            raise ValueError("calibration='cross' does not calibrate groups separately; use calibration='split'")
        if "weight" in options:
            raise ValueError("calibration='cross' has no weights; use calibration='split'")
        if blocks:
            raise ValueError("calibration='cross' has neither clusters nor time; use calibration='split'")
        if self.guarantee != "marginal":
            raise ValueError(f"calibration='cross' has no guarantee {self.guarantee}; use calibration='split'")
        cv = self.cv
        if isinstance(cv, (Integral, str)):
            cv = self._cross_folds(len(y), seed, copies)
        folds = self._splits(X, y, cv, Blocks())
        if len(folds) > _core.MAX_FOLDS:
            raise ValueError(
                f"calibration='cross' fits a model per fold, at most {_core.MAX_FOLDS}; found {len(folds)} folds; use "
                f"fewer, such as cv=10, or calibration='split'"
            )
        _check_partition(folds, len(y))
        copies.check(folds)
        models: list[_core.Model] = []
        self.estimators_ = []
        self.estimator_categories_ = []
        _plan_folds(folds, localizer, steps)
        for fold, (train, test) in enumerate(folds):
            of_fold = f"fold {fold + 1} of {len(folds)}: "
            fold_X, fold_y = _rows_of(X, train), y[train]
            params = _check_method_params(X, fit_params, train)
            steps.begin(of_fold + "estimator")
            estimator, categories = self._fitted_estimator(fold_X, fold_y, params)
            self.estimators_.append(estimator)
            self.estimator_categories_.append(categories)
            if localizer._has_one_width(len(train)):  # nothing is learnt from the errors
                predicted = np.arange(len(train))
                predictions = self._predictions(estimator, with_categories(fold_X, categories))
            else:
                inner = KFold(min(_core.FOLDS, len(train)), shuffle=True, random_state=seed)
                inner_copies = copies.take(train)
                splits = self._splits(fold_X, fold_y, inner, Blocks())
                predicted, predictions = self._cross_fit(fold_X, fold_y, splits, inner_copies, params, steps, of_fold)
            steps.begin()
            localizer._fit(
                _tables.read_features(_rows_of(fold_X, predicted), self.categorical_features),
                fold_y[predicted],
                _predictions.read(predictions, "y_pred", len(predicted)),
                may_be_exact=True,
                cross_validated=True,
                copies=copies.take(train[predicted])._replace(warning="" if models else copies.warning),
                progress=steps.callback(of_fold),
                **options,
            )
            if predictions.ndim == 2:
                raise ValueError("calibration='cross' needs one prediction per row; use calibration='split'")
            test = copies.distinct(test)
            test_X = _rows_of(X, test)
            made = self._predictions(estimator, with_categories(test_X, categories))
            models.append(self._calibrated(localizer._model, test_X, made, y[test]))
        model = _core.Model.of_folds(models, models[0].prediction, {"folds": str(len(folds))})
        return model.with_fit_sketch(model.sketch(features_of(model, X), y))

    @staticmethod
    def _calibrated(model: _core.Model, X: Any, predictions: Floats, y: Floats) -> _core.Model:
        """The model, calibrated with rows that neither it nor the estimator was fitted on."""
        table, shard = features_of(model, X), _core.CalibrationShard.of(model)
        shard.add_rows(model, table, predictions, None, y, first_row_of(table, y))
        return model.with_calibration(shard)

    def _fitted_estimator(self, X: Any, y: Floats, fit_params: dict[str, Any]) -> tuple[Any, Categories]:
        """The estimator fitted to these rows, and the categories that it knows."""
        X, categories = with_used_categories(X)
        return clone(self.estimator).fit(X, y, **fit_params), categories

    def _cross_folds(self, rows: int, seed: int, copies: Copies) -> Any:
        """The folds of cross-calibration, of which none separates copies."""
        if copies.first is None:
            return KFold(self._folds(rows), shuffle=True, random_state=seed)
        return copies.blocks().folds(self._folds(len(np.unique(copies.first))), seed)

    def _cross_fit(
        self,
        X: Any,
        y: Floats,
        splits: list[tuple[Any, Any]],
        copies: Copies,
        fit_params: dict[str, Any],
        steps: Steps,
        prefix: str = "",
    ) -> tuple[Any, Floats]:
        """The rows in a test fold, ascending, and their predictions by an estimator that was not fitted on them.

        A splitter may leave rows out of all test folds, as TimeSeriesSplit does with the first rows. Of several
        predictions of a row, as by ShuffleSplit, the last one counts.
        """

        def fold(train: Any, test: Any) -> Floats:
            params = _check_method_params(X, fit_params, train)
            estimator, categories = self._fitted_estimator(_rows_of(X, train), y[train], params)
            return self._predictions(estimator, with_categories(_rows_of(X, test), categories))

        folds = [(copies.without(train, test), test) for train, test in splits]

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
        predictions = np.full((len(y), *made[0].shape[1:]), np.nan)
        predicted = np.zeros(len(y), dtype=bool)
        for (_, test), values in zip(folds, made, strict=True):
            predictions[test] = values
            predicted[test] = True
        rows = np.flatnonzero(predicted)
        return rows, predictions[rows]

    @staticmethod
    def _splits(X: Any, y: Floats, cv: Any, blocks: Blocks) -> list[tuple[Any, Any]]:
        """The positions of the training and test rows of each fold."""
        try:
            every = np.arange(len(y))  # so that masks and negative positions become positions
            folds = [(every[train], every[test]) for train, test in check_cv(cv).split(X, y, blocks.clusters)]
        except ValueError as error:
            if "groups" in str(error):
                raise ValueError(
                    f"{type(cv).__name__} needs groups; pass the labels of the rows to fit as clusters="
                ) from error
            raise
        _check_disjoint(folds)
        blocks.check(folds, type(cv).__name__)
        return folds

    def conformalize(
        self,
        X: Any,
        y: Any,
        *,
        y_pred: Any = None,
        groups: Any = None,
        weights: Any = None,
        clusters: Any = None,
        replace: bool = False,
        population: str | None = None,
    ) -> WidthwiseRegressor:
        """Add rows that no model was fitted on to the calibration set.

        Parameters
        ----------
        X, y
            New rows with outcomes. Rows that fitted the model, or are already in its calibration set, raise an error
            in any order and format, because they would make intervals too narrow.
        y_pred : array-like of shape (n,) or (n, 2), optional
            Predictions of these rows, if there is no estimator.
        groups : array-like of shape (n,) or str, optional
            Labels of their groups, or the name of their column in X, if the model was fitted with groups. By default
            the column of the fit, if X has it. New labels become new groups.
        weights : array-like of shape (n,) or str, optional
            Likelihood ratios of the rows, or the name of their column in X, if the model was fitted with weights. By
            default the column of the fit, if X has it.
        clusters : array-like of shape (n,) or str, optional
            Labels of the clusters of the rows, or the name of their column in X, if the model was fitted with clusters.
            By default the column of the fit, if X has it. Clusters that fitted the model raise an error.
        replace : bool, default=False
            Discard the existing calibration set.
        population : {"source", "target"}, optional
            Population of the rows; required if the model has weights, given or learnt. "source": that
            of the fitting rows; they count with their weights. "target": that of the rows to predict; together with
            `replace`, they calibrate alone and exactly, and the model no longer has weights. They cannot be added to
            weighted rows, because that would shift them twice.

        Returns
        -------
        WidthwiseRegressor
            The fitted estimator itself.
        """
        with self._lock():
            now = self._as_it_is()
            model = now._fitted_predictor()._model.for_rows_of(population, replace)
            groups, weights = column_of(model, X, groups), _weights.column_of(model, X, weights)
            clusters = cluster_column_of(model, X, clusters)
            X, predictions = now._inputs(X, y_pred)
            self.predictor_ = now.predictor_.calibrated(
                X,
                y,
                predictions,
                groups=groups,
                weights=weights,
                clusters=clusters,
                replace=replace,
                population=population,
            )
        return self

    # ---- prediction

    def predict(self, X: Any) -> Floats:
        """Predictions of the estimator, without intervals."""
        now = self._as_it_is()
        X, predictions = now._inputs(X, None)
        return (
            predictions if predictions is not None and predictions.ndim == 1 else now.predictor_.predict(X, predictions)
        )

    def predict_interval(
        self,
        X: Any,
        confidence_level: Levels | None = None,
        *,
        y_pred: Any = None,
        groups: Any = None,
        weights: Any = None,
        cluster_sizes: Any = None,
        as_frame: bool = False,
    ) -> Any:
        """Predictions and intervals.

        Parameters
        ----------
        X : table of shape (n, d)
        confidence_level : float or list of k floats, optional
            By default that of the model.
        y_pred : array-like of shape (n,) or (n, 2), optional
            Predictions, if there is no estimator.
        groups : array-like of shape (n,) or str, optional
            Labels of the groups of the rows, or the name of their column in X, if the model was fitted with groups. By
            default the column of the fit, if X has it.
        weights : array-like of shape (n,) or str, optional
            Likelihood ratios of the rows, or the name of their column in X, if the model was fitted with weights. By
            default the column of the fit, if X has it.
        cluster_sizes : array-like of shape (n,), optional
            Number of rows of the cluster of each row, at least 1, if the model was fitted with clusters and
            ``cluster_coverage="rows"``. By default the bound of the model: ``max_cluster_size``, or the largest known
            cluster.
        as_frame : bool, default=False
            Return one frame with the columns ``prediction``, ``lower_0.9``, ``upper_0.9`` and so on, as ``widthwise
            predict`` names them: of polars or pyarrow if X is, else of pandas, with the index of X.

        Returns
        -------
        y_pred : array of shape (n,)
        intervals : array of shape (n, 2, k)
            Lower bounds ``[:, 0, :]`` and upper bounds ``[:, 1, :]``. Infinite if the level needs more calibration
            rows.
        """
        now = self._as_it_is()
        groups, weights = now._columns(X, groups, weights)
        X, predictions = now._inputs(X, y_pred)
        return now.predictor_.predict_interval(
            X,
            predictions,
            confidence_level=confidence_level,
            groups=groups,
            weights=weights,
            cluster_sizes=cluster_sizes,
            as_frame=as_frame,
        )

    def predict_p(
        self,
        X: Any,
        y: Any,
        *,
        y_pred: Any = None,
        groups: Any = None,
        weights: Any = None,
        cluster_sizes: Any = None,
    ) -> Floats:
        """The p-values of outcomes y: a p-value is at most t with probability at most t (marginal)."""
        now = self._as_it_is()
        groups, weights = now._columns(X, groups, weights)
        X, predictions = now._inputs(X, y_pred)
        return now.predictor_.predict_p(X, y, predictions, groups=groups, weights=weights, cluster_sizes=cluster_sizes)

    def predict_quantile(
        self,
        X: Any,
        quantiles: Levels,
        *,
        y_pred: Any = None,
        groups: Any = None,
        weights: Any = None,
        cluster_sizes: Any = None,
    ) -> Floats:
        """Quantiles of the outcome, of shape (n, k).

        An outcome lies below a quantile of t >= 0.5 with probability at least t, above one of t < 0.5 with probability
        at least 1 - t.
        """
        now = self._as_it_is()
        groups, weights = now._columns(X, groups, weights)
        X, predictions = now._inputs(X, y_pred)
        return now.predictor_.predict_quantile(
            X, quantiles, predictions, groups=groups, weights=weights, cluster_sizes=cluster_sizes
        )

    def evaluate(
        self,
        X: Any,
        y: Any,
        *,
        confidence_level: Levels | None = None,
        y_pred: Any = None,
        groups: Any = None,
        weights: Any = None,
        clusters: Any = None,
        in_order: bool = False,
        false_alarm_rate: float = 0.01,
        by: Any = None,
        conditional: bool = False,
    ) -> Evaluation:
        """Measure coverage and width on rows the model was not fitted on, with a verdict. The verdict on a model with
        clusters is about rows or clusters, as `cluster_coverage` says; it needs the clusters of the rows.

        Parameters
        ----------
        X, y
            Rows with outcomes.
        confidence_level : float or list of floats, optional
        y_pred : array-like of shape (n,) or (n, 2), optional
            Predictions, if there is no estimator.
        groups : array-like or str, optional
            Labels of the groups of the rows, if the calibration has groups; see `predict_interval`.
        by : array-like or str, optional
            Labels or numbers to test coverage by, or the name of their column in X. The column need not be a feature.
        in_order : bool, default=False
            The rows are in time order: also report, as ``exchangeability``, at which row they stopped being
            exchangeable with the calibration rows.
        false_alarm_rate : float, default=0.01
            Maximum probability of an alarm for rows that are exchangeable with the calibration rows.
        conditional : bool, default=False
            Also estimate how far coverage given X is from the level, as ``ert``, see `Evaluation`. This trains
            classifiers, which takes seconds and needs XGBoost.

        Returns
        -------
        Evaluation
            A dict that prints as a table.
        """
        X = _tables.named(X)
        now = self._as_it_is()
        groups, weights = now._columns(X, groups, weights)
        predictor = now._fitted_predictor()
        clusters = cluster_column_of(predictor._model, X, clusters)
        tested = by_of(X, by, len(_tables.outcomes(y)), predictor._labelled())
        X, predictions = now._inputs(features_without(X, by, predictor.features), y_pred)
        return predictor.evaluate(
            X,
            y,
            predictions,
            confidence_level=confidence_level,
            groups=groups,
            weights=weights,
            clusters=clusters,
            in_order=in_order,
            false_alarm_rate=false_alarm_rate,
            by=tested,
            conditional=conditional,
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R2 of the predictions, as of every regressor of scikit-learn.

        It does not depend on the intervals: models that differ in `goal` or another option of the intervals alone have
        one score. Compare them with a scorer of `widthwise.metrics`, such as ``GridSearchCV(..., scoring=IntervalScorer())``,
        or with `evaluate`.
        """
        return float(super().score(X, y, sample_weight))

    def row_function(self, confidence_level: float | None = None) -> RowFunction:
        """A function of one row of named values, for services: see `RowFunction`.

        With an `estimator`, each call also runs its ``predict`` on a frame of one row, which takes most of the time;
        a prediction that is known already can be passed as ``y_pred``.

        Parameters
        ----------
        confidence_level : float, optional
            By default the first level of the model.
        """
        now = self._as_it_is()
        predictor = now._fitted_predictor()
        if not predictor.needs_predictions or not now._has_estimator():
            return RowFunction(predictor, confidence_level)
        return RowFunction(predictor, confidence_level, lambda values: now._inputs(values, None)[1])

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file, which C++ and the command line can also load.

        The file contains the localizer, the calibration and, without an `estimator`, the base model. Save the estimator
        separately.
        """
        self._fitted()
        self.predictor_.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], estimator: Any = None) -> WidthwiseRegressor:
        """Load a model file written by `save` or by ``widthwise fit``.

        Parameters
        ----------
        path : path-like
        estimator : fitted estimator, optional
            The estimator whose predictions the model was fitted to, or the list `estimators_` of a cross-calibrated
            model. X must have the columns that `fit` received, in the same order. Without an estimator, pass ``y_pred`` when predicting, unless the file contains a base model.
        """
        return cls._of(Predictor.load(path), estimator)

    @classmethod
    def _of(cls, predictor: Predictor, estimator: Any) -> WidthwiseRegressor:
        """A loaded predictor with its fitted estimator, if there is one."""
        per_fold = list(estimator) if isinstance(estimator, (list, tuple)) else None
        one = None if per_fold is not None else estimator
        self = cls(
            one,
            confidence_level=predictor.confidence_levels,
            prefit=one is not None,
            guarantee=predictor.guarantee,
            calibration="cross" if predictor._model.cross_calibrated else "split",
        )
        self.estimator_ = one
        self.estimators_ = per_fold
        self.predictor_ = predictor
        if estimator is not None:
            self._restore_columns(predictor._model.notes.get(ESTIMATOR_COLUMNS))
        return self

    def _columns_text(self) -> str:
        """The columns of X that the estimator received, in order."""
        names = getattr(self, "feature_names_in_", None)
        columns = {"count": int(self.n_features_in_), "names": None if names is None else list(names)}
        if any(self.estimator_categories_):
            columns["categories"] = [storable(categories) for categories in self.estimator_categories_]
        return json.dumps(columns)

    def _restore_columns(self, text: str | None) -> None:
        """Check X after `load` as before `save`; only files of this class contain the columns."""
        if text is None:
            return
        columns = json.loads(text)
        self.n_features_in_ = int(columns["count"])
        self.estimator_categories_ = columns.get("categories", [])
        if columns["names"] is not None:
            self.feature_names_in_ = np.asarray(columns["names"], dtype=object)

    def __getattr__(self, name: str) -> Any:
        """Explain the attribute that a loaded model does not have."""
        if name == "fit_report_" and "predictor_" in self.__dict__:
            raise AttributeError(
                "a model file does not contain the fit report; keep it next to the file, with "
                "json.dump(model.fit_report_, ...) after fit"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ---- scikit-learn

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")

    def __sklearn_clone__(self) -> WidthwiseRegressor:
        parameters = self.get_params(deep=False)
        copies = {
            # Cloning a prefit estimator would discard its fit.
            name: value if name == "estimator" and self.prefit else clone(value, safe=False)
            for name, value in parameters.items()
        }
        return type(self)(**copies)

    def get_metadata_routing(self) -> MetadataRouter:
        """The metadata that `fit` uses itself, and that it passes to the estimator."""
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        if self.estimator is not None:
            router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or get_tags(self.estimator).input_tags.allow_nan
        return tags

    # ---- what the methods share

    def _lock(self) -> threading.RLock:
        """Held while the fitted attributes are replaced, so that no update is lost."""
        with _LOCKS_LOCK:
            return _LOCKS.setdefault(self, threading.RLock())

    def _as_it_is(self) -> WidthwiseRegressor:
        """A copy that does not change while other threads fit or calibrate this model."""
        copy = self.__class__.__new__(self.__class__)
        copy.__dict__ = dict(self.__dict__)
        return copy

    def _validated(self, X: Any, y: Any) -> tuple[Any, Floats]:
        # The checks of scikit-learn would accept masked values and dates as numbers.
        if y is None:
            raise ValueError("WidthwiseRegressor requires y to be passed, but the target y is None")
        y = _tables.outcomes_of_fit(y, X)
        if _is_frame(X):
            X = _tables.validated(X, "X")
            validate_data(self, X=X, skip_check_array=True)
        else:
            X = _tables.unmasked(X, "X")
            X, y = validate_data(self, X=X, y=y, y_numeric=True, ensure_min_samples=2, **self._checks())
            X = _with_numbers(X)
        return X, _tables.numbers(y, "y")

    def _inputs(self, X: Any, y_pred: Any) -> tuple[Any, Floats | None]:
        """X as fit received it, and the predictions, or None if the model contains its base model."""
        self._fitted()
        X = _tables.named(X)
        if isinstance(X, _tables.Columns):
            X = self._given_rows(X)
        if hasattr(self, "n_features_in_") and not isinstance(X, _tables.Columns):
            if _is_frame(X):
                validate_data(self, X=X, skip_check_array=True, reset=False)
            else:
                X = _with_numbers(validate_data(self, X=_tables.unmasked(X, "X"), reset=False, **self._checks()))
        if y_pred is not None:
            return X, y_pred if len(self.predictor_._model.prediction_columns) > 1 else _tables.numbers(
                y_pred, "y_pred"
            )
        if not self.predictor_.needs_predictions:
            return X, None
        X = _tables.validated(X, "X")  # before an estimator reads it
        per_fold: list[Any] | None = getattr(self, "estimators_", None)
        if per_fold is not None:
            known = self._categories_of(len(per_fold))
            made = [self._predictions(one, with_categories(X, of)) for one, of in zip(per_fold, known, strict=True)]
            return X, np.column_stack(made)
        if self.estimator_ is None:
            raise ValueError("the model was fitted to given predictions; pass the predictions of these rows as y_pred")
        return X, self._predictions(self.estimator_, with_categories(X, self._categories_of(1)[0]))

    def _has_estimator(self) -> bool:
        return self.estimator_ is not None or bool(getattr(self, "estimators_", None))

    def _given_rows(self, X: _tables.Columns) -> Any:
        """Rows of named values as the estimator was fitted to: a frame of its columns, or a matrix."""
        if not self.predictor_.needs_predictions or not self._has_estimator():
            return X
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            return X.select(names).frame()
        return X.select(self.predictor_.features).table().to_matrix()

    def _categories_of(self, estimators: int) -> list[Categories]:
        """The categories that each estimator knows; empty if it was fitted elsewhere."""
        return getattr(self, "estimator_categories_", []) or [{}] * estimators

    def _columns(self, X: Any, groups: Any, weights: Any) -> tuple[Any, Any]:
        """The groups and weights of rows, given or from the columns of the fit."""
        model = self._fitted_predictor()._model
        return column_of(model, X, groups), _weights.column_of(model, X, weights)

    def _checks(self) -> dict[str, Any]:
        """The checks of scikit-learn for a matrix; an estimator checks missing values itself."""
        return {"dtype": None, "ensure_all_finite": "allow-nan" if self.estimator is None else False}

    @staticmethod
    def _predictions(estimator: Any, X: Any) -> Floats:
        """One number per row, or two of an estimator that predicts a lower and an upper quantile."""
        name = "the estimator's prediction"
        made = _tables.floats(estimator.predict(X), name)
        return np.ascontiguousarray(made) if made.ndim == 2 and made.shape[1] == 2 else _tables.numbers(made, name)

    def _is_prefit(self) -> bool:
        frozen = type(self.estimator).__name__ == "FrozenEstimator"
        if self.prefit and self.estimator is None:
            raise ValueError("prefit is True, but estimator is None; pass a fitted estimator")
        return self.prefit or frozen

    def _is_cross(self) -> bool:
        if self.calibration in ("split", "cross"):
            return bool(self.calibration == "cross")
        raise ValueError(f"calibration is {self.calibration!r}; expected 'split' or 'cross'")

    def _folds(self, rows: int) -> int:
        """The number of folds, at most one per row; "all" is one per row."""
        if isinstance(self.cv, str) and self.cv == "all" and self._is_cross():
            return rows
        return max(2, min(whole(self.cv, "cv", minimum=2), rows))

    def _calibration_share(self, n: int) -> float:
        size = self.calibration_size
        if isinstance(size, Integral) and not isinstance(size, bool) and 0 <= size < n:
            return int(size) / n
        if isinstance(size, Real) and not isinstance(size, Integral) and 0 <= size < 1:
            return float(size)
        raise ValueError(
            f"calibration_size is {size!r}; expected a share of the rows below 1, or a number of rows below {n}"
        )

    def _fitted_predictor(self) -> Predictor:
        self._fitted()
        return self.predictor_

    def _fitted(self) -> None:
        if not hasattr(self, "predictor_"):
            raise not_fitted("This WidthwiseRegressor is not fitted yet: call fit first")


def _warn_of_infinite(model: _core.Model, remedy: str) -> None:
    """Warn of the levels with too few calibration rows or clusters."""
    for level in model.levels if model.calibration_rows else []:
        if warning := model.infinite_warning(level):
            warn(f"{warning}; {remedy}")


def _plan_folds(folds: list[tuple[Any, Any]], localizer: Localizer, steps: Steps) -> None:
    """Plan the steps of cross-calibration: the estimator of each fold, those of cross-fitting, and the localizer."""
    for train, _ in folds:
        steps.plan("estimator", 1 if localizer._has_one_width(len(train)) else 1 + min(_core.FOLDS, len(train)))
        steps.plan("localizer")


def _split(n: int, share: float, seed: int, blocks: Blocks) -> tuple[Any, Any]:
    """The fitting rows and a share of calibration rows; with times, in the order of time."""
    if blocks:
        in_share = blocks.share(share, seed)
        order = np.arange(n) if blocks.times is None else np.argsort(blocks.times, kind="stable")
        return order[~in_share[order]], order[in_share[order]]
    order = np.random.RandomState(seed).permutation(n)
    held = round(share * n)
    return np.sort(order[held:]), np.sort(order[:held])


def _check_disjoint(folds: list[tuple[Any, Any]]) -> None:
    """Raise if a fold predicts rows that its estimator is fitted on: errors of such rows are too small.

    A fold may leave rows out, as TimeSeriesSplit leaves out those that follow the test rows.
    """
    for number, (train, test) in enumerate(folds, 1):
        shared = len(np.intersect1d(train, test))
        if shared:
            raise ValueError(
                f"fold {number} of {len(folds)} of cv has {shared} of its {len(test)} test rows among its training "
                "rows; expected training rows without the test rows, as KFold makes them"
            )


def _check_partition(folds: list[tuple[Any, Any]], rows: int) -> None:
    """Raise unless every row is in one test fold, and each fold trains on all other rows once.

    The guarantee of CV+ needs fold models that are fitted alike, each on the complement of its fold.
    """
    tested = np.bincount(np.concatenate([test for _, test in folds]), minlength=rows)
    if (tested != 1).any():
        raise ValueError(
            f"calibration='cross' needs every row in exactly one test fold; found {_core.count_of(int((tested == 0).sum()), 'row')} in none "
            f"and {(tested > 1).sum()} in several; pass cv as a number, KFold or LeaveOneOut"
        )
    for number, (train, test) in enumerate(folds, 1):
        missing = rows - len(test) - len(np.unique(train))
        repeated = len(train) - len(np.unique(train))
        if missing or repeated:
            found = f"{missing} of them are left out" if missing else f"{repeated} of them are repeated"
            raise ValueError(
                f"calibration='cross' trains each fold on all rows outside it, once each; in fold {number} of "
                f"{len(folds)} {found}; pass cv as a number, KFold or LeaveOneOut"
            )


def _is_frame(X: Any) -> bool:
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "iloc")


def _rows_of(X: Any, rows: Any) -> Any:
    try:
        return _safe_indexing(X, rows)
    except TypeError as error:
        raise TypeError(
            f"cannot select rows of a {type(X).__name__} to fit an estimator; pass a frame (.df() or .pl() in DuckDB)"
        ) from error


def _with_numbers(X: Any) -> Any:
    """A matrix of number objects as floating point."""
    return _tables.floats(X, "X") if X.dtype.kind in "OSU" else X
