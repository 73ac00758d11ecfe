"""The data sets of the comparison by name."""

from __future__ import annotations

from .. import data, data_more
from ..data import Dataset

# The collection on which widthwise was developed, from the slowest to the fastest.
DEVELOPED = ("facebook_1", "casp", "homes", "bike", "community", "concrete", "energy")

# With fewer rows, the coverage of a slab cannot be measured, and evenness is the gap over deciles of width.
SLAB_ROWS = 10_000


def load(name: str) -> Dataset:
    """A data set of any collection."""
    return data.load(name) if name in data.FACTS else data_more.load(name)


def rows(name: str) -> int:
    """The number of rows that `load` returns."""
    return int(data.FACTS[name]["rows"]) if name in data.FACTS else data_more.rows(name)


def collection(name: str) -> str:
    """The collection of a data set, in words."""
    return "collection of the development" if name in data.FACTS else f"{data_more.collection_of(name)} collection"


def by_slab(name: str) -> bool:
    """Whether evenness is measured by the coverage of the worst slab."""
    return rows(name) >= SLAB_ROWS
