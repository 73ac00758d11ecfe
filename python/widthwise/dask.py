"""Prediction intervals and calibration on Dask data frames.

>>> import dask.dataframe                                                                # doctest: +SKIP
>>> import widthwise.dask                                                                # doctest: +SKIP
>>> frame = dask.dataframe.read_parquet("new.parquet")                                   # doctest: +SKIP
>>> widthwise.dask.predict_interval(frame, "homes.safetensors").to_parquet("out")        # doctest: +SKIP
>>> april = dask.dataframe.read_parquet("april.parquet")                                 # doctest: +SKIP
>>> widthwise.dask.calibrate(april, "homes.safetensors", key="id").save("new.safetensors")   # doctest: +SKIP

widthwise must be installed on the workers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

try:
    import dask
    import dask.dataframe  # noqa: F401
except ImportError as error:
    raise ImportError("widthwise.dask needs dask's data frames: pip install 'widthwise[dask]'") from error

from ._batches import MERGED_AT_ONCE, Calibrating, DistributedSystem, Intervals, Shard, Shipment, digest_of
from ._predictor import Predictor

__all__ = ["calibrate", "predict_interval"]


class _Dask(DistributedSystem):
    def _add_intervals(self, frame: Any, predictor: Predictor, intervals: Intervals) -> Any:
        intervals.check(predictor._model, list(frame.columns))
        digest, data = _ship(predictor)
        added = dict.fromkeys(intervals.names, 0.0)
        meta = frame._meta.assign(**added).astype(dict.fromkeys(intervals.names, "float64"))
        return frame.map_partitions(_scored, data, digest, intervals, meta=meta)

    def _parts(self, frame: Any, predictor: Predictor, calibrating: Calibrating, needed: list[str]) -> Iterable[Shard]:
        digest, data = _ship(predictor)
        scored, merged = dask.delayed(_shard), dask.delayed(_merged)
        shards = [scored(partition, data, digest, calibrating) for partition in frame[needed].to_delayed()]
        while len(shards) > 1:
            groups = (shards[i : i + MERGED_AT_ONCE] for i in range(0, len(shards), MERGED_AT_ONCE))
            shards = [merged(calibrating, group) for group in groups]
        found: Iterable[Shard] = dask.compute(*shards)
        return found


_dask = _Dask()
predict_interval = _dask.predict_interval
calibrate = _dask.calibrate


def _ship(predictor: Predictor) -> tuple[str, Any]:
    """Return a digest and a task with the bytes, so that they are sent once per worker."""
    data = predictor._model.to_bytes()
    return digest_of(data), dask.delayed(data)


def _scored(rows: Any, data: bytes, digest: str, intervals: Intervals) -> Any:
    return rows.assign(**intervals.columns(Shipment(digest, lambda: data).model(), rows))


def _shard(rows: Any, data: bytes, digest: str, calibrating: Calibrating) -> Shard:
    return calibrating.shard(Shipment(digest, lambda: data).model(), [rows])


def _merged(calibrating: Calibrating, shards: list[Shard]) -> Shard:
    return calibrating.merged(shards)
