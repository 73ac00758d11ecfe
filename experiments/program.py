"""Run the program `widthwise`, which trains nets with LibTorch; the Python package trains only trees."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray
from xgboost.libpath import find_lib_path

from widthwise import Localizer


def path() -> str:
    """The path of the program: WIDTHWISE_PROGRAM, or found on the PATH."""
    found = os.environ.get("WIDTHWISE_PROGRAM") or shutil.which("widthwise")
    if not found:
        raise FileNotFoundError(
            "there is no program widthwise: set WIDTHWISE_PROGRAM to its path, or put it on the PATH"
        )
    return found


def fit(
    X: NDArray[np.float64], y: NDArray[np.float64], predictions: NDArray[np.float64], *options: str, seed: int
) -> Localizer:
    """Train a localizer with `widthwise fit` and these options, on one thread. Its inputs are x and the prediction."""
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder, "rows.parquet"), Path(folder, "model.safetensors")
        pa.parquet.write_table(pa.table({**columns, "y": y, "f": predictions}), table)
        # fmt: off
        words = [
            path(), "fit", table, "--target", "y", "--prediction", "f", *options, "--xgboost", find_lib_path()[0],
            "--seed", seed, "--threads", 1, "--calibration-size", 0, "--no-compare", "-o", model,
        ]
        # fmt: on
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"widthwise fit {' '.join(options)}: {done.stderr.strip()}")
        return Localizer.load(model)
