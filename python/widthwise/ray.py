"""Intervals for the rows of a Ray dataset.

>>> import ray                                                                           # doctest: +SKIP
>>> import widthwise.ray                                                                 # doctest: +SKIP
>>> dataset = ray.data.read_parquet("new.parquet")                                       # doctest: +SKIP
>>> widthwise.ray.predict_interval(dataset, "homes.safetensors").write_parquet("out")    # doctest: +SKIP

Workers need widthwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import ray
    import ray.data  # noqa: F401
except ImportError as error:
    raise ImportError("widthwise.ray needs Ray's datasets: pip install 'widthwise[ray]'") from error

from . import _batches
from ._batches import Intervals, Shipment
from ._options import Levels

if TYPE_CHECKING:
    from ._batches import AnyModel

__all__ = ["predict_interval"]


def predict_interval(
    dataset: Any, model: AnyModel, confidence_level: Levels | None = None, *, groups: str | None = None
) -> Any:
    """Add prediction intervals to the rows of a dataset.

    Parameters
    ----------
    dataset : ray.data.Dataset
        With the model's columns, in any order; all columns are carried along.
    model : Predictor, fitted WidthwiseRegressor, path-like or bytes
        Calibrated. It lies in the object store, and each worker process reads it once.
    confidence_level : float or list of floats, optional
        By default the model's.
    groups : str, optional
        The column of the rows' categories, when the calibration has them.

    Returns
    -------
    ray.data.Dataset
        Lazy, with ``prediction`` where the model makes it, and ``lower_0.9`` and ``upper_0.9`` for each level.
    """
    predictor = _batches.predictor_of(model)
    intervals = Intervals.of(predictor, confidence_level, groups)
    data = predictor._model.to_bytes()
    stored = ray.put(data)
    shipment = Shipment(_batches.digest_of(data), lambda: ray.get(stored))

    def scored(batch: Any) -> Any:
        model = shipment.model()
        # The columns of a dataset are known only here: asking it for them would read it.
        intervals.check(model, batch.column_names)
        return intervals.add_to(model, batch)

    return dataset.map_batches(scored, batch_size=None, batch_format="pyarrow", zero_copy_batch=True)
