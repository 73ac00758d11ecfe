"""The second and the third collection of data sets, loaded from the folders `more` and `third` of WIDTHWISE_DATA.

`use` in datasets_more.json and datasets_third.json is the purpose of a data set. "demonstration": documents, examples
and tests. "untouched": only the final comparison; no default or setting may be chosen with it.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .data import VARIABLE, DataError, Dataset

Collection = Literal["second", "third"]
Facts = dict[str, dict[str, Any]]

# The folder of each collection; datasets_FOLDER.json lists its data sets.
FOLDERS: dict[Collection, str] = {"second": "more", "third": "third"}
COLLECTIONS: dict[Collection, Facts] = {
    collection: json.loads(Path(__file__).with_name(f"datasets_{folder}.json").read_text())
    for collection, folder in FOLDERS.items()
}
FACTS: Facts = {name: facts for collection in COLLECTIONS.values() for name, facts in collection.items()}

# Larger data sets are represented by a random sample of this many rows, the same for every method and split.
MAX_ROWS = 20_000
SAMPLE_SEED = 20_000


def names(use: Literal["demonstration", "untouched"], collection: Collection | None = None) -> list[str]:
    """The data sets for this purpose, of one or all collections, in the order of the files."""
    listed = FACTS if collection is None else COLLECTIONS[collection]
    return [name for name, facts in listed.items() if facts["use"] == use]


def collection_of(name: str) -> Collection:
    """The collection of a data set."""
    return next(collection for collection, listed in COLLECTIONS.items() if name in listed)


def rows(name: str) -> int:
    """The number of rows that `load` returns."""
    return min(int(FACTS[name]["rows"]), MAX_ROWS)


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set, by default from the folder of its collection in WIDTHWISE_DATA, and verify its file.

    Excluded columns are dropped. Categories are numbered in the order of the sorted labels of the sampled rows.
    """
    columns, cells = _read(name, folder)
    facts = FACTS[name]
    features = [column for column in columns[:-1] if column not in facts["exclude"]]
    by_name = dict(zip(columns, zip(*cells, strict=True), strict=True))
    X = np.column_stack([_numbers(by_name[feature], feature in facts["categories"]) for feature in features])
    y = _numbers(by_name[facts["target"]], False)
    if X.shape[1] != facts["features"] or not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise DataError(f"{name}: expected {facts['features']} features without missing values")
    return Dataset(name, features, facts["target"], X, y)


def _read(name: str, folder: str | os.PathLike[str] | None) -> tuple[list[str], list[list[str]]]:
    """The header and the cells of the sampled rows, from a file with the expected checksum."""
    if folder is None:
        if not os.environ.get(VARIABLE):
            listed = " and ".join(f"`{folder}`" for folder in FOLDERS.values())
            raise DataError(f"set {VARIABLE} to a folder of the data sets that has the folders {listed}")
        folder = Path(os.environ[VARIABLE], FOLDERS[collection_of(name)])
    facts = FACTS[name]
    path = Path(folder, facts["file"])
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} is missing") from None
    if hashlib.sha256(content).hexdigest() != facts["sha256"]:
        raise DataError(f"{path}: the contents are not those of the experiments")
    lines = (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines()
    header = next(csv.reader(lines[:1]))
    if header[-1] != facts["target"] or len(lines) - 1 != facts["rows"]:
        raise DataError(f"{path}: expected {facts['rows']} rows, with the target {facts['target']} in the last column")
    return header, list(csv.reader(lines[1 + row] for row in _sample(len(lines) - 1)))


def _sample(rows: int) -> NDArray[np.int64]:
    """All rows, or a random sample of MAX_ROWS rows in the order of the file."""
    if rows <= MAX_ROWS:
        return np.arange(rows)
    return np.sort(np.random.default_rng(SAMPLE_SEED).choice(rows, MAX_ROWS, replace=False))


def _numbers(cells: Sequence[str], category: bool) -> NDArray[np.float64]:
    if category:
        return np.unique(cells, return_inverse=True)[1].astype(np.float64)
    return np.fromiter(map(float, cells), np.float64, len(cells))
