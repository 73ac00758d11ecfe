"""Calibration: a sample of scores and its conformal quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sized

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _tables
from ._blocks import cluster_numbers
from ._groups import for_calibration, label_of
from ._options import Guarantee, guarantee_text, level_of, real, whole, word
from ._tables import Floats


class Calibration:
    """A sample of calibration scores, with conformal quantiles and p-values.

    The calibration does not depend on the order in which rows are added, nor on the number of machines. A duplicate
    row is an error, because it would make intervals too narrow. Threads may share a calibration; each call is atomic.

    Parameters
    ----------
    capacity : int, default=1_000_000
        Rows kept per group. From more rows, a uniform sample is kept; the guarantee stays exact.
    random_state : int, default=0
        Random seed of the sample. Calibrations can be merged if they have the same seed.

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise import Calibration
    >>> calibration = Calibration().add(np.arange(1.0, 10.0))
    >>> len(calibration), calibration.quantile(0.9)
    (9, 9.0)
    >>> calibration.quantile(0.95)          # 9 rows are too few for this level
    inf
    """

    def __init__(self, *, capacity: int = 1_000_000, random_state: int = 0) -> None:
        seed = whole(random_state, "random_state")
        self._shard = _core.CalibrationShard(whole(capacity, "capacity", minimum=1), seed)

    @classmethod
    def _of(cls, shard: _core.CalibrationShard) -> Calibration:
        self = cls.__new__(cls)
        self._shard = shard
        return self

    def add(
        self,
        scores: ArrayLike,
        *,
        above: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        first_row: int | None = None,
        key: ArrayLike | None = None,
    ) -> Calibration:
        """Add scores. If one is rejected, none is added.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Scores of rows that no model was fitted on; NaN is an error.
        above : array-like of bool, optional
            Whether the outcome is above the prediction; required for one-sided quantiles.
        weights : array-like of float, optional
            Likelihood ratios of the test to the calibration distribution under covariate shift, up to a constant
            factor. `quantile` and `p_values` then need `test_weight`, the ratio at the row to predict, with the same
            factor.
        groups : array-like, optional
            Labels: text, integers or booleans. Calibrate each group separately (Mondrian). Either all rows of a calibration have a group or none.
        clusters : array-like, optional
            Labels of sets of dependent rows, such as the visits of one patient. Quantiles are then valid for a row of a
            new cluster, see `quantile`; with groups, in each group. Either all rows of a calibration have a cluster or
            none; such rows have no weights.
        first_row : int, optional
            Number of the first row. Row numbers are unique among all calibrations that are merged; by default they
            continue from the rows added before.
        key : array-like of int, optional
            Unique number of each row, instead of `first_row`. The result then does not depend on the order of the rows.

        Returns
        -------
        Calibration
            The calibration itself.
        """
        values = _tables.numbers(scores, "scores")
        n = len(values)
        for name, others in {"groups": groups, "weights": weights, "clusters": clusters, "key": key}.items():
            if isinstance(others, Sized) and not isinstance(others, str) and len(others) != n:
                raise ValueError(f"scores has {n} values, {name} has {len(others)}")
        if key is not None and first_row is not None:
            raise ValueError("pass either first_row or key, not both")
        numbers, labels = for_calibration(groups, n) or (None, None)
        self._shard.add(
            values,
            None if above is None else _tables.booleans(above, "above", n),
            first_row=None if first_row is None else whole(first_row, "first_row"),
            weights=None if weights is None else _tables.numbers(weights, "weights", n),
            groups=numbers,
            keys=None if key is None else _tables.keys(key, n),
            labels=labels,
            clusters=cluster_numbers(clusters, n),
        )
        return self

    def merge(self, other: Calibration) -> Calibration:
        """Merge the rows of another calibration of the same localizer into this one and return it."""
        self._shard.merge(other._shard)
        return self

    def quantile(
        self,
        confidence_level: float,
        *,
        group: int | str | None = None,
        test_weight: float | None = None,
        guarantee: Guarantee = "marginal",
        cluster_coverage: str = "rows",
        cluster_size: float | None = None,
    ) -> float:
        """Return the conformal quantile of the scores; infinite if there are too few rows.

        Parameters
        ----------
        confidence_level : float
        group : int or str, optional
            Label of the group of the row to predict, if the calibration has groups.
        test_weight : float, optional
            Likelihood ratio of the row to predict, on the scale of the calibration weights, if there are weights.
        guarantee : "marginal" or float, default="marginal"
            See `WidthwiseRegressor`; a confidence cannot be combined with weights.
        cluster_coverage : {"rows", "clusters"}, default="rows"
            What counts once, if there are clusters, see `WidthwiseRegressor`.
        cluster_size : float, optional
            Number of rows of the cluster of the row to predict, in its group if there are groups, if rows of clusters
            count; by default that of the largest cluster.
        """
        sorted_scores = self._shard.sorted(guarantee_text(guarantee), word(cluster_coverage, "cluster_coverage"))
        weight = self._new_weight(test_weight, cluster_size)
        return sorted_scores.quantile(level_of(confidence_level), self._group(group), weight)

    def p_values(
        self,
        scores: ArrayLike,
        *,
        group: int | str | None = None,
        test_weight: ArrayLike | None = None,
        cluster_coverage: str = "rows",
        cluster_size: float | None = None,
    ) -> Floats:
        """Return the conformal p-values of scores; small for unusually large scores.

        Parameters
        ----------
        scores : array-like of shape (n,)
        group : int or str, optional
            Label of the group of these rows, if the calibration has groups.
        test_weight : float or array-like of shape (n,), optional
            Likelihood ratios of these rows, on the scale of the calibration weights, if there are weights.
        cluster_coverage, cluster_size
            If there are clusters, see `quantile`.
        """
        values = _tables.numbers(scores, "scores")
        weights = None
        self._refuse_weight(test_weight)
        if test_weight is not None:
            weights = np.ascontiguousarray(np.broadcast_to(_tables.floats(test_weight, "test_weight"), values.shape))
        elif cluster_size is not None:
            weights = np.full(values.shape, self._new_weight(None, cluster_size))
        sorted_scores = self._shard.sorted(cluster_coverage=word(cluster_coverage, "cluster_coverage"))
        return sorted_scores.p_values(values, self._group(group), weights)

    def _new_weight(self, test_weight: float | None, cluster_size: float | None) -> float | None:
        """The weight of a new row: its likelihood ratio, or the size of its cluster."""
        if cluster_size is None:
            self._refuse_weight(test_weight)
            return None if test_weight is None else real(test_weight, "test_weight")
        if not self._shard.clustered:
            raise ValueError("cluster_size is for clusters, but the calibration has none; leave it out")
        return real(cluster_size, "cluster_size")

    def _refuse_weight(self, test_weight: ArrayLike | None) -> None:
        """Raise if a calibration with clusters gets a weight."""
        if test_weight is not None and self._shard.clustered:
            raise ValueError(
                "the calibration has clusters and no weights; pass the size of the cluster as cluster_size"
            )

    def _group(self, group: int | str | None) -> int:
        if group is None and self._shard.grouped:
            raise ValueError("the calibration has groups; pass the group of the row to predict as group=")
        return 0 if group is None else self._shard.find_group(label_of(group) or "")

    @property
    def rows_seen(self) -> int:
        """Number of rows added so far, including rows outside the sample."""
        return self._shard.rows_seen

    @property
    def groups(self) -> list[int | str]:
        """The labels of the groups: integers in ascending order, then text."""
        labels: list[int | str] = []
        for number, label in self._shard.groups:
            labels.append(number if label == str(number) else label)
        return sorted(labels, key=lambda label: (isinstance(label, str), label))

    @property
    def clusters(self) -> int:
        """Number of clusters; 0 for rows without clusters."""
        return self._shard.clusters

    def to_bytes(self) -> bytes:
        """Serialise the calibration; equal sets of rows give equal bytes.

        The bytes of scores of a localizer are a calibration shard, which also holds the fingerprint of the localizer.
        """
        return self._shard.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Calibration:
        """Load a calibration from the bytes of `to_bytes`; raise ValueError for other bytes."""
        return cls._of(_core.CalibrationShard.from_bytes(bytes(memoryview(data))))

    def __len__(self) -> int:
        return self._shard.rows_kept

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Calibration) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Callable[[bytes], Calibration], tuple[bytes]]:
        return Calibration.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"Calibration of {_core.count_of(len(self), 'row')}"
