"""What a localizer and a predictor share: a C++ model, the way to give it rows, and to calibrate it with them."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core, _tables
from ._options import file_of
from ._tables import Floats

if TYPE_CHECKING:
    from ._calibration import Calibration

HOW_TO_CALIBRATE = "WidthwiseRegressor.conformalize, Predictor.calibrated or Localizer.calibrate"


def not_fitted(message: str) -> Exception:
    """scikit-learn's exception where there is scikit-learn; it is a ValueError, too."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return ValueError(message)
    error: Exception = NotFittedError(message)
    return error


def load_model(path: str | os.PathLike[str]) -> _core.Model:
    """Load a model file, with the exceptions that Python people expect."""
    file = file_of(path)
    try:
        return _core.Model.load(file)
    except OSError as error:
        if not Path(os.fsdecode(file)).exists():
            raise FileNotFoundError(errno.ENOENT, "there is no model file", os.fspath(path)) from None
        raise OSError(str(error)) from None


class Origin(NamedTuple):
    """The file that a model was loaded from, as it was then or when the model was last saved to it."""

    file: bytes
    version: tuple[int, int, int, int] | None

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Origin:
        """To call before the file is loaded: a change while it is read is a change since."""
        file = file_of(path)
        return cls(os.path.realpath(file), _core.version_of(file))


class HasModel:
    """What a localizer and a predictor share: a C++ model, and the way to give it rows."""

    _model: _core.Model
    _origin: Origin | None = None

    def _save_model(self, model: _core.Model, path: str | os.PathLike[str]) -> None:
        """Save to a file, but not over an update of the file that this came from."""
        file, origin = file_of(path), self._origin
        if origin is None or origin.file != os.path.realpath(file):
            model.save(file)
        else:
            self._origin = Origin(origin.file, model.save(file, origin.version))

    @property
    def features(self) -> list[str]:
        """Names of the columns of X that widths depend on."""
        return self._fitted_model().features

    @property
    def transform(self) -> str:
        """The transform that was trained."""
        return self._fitted_model().transform

    @property
    def two_sided(self) -> bool:
        """Whether the two sides of an interval were learnt apart."""
        return self._fitted_model().two_sided

    def _fitted_model(self) -> _core.Model:
        if not hasattr(self, "_model"):
            raise not_fitted(
                f"this {type(self).__name__} is not fitted yet: call fit with X, y and y_pred or y_pred_cv"
            )
        return self._model

    def _inputs(self, X: Any, y_pred: Any) -> tuple[_core.Table, Floats | None]:
        return inputs_of(self._fitted_model(), X, y_pred)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if "_model" in state:
            state["_model"] = state["_model"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_model" in state:
            self._model = _core.Model.from_bytes(state["_model"])


def inputs_of(model: _core.Model, X: Any, y_pred: Any) -> tuple[_core.Table, Floats | None]:
    """Rows as a model takes them: its features, and predictions unless it makes its own."""
    table, named = _tables.read(X)
    table = _tables.select_names(table, model.features, named)
    if y_pred is None:
        if model.needs_predictions:
            raise ValueError("this model has no base model: give the predictions of the rows as y_pred")
        return table, None
    if not model.needs_predictions:
        raise ValueError("this model makes its own predictions: leave y_pred out")
    return table, _tables.numbers(y_pred, "y_pred", table.rows)


def groups_of(groups: Any, rows: int) -> NDArray[np.int64] | None:
    return None if groups is None else _tables.integers(groups, "groups", rows)


def add_rows(
    model: _core.Model,
    calibration: Calibration,
    table: _core.Table,
    y_pred: Floats | None,
    groups: Any,
    y: Any,
    key: Any = None,
    replace: str = "replace=True",
) -> None:
    """Add rows to a calibration. Rows that fitted the model, or are in the calibration, are refused; `replace` says how
    to calibrate without the latter."""
    outcomes = _tables.finite(_tables.numbers(y, "y", table.rows), "y")
    if y_pred is not None:
        _tables.finite(y_pred, "y_pred")
    rows = model.sketch(table, outcomes)
    first_row = first_row_of(table, outcomes)
    keys = None if key is None else _tables.keys(key, table.rows)
    group_of_row = groups_of(groups, table.rows)
    with calibration._lock:
        model.require_new_rows(rows, calibration._rows, replace)
        model.calibrate(calibration._core, table, y_pred, group_of_row, outcomes, first_row, keys)
        calibration._rows.merge(rows)
    residuals = outcomes - (model.predictions(table) if y_pred is None else y_pred)
    if warning := model.in_sample_warning(residuals):
        warnings.warn(warning, UserWarning, stacklevel=4)


def first_row_of(table: _core.Table, y: Floats) -> int:
    """The number of a table's first row, from its content: a table that is given twice is found, and no row of it is
    taken for one that people number themselves."""
    outcomes = _core.Table.from_columns([y], ["y"], [0], len(y))
    return (table.fingerprint() ^ outcomes.fingerprint()) >> 1
