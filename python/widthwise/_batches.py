"""Prediction and calibration on batches of rows, shared by Spark, Dask, DuckDB and `Predictor.add_intervals`."""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import _core, _tables
from ._blocks import cluster_numbers
from ._groups import for_calibration, for_prediction
from ._intervals import bound_names
from ._localizer import Localizer
from ._model import features_of, not_fitted
from ._options import Levels
from ._predictor import Predictor
from ._tables import Floats
from ._warn import warn
from ._weights import checked

if TYPE_CHECKING:
    from ._regressor import WidthwiseRegressor

    AnyModel: TypeAlias = WidthwiseRegressor | Predictor | str | os.PathLike[str] | bytes


# ---- models sent to other processes


# The models read by this process, by digest; a worker uses one or two at a time.
_READ: dict[str, _core.Model] = {}
_MOST_READ = 4


@dataclass(frozen=True)
class Shipment:
    """A model that is sent to other processes; each process fetches and reads its bytes once."""

    digest: str
    fetch: Callable[[], bytes]

    def model(self) -> _core.Model:
        found = _READ.get(self.digest)
        if found is None:
            found = _core.Model.from_bytes(self.fetch())
            for digest in list(_READ)[: max(0, len(_READ) - _MOST_READ + 1)]:
                _READ.pop(digest, None)
            _READ[self.digest] = found
        return found


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def predictor_of(model: AnyModel) -> Predictor:
    """Predictor from a model, a path or bytes."""
    if isinstance(model, Predictor):
        return model
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Predictor._of(_core.Model.from_bytes(bytes(model)))
    if isinstance(model, (str, os.PathLike)):
        return Predictor.load(model)
    found = getattr(model, "predictor_", None)
    if isinstance(found, Predictor):
        return found
    kind = type(model).__name__
    if hasattr(model, "conformalize"):
        raise not_fitted(f"this {kind} is not fitted yet: call fit with X and y")
    hint = "; it has no calibration: pass Predictor(localizer, calibration)" if isinstance(model, Localizer) else ""
    raise TypeError(f"expected a fitted model, the path of a model file or its bytes, found {kind}{hint}")


# ---- columns of a batch: an Arrow batch or table, or a pandas frame


def _borrowed(batch: Any, names: Sequence[str]) -> Any:
    """The batch with decimals and half-precision floats converted, because C++ cannot borrow them."""
    if hasattr(batch, "schema"):
        import pyarrow as pa

        for name in names:
            place = batch.schema.get_field_index(name)
            kind = batch.schema.field(place).type if place >= 0 else None
            if kind is not None and (pa.types.is_decimal(kind) or pa.types.is_float16(kind)):
                batch = batch.set_column(place, name, _tables.validated(batch.column(place), name).cast(pa.float64()))
    return batch


def _features(model: _core.Model, batch: Any) -> _core.Table:
    return features_of(model, _borrowed(batch, model.features), named=True)


def _number(batch: Any, name: str) -> Floats:
    table, _ = _tables.read(_borrowed(batch, [name]), ())
    return _tables.select_names(table, [name], True).to_matrix()[:, 0]


def _predictions(model: _core.Model, batch: Any) -> Floats | None:
    columns = [_number(batch, name) for name in model.prediction_columns]
    return np.column_stack(columns).ravel() if columns else None


def _weights(model: _core.Model, batch: Any) -> Floats | None:
    return checked(_number(batch, model.weight), len(batch)) if model.needs_weights else None


def group_column(model: _core.Model, groups: str | Sequence[str] | None) -> str | None:
    """The column of groups, or the name of several together: by default the one that the model was fitted with."""
    if groups is None and not model.group and model.grouped:
        raise ValueError("the calibration has groups; pass the name of the group column as groups=")
    return label_column(groups) or model.group or None


def label_column(names: str | Sequence[str] | None) -> str | None:
    """The name of a column of labels, or of several together."""
    return names if names is None or isinstance(names, str) else _core.join_labels(list(names))


