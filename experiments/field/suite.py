"""The jobs of the field: one job measures every method on one split of a data set."""

from __future__ import annotations

import warnings
from typing import NamedTuple

from .. import data
from ..records import Record, processor_seconds
from . import ours
from .peers import PEERS
from .protocol import SPLITS, make_split, measure

DATASETS = ("facebook_1", "casp", "homes", "bike", "community", "concrete", "energy")
QUICK_DATASETS = ("bike", "concrete")
QUICK_SPLITS = 2
VARIANT_SPLITS = 3  # variants of narrow, and nets, are measured on the first splits


class Job(NamedTuple):
    dataset: str
    split: int
    variants: ours.Variants

    def __str__(self) -> str:
        return f"{self.dataset}, split {self.split}"


def jobs(quick: bool) -> list[Job]:
    if quick:  # nets take most of the time
        return [Job(name, split, "trees") for split in range(QUICK_SPLITS) for name in QUICK_DATASETS]
    return [
        Job(name, split, "all" if split < VARIANT_SPLITS else "goals") for split in range(SPLITS) for name in DATASETS
    ]


def work(job: Job) -> list[Record]:
    """Measure every method on one split. All random choices depend only on the number of the split."""
    # Peers warn about column names, and about settings that their own examples use.
    warnings.simplefilter("ignore")
    start = processor_seconds()
    split = make_split(data.load(job.dataset), job.split)
    found: list[Record] = []

    def add(method: str, intervals: object, seconds: float) -> None:
        for record in measure(split, intervals):
            found.append(
                {"dataset": job.dataset, "method": method, "split": job.split, **record, "seconds": round(seconds, 2)}
            )

    base_seconds = processor_seconds() - start
    for name, peer in PEERS.items():
        start = processor_seconds()
        intervals = peer(split)
        add(name, intervals, processor_seconds() - start)
    for name, intervals, seconds in ours.methods(split, job.variants):
        add(name, intervals, seconds)
    for record in found:
        record["base_seconds"] = round(base_seconds, 2)
    return found
