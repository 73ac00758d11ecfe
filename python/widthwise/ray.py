"""Prediction intervals on Ray datasets.

>>> import ray                                                                           # doctest: +SKIP
>>> import widthwise.ray                                                                 # doctest: +SKIP
>>> dataset = ray.data.read_parquet("new.parquet")                                       # doctest: +SKIP
>>> widthwise.ray.predict_interval(dataset, "homes.safetensors").write_parquet("out")    # doctest: +SKIP

widthwise must be installed on the workers.
"""

from __future__ import annotations

from typing import Any

try:
    import ray
    import ray.data  # noqa: F401
except ImportError as error:
    raise ImportError("widthwise.ray needs Ray's datasets: pip install 'widthwise[ray]'") from error

from ._batches import Cluster, Intervals, Shipment, digest_of
from ._predictor import Predictor

__all__ = ["predict_interval"]


class _Ray(Cluster):
    def _add_intervals(self, frame: Any, predictor: Predictor, intervals: Intervals) -> Any:
        data = predictor._model.to_bytes()
        stored = ray.put(data)
        shipment = Shipment(digest_of(data), lambda: ray.get(stored))

        def scored(batch: Any) -> Any:
            model = shipment.model()
            # Check the columns here, because asking the dataset for its columns would read it.
            intervals.check(model, batch.column_names)
            return intervals.add_to(model, batch)

        return frame.map_batches(scored, batch_size=None, batch_format="pyarrow", zero_copy_batch=True)


predict_interval = _Ray().predict_interval
