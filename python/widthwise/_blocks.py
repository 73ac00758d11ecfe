"""Rows that no split separates: those of one cluster, or of one time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core, _tables
from ._groups import for_calibration
from ._tables import Floats


def cluster_numbers(clusters: Any, rows: int) -> NDArray[np.int64] | None:
    """The numbers of the clusters of rows, each of which needs a label."""
    found = for_calibration(clusters, rows, "clusters")
    return None if found is None else found.numbers


def sizes_of(sizes: Any, rows: int) -> Floats | None:
    """The numbers of rows of the clusters of rows, if they are given; the model checks them."""
    return None if sizes is None else _tables.numbers(sizes, "cluster_sizes", rows)


def cluster_column_of(model: _core.Model, X: Any, clusters: Any) -> Any:
    """The clusters given, see `given_or_labels`; raise if a model with clusters gets none."""
    found = _tables.given_or_labels(X, clusters, model.cluster if model.clustered else "", "clusters")
    if found is not None or not model.clustered:
        return found
    raise ValueError(
        f"the model was calibrated by clusters; pass the labels of the rows{_column(model.cluster)} as clusters="
    )


def _column(name: str) -> str:
    return f", the column {name!r}," if name else ""


class Blocks(NamedTuple):
    """The clusters or the times of the rows of a fit, with the names of their columns; or neither."""

    clusters: NDArray[np.int64] | None = None
    cluster: str = ""
    times: Floats | None = None
    time: str = ""

    @classmethod
    def of(cls, clusters: Any, time: Any, rows: int, names: list[str]) -> Blocks:
        """Read the arguments of `fit`; `names` are the columns of X."""
        if clusters is None and time is None:
            return cls()
        if clusters is not None and time is not None:
            raise ValueError("found both clusters and time; a split by time separates the rows of a cluster")
        for values, name in ((clusters, "clusters"), (time, "time")):
            if isinstance(values, str):
                raise TypeError(f"{name} is {values!r}; expected labels or times of the rows, such as X[{values!r}]")
        if clusters is not None:
            cluster, labels = _tables.given_labels(None, clusters, "clusters")
            return cls(clusters=cluster_numbers(labels, rows), cluster=cluster or unused("cluster", names))
        return cls(times=times_of(time, rows), time=_tables.name_of(time, "") or unused("time", names))

    def __bool__(self) -> bool:
        return self.clusters is not None or self.times is not None

    def take(self, rows: Any) -> Blocks:
        """The blocks of some of the rows."""
        return self._replace(
            clusters=None if self.clusters is None else np.ascontiguousarray(self.clusters[rows]),
            times=None if self.times is None else np.ascontiguousarray(self.times[rows]),
        )

    def share(self, share: float, seed: int) -> NDArray[np.bool_]:
        """Which rows are in a random share of the clusters, or among the latest rows."""
        return _core.share_of_blocks(self.clusters, self.times, share, seed).astype(np.bool_)

    def folds(self, count: int, seed: int) -> list[tuple[Any, Any]]:
        """The positions of the training and the test rows of each fold."""
        fold = _core.folds_of_blocks(self.clusters, self.times, count, seed)
        return [(np.flatnonzero(fold != test), np.flatnonzero(fold == test)) for test in np.unique(fold)]

    def check(self, folds: list[tuple[Any, Any]], splitter: str) -> None:
        """Raise if a splitter separates the rows of a cluster."""
        if self.clusters is None:
            return
        for train, test in folds:
            if np.intersect1d(self.clusters[train], self.clusters[test]).size:
                raise ValueError(
                    f"{splitter} separates rows of one cluster; use a splitter by groups, such as GroupKFold, or a "
                    "number of folds"
                )


NO_BLOCKS = Blocks()


def times_of(time: Any, rows: int) -> Floats:
    """Times as numbers: numbers themselves, or dates as nanoseconds."""
    if getattr(getattr(time, "dt", None), "tz", None) is not None:
        time = time.dt.tz_convert(None)
    array = time.to_numpy() if hasattr(time, "to_numpy") else np.asarray(time)
    if array.dtype.kind in "OUSM":
        try:
            array = array.astype("datetime64[ns]")
        except (ValueError, TypeError) as error:
            raise ValueError(f"time holds neither numbers nor dates such as 2024-01-31: {error}") from None
        if np.isnat(array).any():
            raise ValueError(f"time[{np.flatnonzero(np.isnat(array))[0]}] is missing; drop such rows")
        array = array.astype(np.int64)
    return _tables.finite(_tables.numbers(array, "time", rows), "time")


def unused(name: str, names: list[str]) -> str:
    """A name that no column has."""
    while name in names:
        name += "_"
    return name
