"""Shared fixtures of the tests of the program: running it, and small tables.

WIDTHWISE_PROGRAM names the program.
"""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

COMMANDS = ["fit", "calibrate", "merge", "predict", "track", "evaluate", "report", "plan", "inspect"]
COMMANDS += ["completion", "help"]


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Program:
    """Runs widthwise in its own folder."""

    def __init__(self, folder):
        self.path = os.environ.get("WIDTHWISE_PROGRAM", "widthwise")
        self.folder = Path(folder)

    def __call__(self, *arguments, environment=None):
        """Run with pipes; return the exit code and the output."""
        done = subprocess.run(
            [self.path, *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, "COLUMNS": "100", **(environment or {})},  # the widest text
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def ok(self, *arguments):
        """Run a command that must succeed with nothing on stderr."""
        outcome = self(*arguments)
        assert (outcome.code, outcome.err) == (0, ""), outcome
        return outcome

    def fails(self, code, *arguments):
        """Run a command that must fail with this exit code and one line on stderr; return that line."""
        outcome = self(*arguments)
        assert outcome.code == code, outcome
        assert outcome.out == ""
        assert outcome.err.endswith("\n") and outcome.err.count("\n") == 1, outcome.err
        return outcome.err.rstrip("\n")


@pytest.fixture
def widthwise(tmp_path):
    return Program(tmp_path)


def make_table(rows, seed):
    """y = 3 a + noise that grows with b; `forecast` is the true mean, so its errors are out of sample."""
    random = np.random.default_rng(seed)
    a = random.uniform(-1, 1, rows)
    b = random.uniform(0, 1, rows)
    forecast = 3 * a
    price = forecast + (0.1 + b) * random.standard_normal(rows)
    rooms = random.integers(1, 5, rows)
    city = np.array(["Oslo", "Bergen, west", 'the "north"'])[random.integers(0, 3, rows)]
    return pa.table({"a": a, "b": b, "rooms": rooms, "city": city, "forecast": forecast, "price": price})


def write(table, path):
    if Path(path).suffix == ".csv":
        csv.write_csv(table, path)
    else:
        parquet.write_table(table, path)


def read(path):
    return csv.read_csv(path) if Path(path).suffix == ".csv" else parquet.read_table(path)


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """A folder with tables, and models fitted on train.csv: homes.safetensors (own predictions), trees.safetensors."""
    folder = tmp_path_factory.mktemp("tables")
    program = Program(folder)
    for name, rows, seed in [("train", 3000, 1), ("fresh", 2000, 2), ("more", 1500, 3), ("test", 4000, 4)]:
        table = make_table(rows, seed)
        write(table, folder / f"{name}.csv")
        write(table, folder / f"{name}.parquet")
    probe = program(
        "fit",
        "train.csv",
        "--target",
        "price",
        "--base",
        "trees",
        "--base-options",
        "rounds=20",
        "--features",
        "a,b,rooms,forecast",
        "--score-transform",
        "identity",
        "-o",
        "trees.safetensors",
    )
    if "this build cannot read tables" in probe.err:
        pytest.skip("this build has no Arrow")
    assert probe.code == 0, probe
    fitted = program(*FIT, "-o", "homes.safetensors")
    assert fitted.code == 0, fitted
    return folder


FIT = ["fit", "train.csv", "--target", "price", "--prediction", "forecast", "--threads", "2"]


@pytest.fixture
def homes(tables):
    """The program, running in the folder of tables."""
    return Program(tables)