def _labels(batch: Any, name: str | None, argument: str) -> Any:
    """The labels of the rows of a batch in a column, or in several together."""
    if name is None:
        return None
    columns = _tables.columns_named(name, _tables.names_of(batch) or batch.schema.names)
    return _tables.joined(columns, [batch[column] for column in columns], argument).values


def needed_columns(model: _core.Model, *more: str | None) -> list[str]:
    names = [*model.features, *model.prediction_columns]
    names += [*([model.weight] if model.needs_weights else []), *filter(None, more)]
    return list(dict.fromkeys(names))


def columns_there(there: Sequence[str], needed: Iterable[str]) -> list[str]:
    """The needed columns of a table; several that have one name together are listed one by one."""
    columns = [column for name in needed for column in _tables.columns_named(name, there)]
    for name in columns:
        if name not in there:
            raise ValueError(f"missing column {name!r}; found {', '.join(there)}")
    return list(dict.fromkeys(columns))


# ---- intervals


@dataclass(frozen=True)
class Intervals:
    """The columns that prediction adds to a table, as in ``widthwise predict``."""

    levels: list[float]
    names: list[str]
    groups: str | None = None

    @classmethod
    def of(cls, predictor: Predictor, confidence_level: Levels | None, groups: str | Sequence[str] | None) -> Intervals:
        levels = list(dict.fromkeys(predictor._checked_levels(confidence_level)))
        model = predictor._model
        names = [] if len(model.prediction_columns) == 1 else ["prediction"]
        return cls(levels, names + bound_names(levels), group_column(model, groups))

    def check(self, model: _core.Model, there: Sequence[str]) -> None:
        """Raise if a required column is missing or an output column exists."""
        columns_there(there, needed_columns(model, self.groups))
        for name in self.names:
            if name in there:
                raise ValueError(f"the column {name!r} already exists; drop or rename it")

    def columns(self, model: _core.Model, batch: Any) -> dict[str, Floats]:
        # Another batch may have known labels where this one has none, so only warn.
        table = _tables.check_categories(_features(model, batch), all_rows=False)
        predictions = _predictions(model, batch)
        groups = for_prediction(model, _labels(batch, self.groups, "groups"), table.rows)
        made, bounds = model.intervals(table, predictions, groups, self.levels, _weights(model, batch))
        columns = [] if len(model.prediction_columns) == 1 else [made]
        for j in range(len(self.levels)):
            columns += [bounds[:, 0, j], bounds[:, 1, j]]
        return dict(zip(self.names, map(np.ascontiguousarray, columns), strict=True))

    def add_to(self, model: _core.Model, batch: Any) -> Any:
        """Return an Arrow batch or table with the columns added."""
        import pyarrow as pa

        for name, values in self.columns(model, batch).items():
            batch = batch.append_column(name, pa.array(values))
        return batch


# ---- calibration


@dataclass(frozen=True)
class Shard:
    """Result of one machine: a calibration shard, counts of categories (JSON), or an error message."""

    scores: bytes = b""
    categories: str = ""
    problem: str = ""


# Number of shards merged at a time; each may contain a sample of a million rows.
MERGED_AT_ONCE = 8


