"""Common base of localizers and predictors: a C++ model, its input rows and its calibration."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, NamedTuple

from . import _core, _groups, _predictions, _tables, _weights
from ._blocks import cluster_numbers
from ._fit_rows import first_row_of
from ._options import file_of
from ._tables import Floats
from ._warn import warn

HOW_TO_CALIBRATE = "WidthwiseRegressor.conformalize, Predictor.calibrated or Localizer.calibrate"


def not_fitted(message: str) -> Exception:
    """Return scikit-learn's NotFittedError if scikit-learn is installed, otherwise a ValueError."""
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return ValueError(message)
    error: Exception = NotFittedError(message)
    return error


def load_model(path: str | os.PathLike[str]) -> _core.Model:
    """Load a model file; raise FileNotFoundError or OSError on failure."""
    file = file_of(path)
    try:
        return _core.Model.load(file)
    except OSError as error:
        if not Path(os.fsdecode(file)).exists():
            raise FileNotFoundError(errno.ENOENT, "no such model file", os.fspath(path)) from None
        raise OSError(str(error)) from None


class Origin(NamedTuple):
    """The file that a model was loaded from, with its version at the last load or save."""

    file: bytes
    version: tuple[int, int, int, int] | None

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Origin:
        """Record the version before the file is loaded, so that a change during loading is detected."""
        file = file_of(path)
        return cls(os.path.realpath(file), _core.version_of(file))


class HasModel:
    """Common base of localizers and predictors: a C++ model and its input rows."""

    _model: _core.Model
    _origin: Origin | None = None

    def _save_model(self, model: _core.Model, path: str | os.PathLike[str]) -> None:
        """Save to a file, unless the file changed after this model was loaded from it."""
        file, origin = file_of(path), self._origin
        if origin is None or origin.file != os.path.realpath(file):
            model.save(file)
        else:
            self._origin = Origin(origin.file, model.save(file, origin.version))

    @property
    def features(self) -> list[str]:
        """Names of the feature columns."""
        return self._fitted_model().features

    @property
    def score_transform(self) -> str:
        """Name of the score transform."""
        return self._fitted_model().transform

    @property
    def two_sided(self) -> bool:
        """Whether the lower and upper half-widths were trained separately."""
        return self._fitted_model().two_sided

    def _fitted_model(self) -> _core.Model:
        if not hasattr(self, "_model"):
            raise not_fitted(f"this {type(self).__name__} is not fitted; call fit with X, y and y_pred or y_pred_cv")
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


def features_of(model: _core.Model, X: Any, *, named: bool = False) -> _core.Table:
    """The features of a model, with categories numbered as in the model. `named`: X has names, whatever its type."""
    # The usual matrix, in one call: for a single row, reading the table in general takes longer than the intervals.
    if _tables.is_doubles(X, 2) and not named and not model.has_categories and X.shape[1] == model.feature_count:
        return model.table_of(X)
    categories = model.categories
    text = {name for name, labels in zip(model.features, categories, strict=True) if labels}
    table, has_names = _tables.read(X, text)
    return _tables.select_names(table, model.features, named or has_names, categories)


def inputs_of(model: _core.Model, X: Any, y_pred: Any, *, all_rows: bool = True) -> tuple[_core.Table, Floats | None]:
    """Model inputs: the features, and predictions if the model has no base model. See `check_labels` for `all_rows`."""
    table = _tables.check_categories(features_of(model, X), all_rows=all_rows)
    if y_pred is None:
        if model.needs_predictions:
            raise ValueError("this model has no base model; pass predictions as y_pred")
        return table, None
    if not model.needs_predictions:
        raise ValueError("this model has a base model; do not pass y_pred")
    return table, _predictions.for_model(model, y_pred, table.rows)


def add_rows(
    model: _core.Model,
    shard: _core.CalibrationShard,
    table: _core.Table,
    y_pred: Floats | None,
    groups: Any,
    y: Any,
    key: Any = None,
    replace: str = "replace=True",
    weights: Any = None,
    clusters: Any = None,
    ids: list[str] | None = None,
) -> None:
    """Add rows to a calibration. Rows used to fit the model or already in the calibration set are rejected, and so is a
    calibration with scores of another model; the error message suggests `replace`."""
    outcomes = _tables.finite(_tables.numbers(y, "y", table.rows), "y")
    if y_pred is not None:
        _tables.finite(y_pred, "y_pred")
    first_row = first_row_of(table, outcomes)
    keys = None if key is None else _tables.keys(key, table.rows)
    group_of_row = _groups.for_calibration(groups, table.rows)
    numbers, labels = (None, None) if group_of_row is None else group_of_row
    ratios = _weights.for_model(model, weights, table.rows)
    blocks = cluster_numbers(clusters, table.rows)
    columns = {"groups": numbers, "labels": labels, "weights": ratios, "clusters": blocks, "ids": ids}
    shard.add_rows(model, _core.Rows(table, outcomes, y_pred, keys=keys, first_row=first_row, **columns), replace)
    if warning := model.in_sample_warning(shard):
        warn(warning)
