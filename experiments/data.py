"""The data sets of the experiments, loaded from the folder WIDTHWISE_DATA or prepared from their public sources.

    python -m experiments.data FOLDER

downloads seven public files, converts each to a common form (a header, numbers only, no missing values, target last),
verifies the values with the checksums of datasets.json, and writes FOLDER/NAME.csv and FOLDER/datasets.json.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import hashlib
import io
import json
import os
import re
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

VARIABLE = "WIDTHWISE_DATA"
FACTS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("datasets.json").read_text())
NAMES = tuple(FACTS)


class DataError(Exception):
    """A data set is missing, cannot be downloaded, or has unexpected contents; the message explains how to fix it."""


@dataclass(frozen=True)
class Dataset:
    """A data set in memory; X has one column per feature, in order."""

    name: str
    features: list[str]
    target: str
    X: NDArray[np.float64]
    y: NDArray[np.float64]


@dataclass(frozen=True)
class Table:
    """A table as text, so that preparing it does not change any digit."""

    columns: list[str]
    rows: list[list[str]]

    def select(self, columns: list[str]) -> Table:
        """The columns with these names, in this order."""
        missing = sorted(set(columns) - set(self.columns))
        if missing:
            raise DataError(f"the table has no column {', '.join(missing)}; it has {', '.join(self.columns)}")
        places = [self.columns.index(column) for column in columns]
        return Table(columns, [[row[place] for place in places] for row in self.rows])

    def rename(self, columns: list[str]) -> Table:
        """The same columns with other names."""
        if len(columns) != len(self.columns):
            raise DataError(f"the table has {len(self.columns)} columns instead of {len(columns)}")
        return Table(columns, self.rows)


# Convert public files to the common form. Each function takes the result of `read_csv`.

ENERGY_COLUMNS = (
    "relative_compactness surface_area wall_area roof_area overall_height orientation glazing_area "
    "glazing_distribution heating_load cooling_load"
).split()
CONCRETE_COLUMNS = "cement slag fly_ash water superplasticizer coarse_aggregate fine_aggregate age strength".split()
WEEKDAYS = "sun mon tue wed thu fri sat".split()
# The five counts of comments, cc1 to cc5, summed over the posts of the page and for the post itself.
COMMENT_COUNTS = [f"cc{i}" for i in range(1, 6)]
FACEBOOK_COLUMNS = [
    *"page_likes page_checkins page_talking_about page_category".split(),
    *(f"{count}_{statistic}" for count in COMMENT_COUNTS for statistic in "min max avg median std".split()),
    *COMMENT_COUNTS,
    *"base_time post_length post_shares post_promotion h_local".split(),
    *(f"{day}_{event}" for event in ("pub", "base") for day in WEEKDAYS),
    "comments_next_h_hours",
]
COMMUNITY_IDENTIFIERS = "state county community communityname fold".split()


def last(table: Table, target: str) -> Table:
    """Move the target to the end."""
    return table.select([column for column in table.columns if column != target] + [target])


def prepare_energy(raw: Table) -> Table:
    """Rename the columns; cooling load is the target, heating load stays a feature, as in the paper."""
    return raw.rename(ENERGY_COLUMNS)


def prepare_concrete(raw: Table) -> Table:
    """Rename the columns."""
    return raw.rename(CONCRETE_COLUMNS)


def prepare_homes(raw: Table) -> Table:
    """Drop `id` and `date`, move `price` to the end."""
    return last(raw.select([column for column in raw.columns if column not in ("id", "date")]), "price")


def prepare_casp(raw: Table) -> Table:
    """Move `rmsd` to the end."""
    return last(raw.rename([column.lower() for column in raw.columns]), "rmsd")


def prepare_facebook(raw: Table) -> Table:
    """Name the 54 columns."""
    return raw.rename(FACEBOOK_COLUMNS)


def prepare_bike(raw: Table) -> Table:
    """Split `datetime` into hour, day_of_week (Monday 0), month and year; drop `casual` and `registered`."""
    times = [datetime.datetime.fromisoformat(row[0]) for row in raw.select(["datetime"]).rows]
    kept = raw.select([column for column in raw.columns if column not in ("datetime", "casual", "registered")])
    parts = [[str(part) for part in (time.hour, time.weekday(), time.month, time.year)] for time in times]
    rows = [part + row for part, row in zip(parts, kept.rows, strict=True)]
    return last(Table(["hour", "day_of_week", "month", "year", *kept.columns], rows), "count")


def prepare_community(raw: Table) -> Table:
    """Drop the identifiers and every column with a missing value."""
    incomplete = {raw.columns[place] for row in raw.rows for place, cell in enumerate(row) if cell.strip() in ("?", "")}
    dropped = incomplete.union(COMMUNITY_IDENTIFIERS)
    return raw.select([column for column in raw.columns if column not in dropped])


PREPARE: dict[str, Callable[[Table], Table]] = {
    "energy": prepare_energy,
    "concrete": prepare_concrete,
    "homes": prepare_homes,
    "casp": prepare_casp,
    "facebook_1": prepare_facebook,
    "bike": prepare_bike,
    "community": prepare_community,
}


# Reading, checking, writing.


def read_csv(text: str, columns: list[str] | None = None) -> Table:
    """Read comma-separated text; if no column names are given, the first line is the header."""
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if columns is None:
        columns, rows = rows[0], rows[1:]
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise DataError(f"row {number} has {len(row)} cells instead of {len(columns)}")
    return Table(columns, rows)


def values_sha256(rows: Iterable[Iterable[float]]) -> str:
    """The checksum of the values: every row printed with %.6g, joined by commas, ended by a newline."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update((",".join([f"{value:.6g}" for value in row]) + "\n").encode())
    return digest.hexdigest()