@dataclass(frozen=True)
class Calibrating:
    """The columns used for calibration."""

    key: str
    target: str
    groups: str | None = None
    clusters: str | None = None

    @classmethod
    def of(
        cls,
        model: _core.Model,
        key: str | None,
        target: str | None,
        groups: str | Sequence[str] | None,
        clusters: str | Sequence[str] | None,
    ) -> Calibrating:
        if key is None:
            raise ValueError(
                "pass the name of a column of unique integers as key=; without keys, duplicate rows on several "
                "machines cannot be detected"
            )
        if not (target or model.target):
            raise ValueError("the model has no target column; pass its name as target=")
        of_groups, of_clusters = label_column(groups) or model.group, label_column(clusters) or model.cluster
        return cls(key, target or model.target, of_groups or None, of_clusters or None)

    def needed(self, model: _core.Model) -> list[str]:
        return needed_columns(model, self.target, self.groups, self.clusters, self.key)

    def shard(self, model: _core.Model, batches: Iterable[Any]) -> Shard:
        """Compute the scores of some rows. Errors are returned as text, because exceptions of workers are hard to
        read."""
        scored = _Scored.like(model)
        try:
            for batch in batches:
                self._add(model, scored, batch)
            return scored.packed()
        except ValueError as error:
            return Shard(problem=self._text(error))

    def merged(self, shards: Iterable[Shard]) -> Shard:
        scored: _Scored | None = None
        for shard in shards:
            if shard.problem:
                return shard
            if not shard.scores:  # the result of a task without shards
                continue
            more = _Scored.of(shard)
            if scored is None:
                scored = more
                continue
            try:
                scored.merge(more)
            except ValueError as error:
                return Shard(problem=self._text(error))
        return Shard() if scored is None else scored.packed()

    def finished(self, predictor: Predictor, shards: Iterable[Shard], replace: bool) -> Predictor:
        """Return the predictor calibrated with the rows of all shards."""
        model = predictor._model
        shard = self.merged(shards)
        if shard.problem:
            raise ValueError(shard.problem)
        scored = _Scored.of(shard) if shard.scores else _Scored.like(model)
        _tables.check_labels(scored.categories.values())
        if scored.scores.rows_seen == 0:
            raise ValueError("no rows to calibrate with")
        try:
            calibrated = model.add_shard(scored.scores, replace, "replace=True")
        except ValueError as error:
            raise ValueError(self._text(error)) from None
        if warning := model.in_sample_warning(scored.scores):
            warn(warning)
        return Predictor._of(calibrated, predictor._origin)

    def _add(self, model: _core.Model, scored: _Scored, batch: Any) -> None:
        table = _features(model, batch)
        if not table.rows:
            return
        keys = _tables.keys(np.asarray(batch[self.key]), table.rows, f"column {self.key!r}, the key,")
        outcomes = _number(batch, self.target)
        predictions = _predictions(model, batch)
        _check_finite(keys, outcomes, self.target)
        outcomes = np.ascontiguousarray(outcomes)
        groups = for_calibration(_labels(batch, self.groups, "groups"), table.rows)
        numbers, labels = (None, None) if groups is None else groups
        weights = _weights(model, batch)
        blocks = cluster_numbers(_labels(batch, self.clusters, "clusters"), table.rows)
        columns = {"groups": numbers, "labels": labels, "weights": weights, "clusters": blocks, "keys": keys}
        try:
            scored.scores.add_rows(model, _core.Rows(table, outcomes, predictions, **columns))
        except ValueError:
            _check_finite(keys, model.predictions(table, predictions), model.prediction or "the prediction")
            raise
        scored.add_categories(table.unknown_labels)

    def _text(self, error: ValueError) -> str:
        """The message of an error; that of a row added twice names its key."""
        twice = getattr(error, "row_number", None)
        if twice is None:
            return str(error)
        return (
            f"the key {_signed(twice)} in {self.key!r} occurs twice, or its row is already in the calibration "
            f"set, and duplicates make intervals too narrow; pass every row once with a unique key, or use "
            f"replace=True to calibrate with these rows only"
        )


@dataclass(frozen=True)
class _Scored:
    """Accumulator for the content of a Shard."""

    scores: _core.CalibrationShard
    categories: dict[str, _core.UnknownLabels] = field(default_factory=dict)  # by the names of their columns

    @classmethod
    def like(cls, model: _core.Model) -> _Scored:
        return cls(_core.CalibrationShard.of(model))

    @classmethod
    def of(cls, shard: Shard) -> _Scored:
        scored = cls(_core.CalibrationShard.from_bytes(shard.scores))
        scored.add_categories(_core.UnknownLabels.of(state) for state in json.loads(shard.categories))
        return scored

    def packed(self) -> Shard:
        categories = json.dumps([labels.state for labels in self.categories.values()])
        return Shard(self.scores.to_bytes(residuals=True), categories)

    def merge(self, other: _Scored) -> None:
        self.scores.merge(other.scores)
        self.add_categories(other.categories.values())

    def add_categories(self, found: Iterable[_core.UnknownLabels]) -> None:
        for labels in found:
            if labels.feature in self.categories:
                self.categories[labels.feature].merge(labels)
            else:
                self.categories[labels.feature] = labels


