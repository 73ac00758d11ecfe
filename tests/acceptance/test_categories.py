"""Categorical features make intervals narrower at equal coverage, on real tables: the figures of docs/categories.md."""

import gzip
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

WITHOUT = {
    "diamonds": ["cut", "color", "clarity"],
    "flights": ["carrier", "origin", "dest"],
    "seoul_bike": ["season", "holiday", "functioning_day"],
}
TARGET = {"diamonds": "price", "flights": "arr_delay", "seoul_bike": "count"}
MAX_RATIO = {"diamonds": 0.45, "flights": 1, "seoul_bike": 0.85}
LONG_FORM = ["diamonds", "flights"] if "WIDTHWISE_FULL" in os.environ else []


def widthwise(folder, *arguments):
    program = os.environ.get("WIDTHWISE_PROGRAM", "widthwise")
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def split(name, folder):
    """Hold out 30% of the rows at random."""
    (table,) = (Path(os.environ["WIDTHWISE_DATA"]) / "more").glob(f"{name}.csv*")
    text = gzip.decompress(table.read_bytes()) if table.suffix == ".gz" else table.read_bytes()
    header, *rows = text.decode().splitlines()
    test = np.random.default_rng(0).random(len(rows)) < 0.3
    for file, chosen in (("fit.csv", ~test), ("test.csv", test)):
        lines = [header, *(row for row, is_chosen in zip(rows, chosen, strict=True) if is_chosen)]
        (folder / file).write_text("\n".join(lines) + "\n")


def evaluated(folder, target, *options):
    fit = ["fit", "fit.csv", "--target", target, "--base", "trees", *options]
    widthwise(folder, *fit, "-o", "model.safetensors")
    report = json.loads(widthwise(folder, "evaluate", "model.safetensors", "test.csv", "--json").stdout)
    return report["levels"][0]


@pytest.mark.skipif("WIDTHWISE_DATA" not in os.environ, reason="WIDTHWISE_DATA names the folder of the tables")
@pytest.mark.parametrize("name", ["seoul_bike", *LONG_FORM])
def test_categories_make_intervals_narrower_at_equal_coverage(name, tmp_path):
    split(name, tmp_path)
    without = evaluated(tmp_path, TARGET[name], "--exclude", ",".join(WITHOUT[name]))
    with_them = evaluated(tmp_path, TARGET[name])
    assert with_them["mean_width"] < MAX_RATIO[name] * without["mean_width"]
    for level in (without, with_them):
        assert 0.87 < level["coverage"]["share"] < 0.93
