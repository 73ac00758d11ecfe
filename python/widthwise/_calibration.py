"""A sample of scores that knows which of them bounds the next."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike

from . import _core, _tables
from ._options import Guarantee, guarantee_text, real, whole
from ._tables import Floats


class Calibration:
    """A sample of scores of rows that nothing was fitted on; it knows which of them bounds the next.

    The same rows give the same calibration in whatever order and on however many machines they are added; a row that
    comes twice is an error, because it would make intervals too narrow. Threads may share a calibration; each call is
    atomic.

    Parameters
    ----------
    capacity : int, default=1_000_000
        Rows kept of each group. Of more rows a uniform sample is kept; the guarantee stays exact.
    random_state : int, default=0
        Chooses the sample. Calibrations that are to be merged have the same.

    Examples
    --------
    >>> import numpy as np
    >>> from widthwise import Calibration
    >>> calibration = Calibration().add(np.arange(1.0, 10.0))
    >>> len(calibration), calibration.quantile(0.9)
    (9, 9.0)
    >>> calibration.quantile(0.95)          # 9 rows are too few to promise that
    inf
    """

    def __init__(self, *, capacity: int = 1_000_000, random_state: int = 0) -> None:
        core = _core.Calibration(whole(capacity, "capacity", minimum=1), whole(random_state, "random_state"))
        self._set(core, _core.RowSketch())

    def _set(self, core: _core.Calibration, rows: _core.RowSketch) -> None:
        self._core = core
        self._rows = rows  # a sketch of those that a localizer or predictor scored
        self._lock = threading.RLock()  # of both; each has a lock of its own for what concerns it alone

    @classmethod
    def _of(cls, core: _core.Calibration, rows: _core.RowSketch | None = None) -> Calibration:
        self = cls.__new__(cls)
        self._set(core, _core.RowSketch() if rows is None else rows)
        return self

    def add(
        self,
        scores: ArrayLike,
        *,
        above: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        first_row: int | None = None,
        key: ArrayLike | None = None,
    ) -> Calibration:
        """Add scores, all of them or, when one is refused, none.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Of rows that nothing was fitted on; NaN is an error.
        above : array-like of bool, optional
            Whether the outcome lies above the prediction; quantiles of one side need it.
        weights : array-like of float, optional
            Likelihood ratios of the rows to predict to these, under covariate shift, up to one factor. `quantile` and
            `p_values` then need `test_weight`, the ratio at the row to predict, with the same factor.
        groups : array-like of int, optional
            Calibrate each group separately (Mondrian). Every row of a calibration has a group, or none has.
        first_row : int, optional
            Number of the first row. Numbers are unique over everything that is ever merged; by default they go on from
            the rows added before.
        key : array-like of int, optional
            A number for each row instead, unique likewise: then the order of the rows does not matter, either.

        Returns
        -------
        Calibration
            This one.
        """
        values = _tables.numbers(scores, "scores")
        n = len(values)
        if key is not None and first_row is not None:
            raise ValueError("give either first_row or key: both number the rows")
        self._core.add(
            values,
            None if first_row is None else whole(first_row, "first_row"),
            None if above is None else _tables.booleans(above, "above", n),
            None if weights is None else _tables.numbers(weights, "weights", n),
            None if groups is None else _tables.integers(groups, "groups", n),
            None if key is None else _tables.keys(key, n),
        )
        return self

    def merge(self, other: Calibration) -> Calibration:
        """Take in the rows of another calibration, of another machine say, and return this one."""
        with _both_locked(self, other):
            self._core.merge(other._core)
            self._rows.merge(other._rows)
        return self

    def quantile(
        self,
        confidence_level: float,
        *,
        group: int | None = None,
        test_weight: float | None = None,
        guarantee: Guarantee = "marginal",
    ) -> float:
        """The score that bounds the next one with this probability; infinite when there are too few rows.

        Parameters
        ----------
        confidence_level : float
        group : int, optional
            The next row's group, when the calibration has groups.
        test_weight : float, optional
            The next row's likelihood ratio, on the scale of the calibration weights, when there are weights.
        guarantee : "marginal" or float, default="marginal"
            See `WidthwiseRegressor`; a confidence is an error with weights.
        """
        sorted_scores = self._core.sorted(guarantee_text(guarantee))
        weight = None if test_weight is None else real(test_weight, "test_weight")
        return sorted_scores.quantile(real(confidence_level, "confidence_level"), self._group(group), weight)

    def p_values(self, scores: ArrayLike, *, group: int | None = None, test_weight: ArrayLike | None = None) -> Floats:
        """The p-values of scores: small where a score would surprise.

        Parameters
        ----------
        scores : array-like of shape (n,)
        group : int, optional
            The group of these rows, when the calibration has groups.
        test_weight : float or array-like of shape (n,), optional
            Their likelihood ratios, on the scale of the calibration weights, when there are weights.
        """
        values = _tables.numbers(scores, "scores")
        weights = None
        if test_weight is not None:
            weights = np.ascontiguousarray(np.broadcast_to(_tables.floats(test_weight, "test_weight"), values.shape))
        return self._core.sorted().p_values(values, self._group(group), weights)

    def _group(self, group: int | None) -> int:
        if group is None and self._core.grouped:
            raise ValueError("the calibration has groups: give that of the row to predict as group=")
        return 0 if group is None else whole(group, "group", minimum=-(2**63), maximum=2**63 - 1)

    @property
    def rows_seen(self) -> int:
        """Rows added so far, kept or not."""
        return self._core.rows_seen

    @property
    def groups(self) -> list[int]:
        """The groups seen, ascending."""
        return self._core.groups

    def to_bytes(self) -> bytes:
        """The scores as bytes: equal for equal sets of rows."""
        return self._core.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Calibration:
        """Read back what `to_bytes` wrote; anything else is a ValueError."""
        return cls._of(_core.Calibration.from_bytes(bytes(memoryview(data))))

    def __len__(self) -> int:
        return self._core.rows_kept

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Calibration) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> tuple[bytes, bytes]:
        with self._lock:
            return self.to_bytes(), self._rows.to_bytes()

    def __setstate__(self, state: tuple[bytes, bytes]) -> None:
        self._set(_core.Calibration.from_bytes(state[0]), _core.RowSketch.from_bytes(state[1]))

    def __repr__(self) -> str:
        return f"Calibration of {len(self):,} rows"


@contextmanager
def _both_locked(a: Calibration, b: Calibration) -> Iterator[None]:
    """Lock two calibrations in one order, whoever merges which into which: no thread waits for another that waits."""
    first, second = sorted((a, b), key=id)
    with first._lock, second._lock:
        yield
