"""The memory that a fit takes in addition to its table.

    python -m bench.memory                  # a minute on two cores

Every fit runs in a process of its own. The base model and the localizer have few rounds: the number of rounds hardly
changes the memory.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np

from widthwise import Localizer, WidthwiseRegressor

SIZES = ((100_000, 10), (300_000, 10), (300_000, 30), (1_000_000, 10))
KINDS = ("trees", "predictions")
FEW = {"max_rounds": 5}


def fit(kind: str, X: np.ndarray, y: np.ndarray) -> None:
    if kind == "predictions":
        Localizer(random_state=0, localizer_options=FEW).fit(X, y, y_pred_cv=X[:, 0].copy())
    else:
        WidthwiseRegressor(random_state=0, localizer_options=FEW, base_options={"rounds": 5}).fit(X, y)


def growth(kind: str, rows: int, features: int) -> float:
    """What this process grows by at most, in megabytes, after the libraries are loaded."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, features))
    y = X[:, 0] + np.exp(0.3 * X[:, 1]) * rng.normal(size=rows)
    fit(kind, X[:500], y[:500])
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    fit(kind, X, y)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3 - before / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__.splitlines()[0])
    parser.add_argument("one", nargs="*", help="kind, rows and features of one fit; by default a table of fits")
    one = parser.parse_args().one
    if one:
        print(f"{growth(one[0], int(one[1]), int(one[2])):.0f}")
        return
    print("| rows | features | `base` trees | predictions given |\n|---|---|---|---|")
    for rows, features in SIZES:
        command = [sys.executable, "-B", "-m", "bench.memory"]
        measured = [
            subprocess.run([*command, kind, str(rows), str(features)], check=True, capture_output=True, text=True)
            for kind in KINDS
        ]
        cells = [f"{run.stdout.strip()} MB" for run in measured]
        print(f"| {rows:,} | {features} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
