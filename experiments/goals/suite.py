"""The jobs: every goal on the splits of the comparison, with its base model."""

from __future__ import annotations

import warnings
from typing import Any

from widthwise import Localizer

from ..field.datasets import DEVELOPED, load
from ..field.ours import intervals_of
from ..field.protocol import make_split, measure
from ..records import Record, processor_seconds
from ..runner import SplitJob

QUICK_DATASETS = ("energy",)
SPLITS = 5  # the first of the comparison's

# The first one is the default; the earlier default is the last one.
GOALS: dict[str, dict[str, Any]] = {
    "balanced": {"goal": "balanced"},
    "even": {"goal": "even"},
    "one width": {"score_transform": "identity"},
    "evenness 0.85": {"goal": 0.85},
}


def jobs(quick: bool) -> list[SplitJob]:
    if quick:
        return [SplitJob(name, 0) for name in QUICK_DATASETS]
    return [SplitJob(name, split) for split in range(SPLITS) for name in DEVELOPED]


def work(job: SplitJob) -> list[Record]:
    """Measure every goal on one split. All random choices depend only on the number of the split."""
    warnings.simplefilter("ignore")
    start = processor_seconds()
    split = make_split(load(job.dataset), job.split)
    about = {"dataset": job.dataset, "split": job.split, "base_seconds": round(processor_seconds() - start, 2)}
    found: list[Record] = []
    for name, options in GOALS.items():
        start = processor_seconds()
        localizer = Localizer(random_state=split.seed, n_jobs=1, **options)
        localizer.fit(split.X_fit, split.y_fit, y_pred_cv=split.oof)
        seconds = round(processor_seconds() - start, 2)
        for record in measure(split, intervals_of(split, localizer), conditional=False):
            found.append({**about, "method": name, **record, "seconds": seconds})
    return found
