"""XGBoost of this Python environment, and progress of training."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import _core
from ._options import whole

logger = logging.getLogger("widthwise")

ProgressCallback = Callable[[str, int, int, float], None]


def xgboost_library() -> str:
    """Path of the library in the xgboost package of this Python; empty if an environment variable sets the path."""
    if os.environ.get("WIDTHWISE_XGBOOST"):
        return ""
    spec = importlib.util.find_spec("xgboost")
    folders = list(spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        library = Path(folder, "lib", "libxgboost.so")
        if library.exists():
            return str(library)
    raise ImportError("training needs XGBoost 3: pip install xgboost-cpu (or xgboost)")


def threads_of(n_jobs: int | None) -> int:
    """Number of training threads for C++ from n_jobs; 0 is automatic."""
    if n_jobs is None or n_jobs == -1:
        return 0
    n_jobs = whole(n_jobs, "n_jobs", minimum=-(2**31), maximum=2**31 - 1)
    if n_jobs < 0:
        return max(1, _core.available_processors() + 1 + n_jobs)
    if n_jobs == 0:
        raise ValueError("n_jobs is 0; expected None, a positive number, or -1 for all processors")
    return n_jobs


@contextmanager
def progress(verbose: int) -> Iterator[ProgressCallback | None]:
    """Progress callback of training: a tqdm bar per stage if verbose, and a log entry per stage."""
    if not verbose:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        tqdm = None
    bar: Any = None
    stage_before = ""

    def show(stage: str, done: int, total: int, loss: float) -> None:
        nonlocal bar, stage_before
        if stage != stage_before:
            stage_before = stage
            logger.info("%s", stage)
            if bar is not None:
                bar.close()
            bar = tqdm(total=total, desc=stage, unit="round", leave=True) if tqdm is not None else None
        if bar is None:
            return
        bar.update(done - bar.n)
        if loss == loss:  # not NaN
            bar.set_postfix(loss=f"{loss:.4f}", refresh=False)

    try:
        yield show
    finally:
        if bar is not None:
            bar.close()
