"""Learn from the errors of a model how its uncertainty depends on the row."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _predictions, _tables, _weights
from ._blocks import Blocks, cluster_column_of
from ._calibration import Calibration
from ._engine import logger, threads_of, xgboost_library
from ._fit_rows import FitRows
from ._groups import column_of
from ._model import HasModel, add_rows, inputs_of, load_model
from ._options import (
    Goal,
    Guarantee,
    Levels,
    LevelWindow,
    distinct_levels_of,
    fit_options_of,
    option_texts,
    range_of,
    step_of,
    whole,
    word,
)
from ._predictions import Predictions
from ._printed import FitReport
from ._progress import ProgressCallback, shown
from ._tables import Floats
from ._warn import warn


class Base(NamedTuple):
    """A base model to train, with its options."""

    name: str = "none"
    options: Mapping[str, str] = MappingProxyType({})


NO_BASE = Base()


def one_prediction(y_pred: Any, y_pred_cv: Any) -> Any:
    """The predictions of the one kind that was given."""
    if (y_pred is None) == (y_pred_cv is None):
        raise ValueError(
            ("neither y_pred nor y_pred_cv is" if y_pred is None else "both y_pred and y_pred_cv are")
            + " given; expected one of them: y_pred, predictions of the deployed model on rows it has not seen, or "
            "y_pred_cv, cross-validated predictions"
        )
    return y_pred if y_pred_cv is None else y_pred_cv


class Localizer(HasModel):
    """Learns from a model's errors how its uncertainty depends on the row.

    Parameters
    ----------
    goal : {"balanced", "even", "narrow"} or float, default="balanced"
        What to optimise: "balanced", the smallest interval score with nearly even coverage; "even" coverage for all
        inputs; "narrow" mean width; or a number between 0 (narrow) and 1 (even).
    score_transform : str, default="auto"
        Score transform, whose parameters the localizer predicts; "auto" is shortest, or spline if that is better on the
        hold-out, for the goals balanced and even, affine for narrow, and exp for numbers.
    confidence_level : float or list of floats, default=0.9
        Default confidence levels of the intervals. The goal narrow trains for levels near them; any level can be
        predicted afterwards.
    two_sided : bool, optional
        Learn the half-widths below and above the prediction separately, for outcomes that are skewed around the
        prediction. By default the goals balanced and even do so, and narrow if that is better on the hold-out.
    level_window : (float, float) or "all", optional
        Confidence levels to train for, such as (0.8, 0.99), or all of them. By default the goal narrow and the
        score transforms spline and shortest weight levels within 0.1 of `confidence_level` more; all others weight all
        levels equally.
    outcome_range : (float, float), optional
        Range that contains every y, in the units of y; intervals are clipped to it and rows outside are an error. Use
        infinities for one side.
    outcome_step : float, optional
        Number of which every y is a multiple, such as 1 for counts. Bounds are rounded inward to multiples, which keeps
        coverage, and other outcomes are an error.
    random_state : int, default=0
        Random seed.
    n_jobs : int, optional
        Training threads. By default, and for -1, chosen by the size of the table; CPU affinity, the cgroup's CPU quota
        and ``OMP_NUM_THREADS`` are limits.
    verbose : int, default=0
        1 shows the progress of `fit` with the time left, on standard error: one line that a terminal or notebook redraws.
    compare : bool, default=False
        Also train the opposite goal, for the fit report; fitting is faster without it.
    guarantee : "marginal" or float, default="marginal"
        Guarantee of the intervals of a `Predictor` with this localizer, see `WidthwiseRegressor`.
    pool_groups : "none", "auto" or int, default="none"
        Which groups a `Predictor` with this localizer pools, see `WidthwiseRegressor`.
    cluster_coverage : {"rows", "clusters"}, default="rows"
        What counts once in the coverage of new clusters, see `WidthwiseRegressor`.
    max_cluster_size : "auto" or int, default="auto"
        Number of rows that a new cluster has at most, see `WidthwiseRegressor`.
    duplicates : {"auto", "cluster", "drop", "keep"}, default="auto"
        Copies of rows in the table of `fit`, see `WidthwiseRegressor`.
    holdout_fraction : float, default=0.2
        Share of the rows held out for early stopping and the fit report.
    localizer : {"trees", "net", "paper-net"}, default="trees"
        What is trained: boosted trees (XGBoost), a fully connected network (PyTorch), or the network and training of
        the paper. Models with a network are evaluated without PyTorch. Networks do not take categorical features.
    localizer_options : dict, optional
        Options of its trainer by name, such as ``{"learning_rate": 0.1, "min_child_weight": 20}`` of trees or
        ``{"layers": 3, "max_epochs": 100}`` of a network; docs/options.md lists them.
    categorical_features : list of str or int, optional
        Columns of integers or booleans, by name or position, to read as categories. Columns of text, ``category`` and
        Arrow dictionaries always are.
    fit_options : dict, optional
        Further options of the fit by name: ``score``, ``gamma``, ``epsilon`` and ``may_be_exact``; docs/options.md
        describes them.

    Attributes
    ----------
    fit_report_ : FitReport
        Width and coverage of the goal on the hold-out, compared with one width for all rows and with the opposite goal.

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise import Localizer, Predictor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 4, (3000, 1))
    >>> y = X[:, 0] + 0.2 * X[:, 0] * rng.normal(size=3000)
    >>> y_pred = X[:, 0]                                                    # of a model that has not seen these rows
    >>> localizer = Localizer(n_jobs=1).fit(X[:2000], y[:2000], y_pred[:2000])
    >>> calibration = localizer.calibrate(X[2000:], y[2000:], y_pred[2000:])    # rows that nothing was fitted on
    >>> _, intervals = Predictor(localizer, calibration).predict_interval([[1.0], [3.0]], [1.0, 3.0])
    >>> width = intervals[:, 1, 0] - intervals[:, 0, 0]
    >>> bool(2 < width[1] / width[0] < 4)                                       # errors are three times as large at 3
    True
    """

    fit_report_: FitReport

    def __init__(
        self,
        *,
        goal: Goal | None = None,
        score_transform: str = "auto",
        confidence_level: Levels = 0.9,
        two_sided: bool | None = None,
        level_window: LevelWindow | None = None,
        outcome_range: tuple[float, float] | None = None,
        outcome_step: float | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        compare: bool = False,
        guarantee: Guarantee = "marginal",
        pool_groups: int | str = "none",
        cluster_coverage: str = "rows",
        max_cluster_size: int | str = "auto",
        duplicates: str = "auto",
        holdout_fraction: float = 0.2,
        localizer: str = "trees",
        localizer_options: dict[str, Any] | None = None,
        fit_options: dict[str, Any] | None = None,
        categorical_features: Sequence[str | int] | None = None,
    ) -> None:
        self._options = fit_options_of(
            fit_options,
            goal=goal,
            score_transform=word(score_transform, "score_transform"),
            confidence_level=distinct_levels_of(confidence_level),
            two_sided=two_sided,
            level_window=level_window,
            outcome_range=range_of(outcome_range),
            outcome_step=step_of(outcome_step),
            guarantee=guarantee,
            pool_groups=pool_groups,
            cluster_coverage=word(cluster_coverage, "cluster_coverage"),
            max_cluster_size=max_cluster_size,
            duplicates=duplicates,
            compare=compare,
            holdout_fraction=holdout_fraction,
            seed=whole(random_state, "random_state"),
        )
        self._localizer = word(localizer, "localizer")
        self._localizer_options = option_texts(localizer_options, "localizer_options")
        self._categorical_features = categorical_features
        self._n_jobs = n_jobs
        self._verbose = verbose

    def fit(
        self, X: Any, y: Any, y_pred: Any = None, *, y_pred_cv: Any = None, clusters: Any = None, time: Any = None
    ) -> Localizer:
        """Train on rows with out-of-sample predictions: `y_pred` or `y_pred_cv`.

        Nothing is calibrated here. Both kinds suit training; the deployed model predicts the calibration rows
        (`calibrate`) in either case.

        Parameters
        ----------
        X : table of shape (n, d)
            NumPy, pandas, polars, pyarrow, a DuckDB relation, or anything that streams Arrow. NaN is a missing value.
            Columns of text are categories; other columns without numbers are left out, with a warning.
        y : array-like of shape (n,)
            Outcomes.
        y_pred : array-like of shape (n,) or (n, 2), optional
            Predictions by the deployed model, which has not seen the rows. Two columns, or a tuple of two, are lower and
            upper quantiles, such as those for 5% and 95%: intervals are learnt around their centre.
        y_pred_cv : array-like of shape (n,) or (n, 2), optional
            Cross-validated predictions instead, as ``cross_val_predict`` of scikit-learn makes them.
        clusters : array-like of shape (n,), optional
            Labels of sets of dependent rows, such as the visits of one patient. The hold-out never separates them, and
            `calibrate` needs the clusters of its rows, which are new ones.
        time : array-like of shape (n,), optional
            Times of the rows, numbers or dates. The hold-out are the latest rows.

        Returns
        -------
        Localizer
            The fitted localizer itself.
        """
        given = one_prediction(y_pred, y_pred_cv)
        features = _tables.read_features(X, self._categorical_features)
        features.warn()
        table = features.table
        self._fit(
            FitRows(
                features,
                _tables.numbers(y, "y", table.rows),
                _tables.name_of(y, "y"),
                blocks=Blocks.of(clusters, time, table.rows, table.names),
            ),
            _predictions.read(given, "y_pred" if y_pred_cv is None else "y_pred_cv", table.rows),
            cross_validated=y_pred_cv is not None,
            splits={"calibration_size": "0"},
        )
        return self

    def _plan(self, rows: FitRows, splits: dict[str, str], folds: Any = None) -> _core.SplitPlan:
        """Which rows an estimator is fitted to and predicts; `folds` as C++ expects them."""
        return _core.plan_splits(rows.core(), rows.names(), splits | self._options, folds)

    def _fit(
        self,
        rows: FitRows,
        predictions: Predictions | None,
        *,
        splits: dict[str, str],
        cross_validated: bool = False,
        base: Base = NO_BASE,
        plan: _core.SplitPlan | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        """Fit to given predictions, to those of a plan, or to a base model trained here; `splits` are its options."""
        options = splits | self._options
        features, names = rows.features, rows.names(predictions)
        if cross_validated:
            names["cross_validated"] = "true"
        trains_trees = (
            base.name in ("trees", "quantiles")
            or (options["score_transform"] != "identity" and self._localizer == "trees")
            or rows.shift_to is not None
        )
        with shown(self._verbose if progress is None else 0) as own:
            self._model, report, text = _core.fit(
                rows.core(predictions),
                names,
                features.categories,
                None if rows.shift_to is None else _tables.like(features, rows.shift_to),
                options,
                self._trainers(base, xgboost_library() if trains_trees else ""),
                own if progress is None else progress,
                plan,
            )
        self.fit_report_ = FitReport(report, text)
        for warning in self.fit_report_["warnings"]:
            warn(warning)
        logger.info("%s", self.fit_report_["summary"])

    def _trainers(self, base: Base, xgboost: str) -> dict[str, str]:
        """The options of the trainers for C++; `xgboost` is the library of trees."""
        return {
            "base": base.name,
            "base_options": ",".join(f"{name}={text}" for name, text in base.options.items()),
            "localizer": self._localizer,
            "localizer_options": ",".join(f"{name}={text}" for name, text in self._localizer_options.items()),
            "threads": str(threads_of(self._n_jobs)),
            "xgboost": xgboost,
        }

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
        best = booster.attr("best_iteration")
        if best is not None:
            booster = booster[: int(best) + 1]
        table, _ = _tables.read_numbers(X)
        rows, outcomes = objective._trained_rows(table, y, y_pred, unit)
        model = _core.Model.from_xgboost(bytes(booster.save_raw("ubj")), objective._objective.core, rows)
        return cls._trained(model, objective, table, outcomes)

    @classmethod
    def from_torch(
        cls,
        module: Any,
        loss: Any,
        X: Any,
        y: Any,
        y_pred: Any,
        *,
        centre: ArrayLike | None = None,
        scale: ArrayLike | None = None,
    ) -> Localizer:
        """Take a PyTorch network that was trained with a `widthwise.torch.WidthLoss`.

        The model evaluates the network without PyTorch, in single precision.

        Parameters
        ----------
        module : torch.nn.Module
            A ``Sequential`` of ``Linear``, ``ReLU``, ``BatchNorm1d``, ``Dropout`` and ``Identity``, which may be nested,
            with one output per parameter of the transform. Dropout is left out, and batch normalisation uses the
            running statistics. Its inputs are the numbers of `X`, or these with the prediction as the last column.
        loss : widthwise.torch.WidthLoss
            What it was trained with.
        X, y, y_pred
            The rows it was trained on, or a sample of them.
        centre, scale : array-like, one number per input, optional
            What was subtracted from the inputs, and what they were then divided by, such as ``mean_`` and ``scale_`` of
            a ``StandardScaler``. By default inputs are used unchanged. Scaled inputs are limited to a million, and
            missing values become 0.

        Examples
        --------
        >>> import numpy as np, torch
        >>> from widthwise import Localizer
        >>> from widthwise.torch import WidthLoss
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(0, 4, (1000, 1))
        >>> y_pred = X[:, 0]                                                # of a model that has not seen these rows
        >>> y = y_pred + 0.2 * X[:, 0] * rng.normal(size=1000)
        >>> loss = WidthLoss("even")
        >>> _ = torch.manual_seed(0)
        >>> module = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
        >>> optimiser = torch.optim.Adam(module.parameters(), lr=0.02)
        >>> inputs = torch.tensor(X, dtype=torch.float32)
        >>> for _ in range(100):
        ...     optimiser.zero_grad()
        ...     loss(module(inputs), y - y_pred).backward()
        ...     _ = optimiser.step()
        >>> localizer = Localizer.from_torch(module, loss, X, y, y_pred)
        >>> easy, hard = localizer.difficulty([[1.0], [3.0]], [1.0, 3.0])
        >>> bool(2 < hard / easy < 4)
        True
        """
        from ._torch_layers import net_of

        table, _ = _tables.read_numbers(X)
        net = net_of(module, centre, scale, inputs=len(table.names), outputs=loss.parameter_count)
        rows, outcomes = loss._trained_rows(table, y, y_pred, None)
        return cls._trained(_core.Model.from_net(*net, loss._objective.core, rows), loss, table, outcomes)

    @classmethod
    def _trained(cls, model: _core.Model, objective: Any, table: _core.Table, outcomes: Floats) -> Localizer:
        """The localizer of a model that was trained with an objective on rows like these."""
        self = cls(goal=objective.goal, score_transform=objective.score_transform, two_sided=objective.two_sided)
        self._model = model.with_fit_sketch(model.sketch(table, outcomes))
        return self

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Localizer:
        """Load the localizer of a model file without its calibration, such as one made by ``widthwise fit``."""
        self = cls()
        self._model = load_model(path).with_calibration(_core.CalibrationShard())
        return self

    def parameters(self, X: Any, y_pred: Any) -> Floats:
        """The parameters of the transform for each row, of shape (n, P)."""
        model = self._fitted_model()
        return model.parameters(*inputs_of(model, X, y_pred))

    def difficulty(self, X: Any, y_pred: Any) -> Floats:
        """How large errors are expected to be, up to one factor; for transforms that only rescale (goal even)."""
        model = self._fitted_model()
        return model.scales(*inputs_of(model, X, y_pred))

    def scores(self, X: Any, y: Any, y_pred: Any) -> Floats:
        """The scores of rows with outcomes: what a calibration holds."""
        model = self._fitted_model()
        table, predictions = inputs_of(model, X, y_pred)
        return model.scores(table, predictions, _tables.numbers(y, "y", table.rows))

    def half_widths(self, X: Any, y_pred: Any, scores: ArrayLike) -> tuple[Floats, Floats]:
        """The distances from the prediction to the lower and the upper bound that these scores give.

        Parameters
        ----------
        scores : array-like of shape (n, m) or (m,)
            Scores to invert per row, or the same for all rows.

        Returns
        -------
        lower, upper : arrays of shape (n, m)
            Not negative; equal when the localizer is symmetric.
        """
        model = self._fitted_model()
        table, predictions = inputs_of(model, X, y_pred)
        q = _tables.floats(scores, "scores")
        if q.ndim not in (1, 2) or (q.ndim == 2 and len(q) != table.rows):
            raise ValueError(
                f"scores are of shape {q.shape}; expected (m,) or ({table.rows}, m) for {_core.count_of(table.rows, 'row')}"
            )
        q = np.ascontiguousarray(np.broadcast_to(q, (table.rows, q.shape[-1])))
        return model.half_widths(table, predictions, q)

    def calibrate(
        self,
        X: Any,
        y: Any,
        y_pred: Any,
        *,
        groups: Any = None,
        weights: Any = None,
        clusters: Any = None,
        key: Any = None,
        calibration: Calibration | None = None,
        population: str | None = None,
    ) -> Calibration:
        """Score rows that no model was fitted on.

        Parameters
        ----------
        X, y, y_pred
            Fresh rows, with outcomes and predictions by the deployed model; never cross-validated predictions, which
            other models made. Rows that fitted the localizer, or are already in `calibration`, are refused in any order
            and format.
        groups : array-like, optional
            Labels of groups, to calibrate each separately (Mondrian): text, integers or booleans. Every row of a calibration has a group, or none has.
        weights : array-like of shape (n,) or str, optional
            Likelihood ratios of the rows, or the name of their column in X, if the model was fitted with weights. By
            default the column of the fit, if X has it.
        clusters : array-like or str, optional
            Labels of clusters, or the name of their column in X, if the localizer was fitted with clusters; by default
            the column of the fit, if X has it. Every row of a calibration has a cluster, or none has. Clusters that
            fitted the localizer are refused.
        key : array-like of int, optional
            A number for each row that no other row has, in this call or another: then the order of the rows and their
            partition into calls do not matter.
        calibration : Calibration, optional
            Calibration of this localizer to add to; by default a new one. Scores of another localizer, or of this one
            before it was fitted again, are refused.
        population : {"source", "target"}, optional
            Population of the rows; required if the localizer has weights, see `WidthwiseRegressor.conformalize`. A
            `Predictor` of rows of the target population has no weights.
        """
        calibration = calibration if calibration is not None else Calibration()
        shard = calibration._shard
        kept = shard if shard.weighted else _core.CalibrationShard()
        model = self._fitted_model().with_calibration(kept).for_rows_of(population, replace=False)
        found = column_of(model, X, groups)
        ratios = _weights.column_of(model, X, weights)
        blocks = cluster_column_of(model, X, clusters)
        add_rows(model, shard, *inputs_of(model, X, y_pred), found, y, key, "a new Calibration", ratios, blocks)
        return calibration

    def __repr__(self) -> str:
        state = (
            f"{self.score_transform}, {_core.count_of(len(self.features), 'feature')}"
            if hasattr(self, "_model")
            else "not fitted"
        )
        return f"Localizer({state})"
