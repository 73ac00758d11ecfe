"""Intervals for the rows of a Dask frame, and calibration where they are.

>>> import dask.dataframe                                                                # doctest: +SKIP
>>> import widthwise.dask                                                                # doctest: +SKIP
>>> frame = dask.dataframe.read_parquet("new.parquet")                                   # doctest: +SKIP
>>> widthwise.dask.predict_interval(frame, "homes.safetensors").to_parquet("out")        # doctest: +SKIP
>>> april = dask.dataframe.read_parquet("april.parquet")                                 # doctest: +SKIP
>>> widthwise.dask.calibrate(april, "homes.safetensors", key="id").save("new.safetensors")   # doctest: +SKIP

Workers need widthwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import dask
    import dask.dataframe  # noqa: F401
except ImportError as error:
    raise ImportError("widthwise.dask needs dask's data frames: pip install 'widthwise[dask]'") from error

from . import _batches
from ._batches import Calibrating, Intervals, Part, Shipment
from ._options import Levels
from ._predictor import Predictor

if TYPE_CHECKING:
    from ._batches import AnyModel

__all__ = ["calibrate", "predict_interval"]


def predict_interval(
    frame: Any, model: AnyModel, confidence_level: Levels | None = None, *, groups: str | None = None
) -> Any:
    """Add prediction intervals to the rows of a frame.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        With the model's columns, in any order; all columns are carried along.
    model : Predictor, fitted WidthwiseRegressor, path-like or bytes
        Calibrated. Each worker reads it once.
    confidence_level : float or list of floats, optional
        By default the model's.
    groups : str, optional
        The column of the rows' categories, when the calibration has them.

    Returns
    -------
    dask.dataframe.DataFrame
        Lazy, with ``prediction`` where the model makes it, and ``lower_0.9`` and ``upper_0.9`` for each level.
    """
    predictor = _batches.predictor_of(model)
    intervals = Intervals.of(predictor, confidence_level, groups)
    intervals.check(predictor._model, list(frame.columns))
    digest, data = _ship(predictor)
    meta = frame._meta.assign(**dict.fromkeys(intervals.names, 0.0)).astype(dict.fromkeys(intervals.names, "float64"))
    return frame.map_partitions(_scored, data, digest, intervals, meta=meta)


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
    frame : dask.dataframe.DataFrame
        Rows that nothing was fitted on, with the model's columns, outcomes and keys. Rows that fitted the model are
        refused, and rows that are already in its calibration set unless `replace`.
    model : Predictor, fitted WidthwiseRegressor, path-like or bytes
    key : str
        A column of whole numbers, a different one for each row that is ever calibrated with. The result is the same to
        the byte however the rows are ordered and dealt out; a row that comes twice is found.
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
    _batches.check_columns(list(frame.columns), needed)
    digest, data = _ship(predictor)
    scored, merged = dask.delayed(_part), dask.delayed(_merged)
    parts = [scored(partition, data, digest, calibrating) for partition in frame[needed].to_delayed()]
    while len(parts) > 1:
        at_once = _batches.MERGED_AT_ONCE
        parts = [merged(calibrating, parts[i : i + at_once]) for i in range(0, len(parts), at_once)]
    return calibrating.finished(predictor, dask.compute(*parts), replace)


def _ship(predictor: Predictor) -> tuple[str, Any]:
    """A digest, and the bytes as a task of their own, so that they travel once to each worker."""
    data = predictor._model.to_bytes()
    return _batches.digest_of(data), dask.delayed(data)


def _scored(rows: Any, data: bytes, digest: str, intervals: Intervals) -> Any:
    return rows.assign(**intervals.columns(Shipment(digest, lambda: data).model(), rows))


def _part(rows: Any, data: bytes, digest: str, calibrating: Calibrating) -> Part:
    return calibrating.part(Shipment(digest, lambda: data).model(), [rows])


def _merged(calibrating: Calibrating, parts: list[Part]) -> Part:
    return calibrating.merged(parts)
