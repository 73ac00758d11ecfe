"""XGBoost of this Python environment, its threads, and the log."""

from __future__ import annotations

import importlib.util
import logging
import os
from pathlib import Path

from . import _core
from ._options import whole

logger = logging.getLogger("widthwise")


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
