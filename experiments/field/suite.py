"""The jobs of the comparison: one job measures every method on one split of a data set."""

from __future__ import annotations

import warnings
from typing import NamedTuple

from ..records import Record, processor_seconds
from . import ours
from .datasets import DEVELOPED, load
from .peers import PEERS, Peer
from .protocol import SPLITS, Floats, Split, make_split, measure

QUICK_DATASETS = ("energy",)  # tests/acceptance uses concrete
VARIANT_SPLITS = 3  # variants of narrow, and nets, are measured on the first splits; the shortest intervals on all

# On data sets with more values of features than this, slow peers and the ERT are measured on the first splits only: they
# would take more than half of the time.
LARGE_CELLS = 100_000
LARGE_SPLITS = 5


class Job(NamedTuple):
    dataset: str
    split: int
    variants: ours.Variants
    quick: bool = False  # without peers in an environment of their own

    def __str__(self) -> str:
        return f"{self.dataset}, split {self.split}"


def jobs(quick: bool) -> list[Job]:
    if quick:  # nets take most of the time
        return [Job(name, 0, "goals", quick=True) for name in QUICK_DATASETS]
    return [
        Job(name, split, "all" if split < VARIANT_SPLITS else "shortest")
        for split in range(SPLITS)
        for name in DEVELOPED
    ]


def work(job: Job) -> list[Record]:
    """Measure every method on one split. All random choices depend only on the number of the split."""
    # Peers warn about column names, and about settings that their own examples use.
    warnings.simplefilter("ignore")
    data = load(job.dataset)
    start = processor_seconds()
    split = make_split(data, job.split)
    about = {"dataset": job.dataset, "split": job.split, "base_seconds": round(processor_seconds() - start, 2)}
    in_full = data.X.size <= LARGE_CELLS or job.split < LARGE_SPLITS
    found: list[Record] = []

    def add(method: str, intervals: Floats, seconds: float) -> None:
        for record in measure(split, intervals, conditional=in_full):
            found.append({**about, "method": method, **record, "seconds": round(seconds, 2)})

    for name, peer in PEERS.items():
        if not peer.runs_on(data.X) or (peer.slow and not in_full) or (peer.apart and job.quick):
            continue
        start = processor_seconds()
        result = attempt(peer, split)
        if isinstance(result, Exception):
            found.append({"kind": "failure", **about, "method": name, "error": f"{type(result).__name__}: {result}"})
        else:
            add(name, result, processor_seconds() - start)
    for name, intervals, seconds in ours.methods(split, job.variants):
        add(name, intervals, seconds)
    return found


def attempt(peer: Peer, split: Split) -> Floats | Exception:
    """The intervals of a peer or its error, which is recorded and does not stop the other methods."""
    try:
        return peer.intervals(split)
    except Exception as error:  # a peer may raise anything
        return error
