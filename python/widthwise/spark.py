"""Prediction intervals and calibration on Spark data frames.

>>> import widthwise.spark                                                               # doctest: +SKIP
>>> frame = spark.read.parquet("new.parquet")                                            # doctest: +SKIP
>>> widthwise.spark.predict_interval(frame, "homes.safetensors").write.parquet("out")    # doctest: +SKIP
>>> april = spark.read.parquet("april.parquet")                                          # doctest: +SKIP
>>> widthwise.spark.calibrate(april, "homes.safetensors", key="id").save("new.safetensors")  # doctest: +SKIP

Spark's Python workers process the rows in Arrow batches. They need widthwise, numpy and pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

try:
    import pyarrow as pa
    import pyspark.sql.types as types
except ImportError as error:
    raise ImportError("widthwise.spark needs pyspark and pyarrow: pip install 'widthwise[spark]'") from error

from ._batches import MERGED_AT_ONCE, Calibrating, DistributedSystem, Intervals, Shard, Shipment, digest_of
from ._predictor import Predictor

__all__ = ["calibrate", "predict_interval"]

_SHARD = types.StructType(
    [
        types.StructField("scores", types.BinaryType()),
        types.StructField("categories", types.StringType()),
        types.StructField("problem", types.StringType()),
    ]
)


class _Spark(DistributedSystem):
    def _add_intervals(self, frame: Any, predictor: Predictor, intervals: Intervals) -> Any:
        intervals.check(predictor._model, frame.columns)
        shipment = _ship(frame, predictor)
        names = frame.columns

        def scored(batches: Iterator[Any]) -> Iterator[Any]:
            model = shipment.model()
            for batch in batches:
                yield intervals.add_to(model, batch.rename_columns(names))

        added = [types.StructField(name, types.DoubleType()) for name in intervals.names]
        return _numbered(frame).mapInArrow(scored, types.StructType(frame.schema.fields + added))

    def _parts(self, frame: Any, predictor: Predictor, calibrating: Calibrating, needed: list[str]) -> Iterable[Shard]:
        shipment = _ship(frame, predictor)

        def scored(batches: Iterator[Any]) -> Iterator[Any]:
            yield _to_arrow(calibrating.shard(shipment.model(), (batch.rename_columns(needed) for batch in batches)))

        def merged(batches: Iterator[Any]) -> Iterator[Any]:
            yield _to_arrow(calibrating.merged(shard for batch in batches for shard in _from_arrow(batch)))

        selected = frame.select(*["`" + name.replace("`", "``") + "`" for name in needed])
        # Cached, because the shards are counted and then merged: rows are scored once.
        shards = made = _numbered(selected).mapInArrow(scored, _SHARD).persist()
        try:
            count = made.count()
            while count > MERGED_AT_ONCE:
                count = -(-count // MERGED_AT_ONCE)
                shards = shards.repartition(count).mapInArrow(merged, _SHARD)
            return [Shard(bytes(row.scores), row.categories, row.problem) for row in shards.collect()]
        finally:
            made.unpersist()


_spark = _Spark()
predict_interval = _spark.predict_interval
calibrate = _spark.calibrate


def _numbered(frame: Any) -> Any:
    """Return the frame with numbered column names, because mapInArrow fails on names that contain a dot."""
    return frame.toDF(*[f"column{j}" for j in range(len(frame.columns))])


def _ship(frame: Any, predictor: Predictor) -> Shipment:
    data = predictor._model.to_bytes()
    digest = digest_of(data)
    try:
        broadcast = frame.sparkSession.sparkContext.broadcast(data)
    except AttributeError:  # Spark Connect has no context; the bytes are sent with the function
        return Shipment(digest, lambda: data)
    return Shipment(digest, lambda: broadcast.value)


def _to_arrow(shard: Shard) -> Any:
    columns = [pa.array([value]) for value in (shard.scores, shard.categories, shard.problem)]
    return pa.RecordBatch.from_arrays(columns, names=[field.name for field in _SHARD.fields])


def _from_arrow(batch: Any) -> Iterable[Shard]:
    return [Shard(**row) for row in batch.to_pylist()]
