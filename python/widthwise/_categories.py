"""Categories of pandas columns, as an estimator was fitted with them.

The dtype `category` lists labels of rows that an estimator was not fitted on: those of calibration rows, but not those of
new rows. An estimator that reads the dtype, such as XGBoost's, would take the former as a category and the latter as
missing, and calibration rows would not be exchangeable with new rows. Both are missing values here, as in the models of
the C++ library.
"""

from __future__ import annotations

import sys
from typing import Any

Categories = dict[str, list[Any]]  # by the name of the column


def with_used_categories(X: Any) -> tuple[Any, Categories]:
    """Rows to fit an estimator to, without the categories that none of them has; and the categories of each column."""
    columns = {name: X[name].cat.remove_unused_categories() for name in _columns(X)}
    return _replaced(X, columns), {name: column.cat.categories.tolist() for name, column in columns.items()}


def with_categories(X: Any, categories: Categories) -> Any:
    """Rows to predict, with the categories that the estimator was fitted with; others become missing values."""
    return _replaced(
        X, {name: X[name].cat.set_categories(categories[name]) for name in _columns(X) if name in categories}
    )


def storable(categories: Categories) -> Categories:
    """The categories that JSON can represent: text, numbers and booleans."""
    return {
        name: labels
        for name, labels in categories.items()
        if isinstance(name, str) and all(isinstance(label, (str, int, float)) for label in labels)
    }


def _columns(X: Any) -> list[str]:
    """The names of the columns of type `category` of a pandas frame."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return []
    return [name for name, dtype in X.dtypes.items() if isinstance(dtype, pandas.CategoricalDtype)]


def _replaced(X: Any, columns: dict[str, Any]) -> Any:
    if not columns:
        return X
    copy = X.copy(deep=False)
    for name, column in columns.items():
        copy[name] = column
    return copy
