"""Intervals of single rows of named values, as services receive them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _tables
from ._options import levels_of

if TYPE_CHECKING:
    from ._predictor import Predictor


class RowInterval(NamedTuple):
    """The prediction of a row, and the bounds of its interval."""

    prediction: float
    lower: float
    upper: float


class RowFunction:
    """The prediction and the interval of one row of named values, as `row_function` of a model returns it.

    Names and categories are prepared once, so that a call takes about 20 microseconds where a frame of one row takes
    hundreds. Results, errors and warnings are those of `predict_interval`. The function keeps the model that it was made from: make
    another one after `conformalize`. Threads may share it.

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise import WidthwiseRegressor
    >>> rng = np.random.default_rng(0)
    >>> size, age = rng.uniform(30, 200, 2000), rng.uniform(0, 80, 2000)
    >>> price = 4 * size - age + 0.3 * size * rng.normal(size=2000)
    >>> model = WidthwiseRegressor(base_options={"rounds": 40}, random_state=0, n_jobs=1)
    >>> row = model.fit({"size": size, "age": age}, price).row_function(confidence_level=0.9)
    >>> found = row({"size": 120, "age": 30})
    >>> found.lower < found.prediction < found.upper
    True
    """

    def __init__(
        self,
        predictor: Predictor,
        confidence_level: float | None = None,
        predict: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> None:
        model = predictor._model
        level = predictor.confidence_levels[0] if confidence_level is None else confidence_level
        if np.ndim(level):
            raise ValueError(f"confidence_level is {confidence_level!r}; expected one level for a row function")
        self._predictor = predictor
        self._predict = predict
        self._levels = levels_of(float(level), [])
        predictor._checked_levels(self._levels)  # warns of infinite intervals here rather than for every row
        self._features = [
            (name, {label: float(code) for code, label in enumerate(labels)} if labels else None)
            for name, labels in zip(model.features, model.categories, strict=True)
        ]
        self._by_group = bool(model.group) or model.grouped

    @property
    def confidence_level(self) -> float:
        """The confidence level of the intervals."""
        return self._levels[0]

    def __call__(
        self,
        values: Mapping[str, Any],
        y_pred: Any = None,
        *,
        group: Any = None,
        weight: float | None = None,
        cluster_size: float | None = None,
    ) -> RowInterval:
        """The prediction and the interval of a row.

        Parameters
        ----------
        values : mapping, such as a dict or a pandas Series
            The value of each feature by its name: a number, the label of a category, or None if it is missing. Other
            names are ignored.
        y_pred : float, or two floats of a model of quantiles, optional
            The prediction, if the model has neither a base model nor an estimator.
        group : optional
            The label of the group, if the model has groups; by default the value of the group column of the fit.
        weight : float, optional
            The likelihood ratio, if the model was fitted with weights; by default the value of the column of the fit.
        cluster_size : float, optional
            Number of rows of the cluster of the row, see `predict_interval`.

        Returns
        -------
        RowInterval
            A named tuple ``(prediction, lower, upper)``.
        """
        model = self._predictor._model
        if y_pred is None and self._predict is not None:
            y_pred = self._predict(values)
        elif y_pred is not None:
            y_pred = np.atleast_1d(np.asarray(y_pred, dtype=np.float64))
        numbers = self._numbers(values)
        of_group = self._group(values, group) if self._by_group or group is not None else None
        usual = (
            numbers is not None
            and (0 if y_pred is None else np.size(y_pred)) == int(model.needs_predictions)
            and (of_group is not None) == self._by_group
            and weight is None
            and cluster_size is None
            and not model.weighted
        )
        if not usual:
            return self._as_table(values, y_pred, group, weight, cluster_size)
        table = model.table_of(np.array([numbers], dtype=np.float64))
        groups = None if of_group is None else np.array([of_group])
        made, bounds = model.intervals(table, y_pred, groups, self._levels)
        return RowInterval(float(made[0]), float(bounds[0, 0, 0]), float(bounds[0, 1, 0]))

    def _numbers(self, values: Mapping[str, Any]) -> list[float] | None:
        """The features as numbers; None if a value is not of the usual kind, or a label is not known."""
        numbers = []
        for name, codes in self._features:
            try:
                value = values[name]
            except KeyError:
                _tables.present(name, list(values.keys()), "the row")
                raise
            if value is None:
                number: float | None = math.nan
            elif codes is None:
                number = value if type(value) in _PLAIN else None
            elif type(value) is str:
                number = codes.get(value)
            elif type(value) is bool:
                number = codes.get("true" if value else "false")
            else:
                number = codes.get(str(value)) if type(value) is int else None
            if number is None:
                return None
            numbers.append(number)
        return numbers

    def _group(self, values: Mapping[str, Any], group: Any) -> int | None:
        """The number of the group; None if it is not a calibrated one, or not given."""
        model = self._predictor._model
        if group is None and model.group:
            group = values.get(model.group)
        if type(group) not in (str, int):
            return None
        numbers, warning = model.find_labels([str(group)], [1])
        return None if warning else numbers[0]

    def _as_table(
        self, values: Mapping[str, Any], y_pred: Any, group: Any, weight: float | None, cluster_size: float | None
    ) -> RowInterval:
        """The same as a table of one row, with its errors and warnings."""
        if not isinstance(values, Mapping):
            values = {name: values[name] for name in values.keys()}  # noqa: SIM118 - a Series
        if y_pred is not None and np.ndim(y_pred) == 1 and len(y_pred) > 1:
            y_pred = np.reshape(y_pred, (1, -1))
        made, bounds = self._predictor.predict_interval(
            values,
            y_pred,
            confidence_level=self._levels,
            groups=None if group is None else [group],
            weights=None if weight is None else [weight],
            cluster_sizes=None if cluster_size is None else [cluster_size],
        )
        return RowInterval(float(made[0]), float(bounds[0, 0, 0]), float(bounds[0, 1, 0]))


_PLAIN = (float, int, bool, np.float64, np.float32, np.int64, np.int32)