# ---- distributed systems


class DistributedSystem(ABC):
    """Prediction and calibration of a distributed frame. A subclass implements one engine."""

    def predict_interval(
        self,
        frame: Any,
        model: AnyModel,
        confidence_level: Levels | None = None,
        *,
        groups: str | Sequence[str] | None = None,
    ) -> Any:
        """Add prediction intervals to the rows of a frame.

        Parameters
        ----------
        frame : dask.dataframe.DataFrame or pyspark.sql.DataFrame
            Contains the columns of the model, in any order. All columns are kept.
        model : Predictor, fitted WidthwiseRegressor, path-like or bytes
            Calibrated model. It is sent to each worker once, and each worker process reads it once.
        confidence_level : float or list of floats, optional
            By default the levels of the model.
        groups : str or list of str, optional
            Column with the labels of groups, if the model has groups, or several columns whose labels are joined. By
            default those of the fit.

        Returns
        -------
        A frame of the same kind
            Lazy, with the columns ``lower_0.9`` and ``upper_0.9`` for each level, and ``prediction`` if the model
            contains the base model. In Spark, quote names that contain a dot with backticks.
        """
        predictor = predictor_of(model)
        return self._add_intervals(frame, predictor, Intervals.of(predictor, confidence_level, groups))

    def calibrate(
        self,
        frame: Any,
        model: AnyModel,
        *,
        key: str | None = None,
        target: str | None = None,
        groups: str | Sequence[str] | None = None,
        clusters: str | Sequence[str] | None = None,
        replace: bool = False,
        population: str | None = None,
    ) -> Predictor:
        """Calibrate a model with the rows of a frame. Rows stay where they are; only samples of scores are sent.

        Parameters
        ----------
        frame : dask.dataframe.DataFrame or pyspark.sql.DataFrame
            Rows that the model was not fitted on, with the columns of the model, outcomes and keys. Rows that the model
            was fitted on are an error; so are rows that are already in its calibration set, unless `replace`.
        model : Predictor, fitted WidthwiseRegressor, path-like or bytes
        key : str
            Column of integers, unique among all rows that ever calibrate this model. The result does not depend on the
            order or the partitions of the rows, to the byte. Duplicate keys are an error.
        target : str, optional
            Column of outcomes. By default the target of the model.
        groups : str or list of str, optional
            Column of labels, or several columns whose labels are joined. Each group is calibrated separately (Mondrian
            calibration). By default the column of the fit, if the model was fitted with groups.
        clusters : str or list of str, optional
            Column with the labels of clusters, or several columns whose labels are joined. The clusters must be new to
            the model. By default the column of the fit, if the model was fitted with clusters.
        replace : bool, default=False
            Discard the existing calibration set.
        population : {"source", "target"}, optional
            Population of the rows; required if the model has weights, see `WidthwiseRegressor.conformalize`.

        Returns
        -------
        Predictor
        """
        given = predictor_of(model)
        predictor = Predictor._of(given._model.for_rows_of(population, replace), given._origin)
        calibrating = Calibrating.of(predictor._model, key, target, groups, clusters)
        needed = columns_there(list(frame.columns), calibrating.needed(predictor._model))
        return calibrating.finished(predictor, self._parts(frame, predictor, calibrating, needed), replace)

    @abstractmethod
    def _add_intervals(self, frame: Any, predictor: Predictor, intervals: Intervals) -> Any:
        """Return the frame with the interval columns."""

    def _parts(self, frame: Any, predictor: Predictor, calibrating: Calibrating, needed: list[str]) -> Iterable[Shard]:
        """Return the scores of all rows, in at most MERGED_AT_ONCE shards."""
        raise NotImplementedError


def _check_finite(keys: NDArray[np.uint64], values: Floats, name: str) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        what = "missing" if np.isnan(values[bad[0]]) else "infinite"
        raise ValueError(f"the row of key {_signed(int(keys[bad[0]]))}: {name} is {what}; remove such rows")


def _signed(key: int) -> int:
    return key - (1 << 64) if key >= 1 << 63 else key
