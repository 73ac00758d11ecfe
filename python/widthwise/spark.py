"""Intervals for the rows of a Spark frame, and calibration where they are.

>>> import widthwise.spark                                                               # doctest: +SKIP
>>> frame = spark.read.parquet("new.parquet")                                            # doctest: +SKIP
>>> widthwise.spark.predict_interval(frame, "homes.safetensors").write.parquet("out")    # doctest: +SKIP
>>> april = spark.read.parquet("april.parquet")                                          # doctest: +SKIP
>>> widthwise.spark.calibrate(april, "homes.safetensors", key="id").save("new.safetensors")  # doctest: +SKIP

Rows are scored by Spark's Python workers, which need widthwise, numpy and pyarrow, in Arrow batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

try:
    import pyarrow as pa
    import pyspark.sql.types as types
except ImportError as error:
    raise ImportError("widthwise.spark needs pyspark and pyarrow: pip install 'widthwise[spark]'") from error

from . import _batches
from ._batches import Calibrating, Intervals, Part, Shipment
from ._options import Levels
from ._predictor import Predictor

if TYPE_CHECKING:
    from ._batches import AnyModel

__all__ = ["calibrate", "predict_interval"]

_PART = types.StructType(
    [
        types.StructField("scores", types.BinaryType()),
        types.StructField("residuals", types.BinaryType()),
        types.StructField("rows", types.BinaryType()),
        types.StructField("problem", types.StringType()),
    ]
)


def predict_interval(
    frame: Any, model: AnyModel, confidence_level: Levels | None = None, *, groups: str | None = None
) -> Any:
    """Add prediction intervals to the rows of a frame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        With the model's columns, in any order; all columns are carried along.
    model : Predictor, fitted WidthwiseRegressor, path-like or bytes
        Calibrated. It travels to the workers once, and each of their processes reads it once.
    confidence_level : float or list of floats, optional
        By default the model's.
    groups : str, optional
        The column of the rows' categories, when the calibration has them.

    Returns
    -------
    pyspark.sql.DataFrame
        Lazy, with ``prediction`` where the model makes it, and ``lower_0.9`` and ``upper_0.9`` for each level. Spark
        takes the dot for a field of a struct unless the name is in backticks.
    """
    predictor = _batches.predictor_of(model)
    intervals = Intervals.of(predictor, confidence_level, groups)
    intervals.check(predictor._model, frame.columns)
    shipment = _ship(frame, predictor)
    names = frame.columns

    def scored(batches: Iterator[Any]) -> Iterator[Any]:
        model = shipment.model()
        for batch in batches:
            yield intervals.add_to(model, batch.rename_columns(names))

    added = [types.StructField(name, types.DoubleType()) for name in intervals.names]
    return _numbered(frame).mapInArrow(scored, types.StructType(frame.schema.fields + added))


def calibrate(
    frame: Any,
    model: AnyModel,
    *,
    key: str | None = None,
    target: str | None = None,
    groups: str | None = None,
    replace: bool = False,
) -> Predictor:
    """Calibrate a model with the rows of a frame, where they are: only samples of scores travel.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Rows that nothing was fitted on, with the model's columns, outcomes and keys. Rows that fitted the model are
        refused, and rows that are already in its calibration set unless `replace`.
    model : Predictor, fitted WidthwiseRegressor, path-like or bytes
    key : str
        A column of whole numbers, a different one for each row that is ever calibrated with. The result is the same to
        the byte however Spark orders and deals out the rows; a row that comes twice is found.
    target : str, optional
        The column of outcomes; by default the model's.
    groups : str, optional
        A column of integers, categories that get a promise each (Mondrian).
    replace : bool, default=False
        Forget the calibration there was, and use these rows alone.

    Returns
    -------
    Predictor
    """
    predictor = _batches.predictor_of(model)
    calibrating = Calibrating.of(predictor._model, key, target, groups)
    needed = calibrating.needed(predictor._model)
    _batches.check_columns(frame.columns, needed)
    shipment = _ship(frame, predictor)

    def scored(batches: Iterator[Any]) -> Iterator[Any]:
        yield _to_arrow(calibrating.part(shipment.model(), (batch.rename_columns(needed) for batch in batches)))

    def merged(batches: Iterator[Any]) -> Iterator[Any]:
        yield _to_arrow(calibrating.merged(part for batch in batches for part in _from_arrow(batch)))

    selected = frame.select(*["`" + name.replace("`", "``") + "`" for name in needed])
    # Kept where they are, so that rows are scored once although the parts are counted before they are merged.
    parts = made = _numbered(selected).mapInArrow(scored, _PART).persist()
    try:
        count = made.count()
        while count > _batches.MERGED_AT_ONCE:
            count = -(-count // _batches.MERGED_AT_ONCE)
            parts = parts.repartition(count).mapInArrow(merged, _PART)
        collected = [
            Part(bytes(row.scores), bytes(row.residuals), bytes(row.rows), row.problem) for row in parts.collect()
        ]
    finally:
        made.unpersist()
    return calibrating.finished(predictor, collected, replace)


def _numbered(frame: Any) -> Any:
    """The frame with other names: mapInArrow takes a dot in a name for a field of a struct, and fails."""
    return frame.toDF(*[f"column{j}" for j in range(len(frame.columns))])


def _ship(frame: Any, predictor: Predictor) -> Shipment:
    data = predictor._model.to_bytes()
    digest = _batches.digest_of(data)
    try:
        broadcast = frame.sparkSession.sparkContext.broadcast(data)
    except AttributeError:  # Spark Connect has no context; there the bytes travel with the function
        return Shipment(digest, lambda: data)
    return Shipment(digest, lambda: broadcast.value)


def _to_arrow(part: Part) -> Any:
    columns = [pa.array([value]) for value in (part.scores, part.residuals, part.rows, part.problem)]
    return pa.RecordBatch.from_arrays(columns, names=[field.name for field in _PART.fields])


def _from_arrow(batch: Any) -> Iterable[Part]:
    return [Part(**row) for row in batch.to_pylist()]
