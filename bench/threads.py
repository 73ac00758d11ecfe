"""Time fits by number of training threads, alone and in parallel with another fit.

    python bench/threads.py build/release/cli/widthwise          # the program
    python bench/threads.py --python                             # the Python package

For 300, 10,000 and 1,000,000 rows of 8 features, prints the median wall time and CPU time of fits with one thread, with
one thread per processor and with the default; the ratio of the default to the better of the two; and the ratio of two
simultaneous fits to one. Different settings run alternately, so that other load affects all of them. OpenMP variables
are not set.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROWS = (300, 10_000, 1_000_000)
REPEATS = {300: 9, 10_000: 7, 1_000_000: 3}
FEATURES = 8

PYTHON = """
import sys
import numpy as np
import sklearn.ensemble, xgboost   # with OpenMP, as most programs have loaded by now
from widthwise import Localizer
table = np.load(sys.argv[1])
n_jobs = int(sys.argv[2]) or None
Localizer(n_jobs=n_jobs).fit(table[:, :-2], table[:, -1], table[:, -2])
"""


@dataclass
class Times:
    wall: float
    cpu: float


def environment():
    """All environment variables except those of OpenMP."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_", "KMP_"))}


def make_rows(rows):
    """Rows of features, prediction and outcome; errors depend on the second feature."""
    import numpy as np

    random = np.random.default_rng(rows)
    x = random.normal(size=(rows, FEATURES))
    y = x[:, 0] + np.exp(x[:, 1] / 2) * random.normal(size=rows)
    return np.column_stack([x, x[:, 0], y])


class Fits:
    """Run fits of the tables in a folder with a given number of threads; 0 is the default."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.tables = {}

    def command(self, rows, threads, name="model"):
        raise NotImplementedError

    def write(self, rows):
        raise NotImplementedError

    def table(self, rows):
        if rows not in self.tables:
            self.tables[rows] = self.write(rows)
        return self.tables[rows]

    def run(self, rows, threads):
        """Run simultaneous fits, one per number of threads."""
        self.table(rows)
        begin = time.perf_counter()
        processes = [
            subprocess.Popen(self.command(rows, count, f"model{i}"), env=environment(), stdout=subprocess.DEVNULL)
            for i, count in enumerate(threads)
        ]
        cpu = 0.0
        for process in processes:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            cpu += usage.ru_utime + usage.ru_stime
            if process.returncode != 0:
                raise RuntimeError(f"exit code {process.returncode}: {process.args}")
        return Times(time.perf_counter() - begin, cpu)


class Program(Fits):
    """widthwise fit."""

    def __init__(self, program, folder):
        super().__init__(folder)
        self.program = program

    def write(self, rows):
        import pyarrow
        import pyarrow.parquet

        names = [*(f"x{j}" for j in range(FEATURES)), "f", "y"]
        file = self.folder / f"{rows}.parquet"
        pyarrow.parquet.write_table(pyarrow.table(list(make_rows(rows).T), names=names), file)
        return file

    def command(self, rows, threads, name="model"):
        words = ["fit", self.table(rows), "--target", "y", "--prediction", "f", "--threads", threads]
        return [str(word) for word in (self.program, *words, "-o", self.folder / f"{name}.safetensors")]


class Python(Fits):
    """Localizer.fit."""

    def write(self, rows):
        import numpy as np

        file = self.folder / f"{rows}.npy"
        np.save(file, make_rows(rows))
        return file

    def command(self, rows, threads, name="model"):
        return [sys.executable, "-c", PYTHON, str(self.table(rows)), str(threads)]


def cost_of_waiting(fits):
    """Print and return the CPU time of two simultaneous fits by default, over twice that of one fit with one thread.

    Threads that spin while they wait take 5 to 50 times as much. CPU time hardly depends on other load.
    """
    alone = fits.run(10_000, [1])
    both = fits.run(10_000, [0, 0])
    print(f"\none thread: {alone.cpu:.1f} s of CPU; two fits by default: {both.cpu:.1f} s")
    return both.cpu / (2 * alone.cpu)


def compare(fits, rows):
    """Print the times of fits with this many rows, and return the ratios."""
    processors = len(os.sched_getaffinity(0))
    settings = {"one thread": [1], f"{processors} threads": [processors], "default": [0], "two at once": [0, 0]}
    times = {name: [] for name in settings}
    fits.run(rows, [1])  # warm up the file cache
    for _ in range(REPEATS[rows]):
        for name, threads in settings.items():
            times[name].append(fits.run(rows, threads))
    medians = {
        name: Times(statistics.median(t.wall for t in runs), statistics.median(t.cpu for t in runs))
        for name, runs in times.items()
    }
    for name, median in medians.items():
        print(f"{rows:>9,} rows  {name:<12} {median.wall:8.2f} s  {median.cpu:8.2f} s of CPU", flush=True)
    best = min(median.wall for name, median in medians.items() if name.endswith(("thread", "threads")))
    ratios = {
        "default over best": medians["default"].wall / best,
        "two at once over one": medians["two at once"].wall / medians["default"].wall,
    }
    print(f"{rows:>9,} rows  " + ", ".join(f"{name}: {ratio:.2f}" for name, ratio in ratios.items()), flush=True)
    return ratios


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", help="the program widthwise")
    parser.add_argument("--python", action="store_true", help="time the Python package")
    parser.add_argument("--rows", type=int, choices=ROWS, action="append", help="default: all of them")
    arguments = parser.parse_args()
    if bool(arguments.program) == arguments.python:
        parser.error("give either the program or --python")
    with tempfile.TemporaryDirectory() as folder:
        chosen = Python(folder) if arguments.python else Program(arguments.program, folder)
        for rows in arguments.rows or ROWS:
            compare(chosen, rows)
