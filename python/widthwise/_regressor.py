"""Prediction intervals around any scikit-learn regressor."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

try:
    from sklearn import get_config
    from sklearn.base import clone
    from sklearn.utils import check_random_state
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "WidthwiseRegressor needs scikit-learn 1.6 or later: pip install 'widthwise[sklearn]'; "
        "Localizer, Calibration and Predictor do without"
    ) from error

from . import _core, _predictions, _tables, _weights
from ._estimator import ForeignEstimator, predictions_of
from ._fit_rows import FitRows
from ._fitted_regressor import ESTIMATOR_COLUMNS, FittedRegressor, is_frame, with_numbers
from ._ids import ids_of_fit
from ._localizer import Base, Localizer, one_prediction
from ._options import Goal, Guarantee, Levels, LevelWindow, option_texts, range_of, step_of, whole, word
from ._predictor import Predictor
from ._progress import NO_STEPS, Steps, shown
from ._tables import Floats
from ._warn import warn


class _Given(NamedTuple):
    """The arguments of a fit."""

    X: Any
    y: Any
    y_pred: Any
    y_pred_cv: Any
    columns: dict[str, Any]
    fit_params: dict[str, Any]

    @property
    def predicted(self) -> bool:
        return self.y_pred is not None or self.y_pred_cv is not None


class WidthwiseRegressor(FittedRegressor):
    """Calibrated prediction intervals around the predictions of any regressor.

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
    goal : {"balanced", "even", "narrow"} or float, default="balanced"
        What to optimise: "balanced", the smallest interval score with nearly even coverage; "even" coverage for all
        inputs; "narrow" mean width; or a number between 0 (narrow) and 1 (even).
    score_transform : str, default="auto"
        Score transform, whose parameters the localizer predicts; "auto" is shortest, or spline if that is better on the
        hold-out, for the goals balanced and even, affine for narrow, and exp for numbers.
    confidence_level : float or list of floats, default=0.9
        Default confidence level of `predict_interval`.
    cv : int, "auto" or splitter, default="auto"
        Number of folds for cross-fitting, or a scikit-learn splitter if `estimator` is given; "auto" is 5, 2 from 50,000
        fitting rows and 1 from 500,000. With 1, the estimator is fitted once, and its errors on up to 50,000 of the
        other rows train the localizer. Rows outside all test
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
        prediction. By default the goals balanced and even do so, and narrow if that is better on the hold-out.
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
    compare : bool, default=False
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
        cv: Any = "auto",
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
        compare: bool = False,
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
        ids: Any = None,
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
        ids : array-like of shape (n,), optional
            Ids of the rows, such as order numbers. Messages about rows name them, and `evaluate` lists rows by them. X
            should not contain them.
        **fit_params
            Further parameters for ``fit`` of the estimator. Each fold and the final fit get their rows of values with one
            element per row. With metadata routing of scikit-learn, those that the estimator requests.

        Returns
        -------
        WidthwiseRegressor
            The fitted estimator itself.
        """
        fitted = self._as_it_is()
        columns = {
            "groups": groups,
            "weights": weights,
            "clusters": clusters,
            "time": time,
            "shift_to": shift_to,
            "sample_weight": sample_weight,
            "ids": ids,
        }
        fitted._fit(_Given(_tables.named(X), y, y_pred, y_pred_cv, columns, fitted._routed(fit_params)))
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

    def _fit(self, given: _Given) -> None:
        """Fit a copy of this estimator that no other thread sees."""
        self._check_base(given.predicted)
        X, rows = self._rows(given)
        localizer = self._new_localizer(self._seed())
        self.estimator_ = None
        self.estimators_: list[Any] | None = None
        self.estimator_categories_ = []  # of each estimator fitted here
        if given.predicted or self._is_prefit():
            self._fit_to_predictions(X, rows, localizer, given)
        elif self.estimator is None:
            self._fit_base(rows, localizer)
        else:
            self._fit_estimator(X, rows, localizer, given.fit_params)
        model = localizer._model
        if model.needs_predictions and hasattr(self, "n_features_in_"):
            model = model.with_notes({ESTIMATOR_COLUMNS: self._columns_text()})
        self.predictor_ = Predictor._of(model)
        self.fit_report_ = localizer.fit_report_
        if rows.groups is not None or model.clustered:
            _warn_of_infinite(
                model, "add new clusters" if model.clustered else "add calibration rows, or pool small groups"
            )

    def _rows(self, given: _Given) -> tuple[Any, FitRows]:
        """X as an estimator reads it, and the rows of the fit, both checked."""
        X, columns = given.X, given.columns
        if isinstance(X, _tables.Columns):
            X = X.frame()
        target = _tables.name_of(given.y, "y")
        groups = _tables.given_labels(X, columns["groups"], "groups")
        weights = _tables.given_column(X, columns["weights"], "weights")
        if groups[1] is None and self.pool_groups != "none":
            raise ValueError("pool_groups needs the labels of the rows; pass them as groups= to fit")
        X, y = self._validated(X, given.y)
        ids = ids_of_fit(columns["ids"], len(y), _tables.names_of(X))
        space = {"outcome_range": range_of(self.outcome_range), "outcome_step": step_of(self.outcome_step)}
        # All rows at once, before any is set aside.
        _core.check_outcomes(y, option_texts(space, "fit_options"), ids[1] or [])
        features = _tables.read_features(X, self.categorical_features)
        features.warn()
        return X, FitRows(features, y, target).with_columns(
            groups=groups,
            weights=weights,
            blocks=(columns["clusters"], columns["time"]),
            sample_weight=columns["sample_weight"],
            ids=ids,
            shift_to=columns["shift_to"],
        )

    def _validated(self, X: Any, y: Any) -> tuple[Any, Floats]:
        # The checks of scikit-learn would accept masked values and dates as numbers.
        if y is None:
            raise ValueError("WidthwiseRegressor requires y to be passed, but the target y is None")
        y = _tables.outcomes_of_fit(y, X)
        if is_frame(X):
            X = _tables.validated(X, "X")
            validate_data(self, X=X, skip_check_array=True)
        else:
            X = _tables.unmasked(X, "X")
            X, y = validate_data(self, X=X, y=y, y_numeric=True, ensure_min_samples=2, **self._checks())
            X = with_numbers(X)
        return X, _tables.numbers(y, "y")

    def _check_base(self, has_predictions: bool) -> None:
        """Raise if `base` or `base_options` would be ignored."""
        if self.estimator is None and not has_predictions:
            return
        for name, given in (("base", self.base != "trees" and self.base), ("base_options", self.base_options)):
            if given:
                found = "the predictions are given" if self.estimator is None else "there is an estimator"
                raise ValueError(f"{name} is {given!r} but no base model is trained here: {found}; leave {name} out")

    def _splits(self, rows: int) -> dict[str, str]:
        """The options by which C++ splits the rows."""
        if self.calibration not in ("split", "cross"):
            raise ValueError(f"calibration is {self.calibration!r}; expected 'split' or 'cross'")
        cv = self.cv if isinstance(self.cv, (Integral, str)) else "auto"  # a splitter makes its folds itself
        cross = self.calibration == "cross"
        named = cv == "auto" or (cv == "all" and cross)
        folds = str(cv) if named else str(whole(cv, "cv", minimum=2 if cross else 1))
        return {"calibration": self.calibration, "folds": folds} | self._calibration_size(rows)

    def _calibration_size(self, rows: int) -> dict[str, str]:
        """The option of this name; cross-calibration has none."""
        size = self.calibration_size
        if self.calibration == "cross":
            return {}
        counts = isinstance(size, Integral) and not isinstance(size, bool) and 0 <= size < rows
        if counts or (isinstance(size, Real) and not isinstance(size, Integral) and 0 <= size < 1):
            return {"calibration_size": repr(float(size))}
        raise ValueError(
            f"calibration_size is {size!r}; expected a share of the rows below 1, or a number of rows below {rows}"
        )

    def _fit_base(self, rows: FitRows, localizer: Localizer) -> None:
        """Fit a base model that is part of the model."""
        if not isinstance(self.cv, (Integral, str)):
            raise ValueError("cv is a splitter; without an estimator, expected a number of folds")
        base = Base(word(self.base, "base"), option_texts(self.base_options, "base_options"))
        localizer._fit(rows, None, splits=self._splits(len(rows.y)), base=base)

    def _fit_to_predictions(self, X: Any, rows: FitRows, localizer: Localizer, given: _Given) -> None:
        """Fit only the intervals, to given predictions or to those of a prefit estimator."""
        frozen = self._is_prefit()
        if self.estimator is not None and not frozen:
            raise ValueError(
                "found both predictions and an estimator to fit; pass prefit=True if the estimator made the "
                "predictions (y_pred) or is the deployed model (y_pred_cv), or leave one of them out"
            )
        y_pred = given.y_pred
        if frozen and not given.predicted:
            check_is_fitted(self.estimator)
            y_pred = predictions_of(self.estimator, X)
        values = one_prediction(y_pred, given.y_pred_cv)
        cross_validated = given.y_pred_cv is not None
        self.estimator_ = self.estimator
        predictions = _predictions.read(values, "y_pred_cv" if cross_validated else "y_pred", len(rows.y))
        localizer._fit(rows, predictions, splits=self._splits(len(rows.y)), cross_validated=cross_validated)

    def _fit_estimator(self, X: Any, rows: FitRows, localizer: Localizer, fit_params: dict[str, Any]) -> None:
        """Fit estimator and intervals, as C++ splits the rows."""
        if self.calibration == "cross" and rows.shift_to is not None:  # before anything is fitted
            raise ValueError("calibration='cross' has no shift_to; use calibration='split'")
        params = fit_params | _weights.arguments(self.estimator, rows.sample_weights)
        with shown(self.verbose) as show:
            steps = NO_STEPS if show is None else Steps(show)
            foreign = ForeignEstimator(self.estimator, X, rows.y, params, self.cv, self.n_jobs, steps)
            fitted = foreign.fit(localizer, rows, self._splits(len(rows.y)))
        self.estimator_categories_ = [one.categories for one in fitted]
        if self.calibration == "cross":
            self.estimators_ = [one.estimator for one in fitted]
        else:
            self.estimator_ = fitted[0].estimator

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

    def _is_prefit(self) -> bool:
        frozen = type(self.estimator).__name__ == "FrozenEstimator"
        if self.prefit and self.estimator is None:
            raise ValueError("prefit is True, but estimator is None; pass a fitted estimator")
        return self.prefit or frozen

    # ---- scikit-learn

    def get_metadata_routing(self) -> MetadataRouter:
        """The metadata that `fit` uses itself, and that it passes to the estimator."""
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        if self.estimator is not None:
            router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def __sklearn_clone__(self) -> WidthwiseRegressor:
        parameters = self.get_params(deep=False)
        copies = {
            # Cloning a prefit estimator would discard its fit.
            name: value if name == "estimator" and self.prefit else clone(value, safe=False)
            for name, value in parameters.items()
        }
        return type(self)(**copies)


def _warn_of_infinite(model: _core.Model, remedy: str) -> None:
    """Warn of the levels with too few calibration rows or clusters."""
    for level in model.levels if model.calibration_rows else []:
        if warning := model.infinite_warning(level):
            warn(f"{warning}; {remedy}")