def check(name: str, table: Table) -> None:
    """Raise an error unless the prepared table has the values that the experiments used."""
    facts = FACTS[name]
    if table.columns[-1] != facts["target"]:
        raise DataError(f"{name}: the last column is {table.columns[-1]} instead of {facts['target']}")
    shape, expected = (len(table.rows), len(table.columns) - 1), (facts["rows"], facts["features"])
    if shape != expected:
        raise DataError(f"{name}: {shape[0]} rows of {shape[1]} features instead of {expected[0]} of {expected[1]}")
    try:
        found = values_sha256(map(float, row) for row in table.rows)
    except ValueError as error:
        raise DataError(f"{name}: not only numbers: {error}") from error
    if found != facts["values_sha256"]:
        raise DataError(f"{name}: the values are not those of the experiments (values_sha256 {found})")


def read_public(name: str, content: bytes) -> Table:
    """Read the public file, from its archive if there is one."""
    member = FACTS[name].get("member")
    columns = None
    if member:
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                path = next((path for path in archive.namelist() if path.endswith(member)), None)
                if path is None:
                    raise DataError(f"{name}: no {member} in the archive, only {', '.join(archive.namelist())}")
                content = archive.read(path)
                if name == "community":  # names its columns in a separate file
                    about = archive.read(path.removesuffix(".data") + ".names").decode("latin-1")
                    columns = re.findall(r"^@attribute\s+(\S+)", about, flags=re.MULTILINE)
        except (zipfile.BadZipFile, KeyError) as error:
            raise DataError(f"{name}: not the archive expected: {error}") from error
    text = content.decode("utf-8-sig")
    if name == "facebook_1":
        columns = FACEBOOK_COLUMNS
    return read_csv(text, columns)


def download(url: str) -> bytes:
    """The bytes behind an address."""
    request = urllib.request.Request(url, headers={"User-Agent": "widthwise-experiments"})
    try:
        with urllib.request.urlopen(request, timeout=120) as response:
            return response.read()
    except OSError as error:
        raise DataError(f"cannot download {url}: {error}") from error


def prepare(name: str, folder: Path) -> Path:
    """Download, prepare, verify and write a data set; use the first source with the expected values."""
    problems = []
    for url in FACTS[name]["urls"]:
        try:
            table = PREPARE[name](read_public(name, download(url)))
            check(name, table)
        except DataError as error:
            problems.append(f"{url}: {error}")
            continue
        path = folder / FACTS[name]["file"]
        path.write_text("\n".join(",".join(row) for row in [table.columns, *table.rows]) + "\n")
        return path
    raise DataError(
        f"{name}: no source gave the data\n  "
        + "\n  ".join(problems)
        + f"\n  Any file with the same values will do: prepare it as `{PREPARE[name].__name__}` says."
    )


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set from a folder, by default WIDTHWISE_DATA, and verify its values."""
    folder = folder or os.environ.get(VARIABLE)
    if not folder:
        raise DataError(f"set {VARIABLE} to a folder of the data sets; `python -m experiments.data FOLDER` makes one")
    path = Path(folder) / FACTS[name]["file"]
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} is missing; `python -m experiments.data {folder}` makes it") from None
    table = read_csv(content.decode())
    # Comparing bytes is fast, but a file prepared elsewhere may format its numbers differently.
    if hashlib.sha256(content).hexdigest() != FACTS[name]["sha256"]:
        check(name, table)
    values = np.array(table.rows, dtype=np.float64)
    return Dataset(name, table.columns[:-1], table.columns[-1], values[:, :-1].copy(), values[:, -1].copy())


def main(arguments: list[str] | None = None) -> int:
    """Prepare all data sets, and report those that are not available."""
    parser = argparse.ArgumentParser(prog="python -m experiments.data", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="where to write the data sets; made if it does not exist")
    folder = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    written, failed = {}, False
    for name, facts in FACTS.items():
        try:
            path = prepare(name, folder)
        except DataError as error:
            print(f"experiments.data: {error}", file=sys.stderr)
            failed = True
            continue
        written[name] = {**facts, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        print(f"{path}: {facts['rows']:,} rows, {facts['features']} features, checked")
    (folder / "datasets.json").write_text(json.dumps(written, indent=1) + "\n")
    if not failed:
        print(f"Done: set {VARIABLE}={folder}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
