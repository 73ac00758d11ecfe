"""Records of experiments: flat dictionaries, stored in compressed tables, and functions shared by the suites.

A file of records is gzipped CSV. An empty cell is a missing key. A string is stored as it is, unless it can be read as
JSON; every other value is stored as JSON, so that numbers keep all digits and their kind.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import platform
import subprocess
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

Record = dict[str, Any]

RESULTS = Path(__file__).parent / "results"
SUFFIX = ".csv.gz"

PACKAGES = ("numpy", "scikit-learn", "xgboost-cpu", "torch")


def write(path: str | os.PathLike[str], records: Iterable[Record]) -> None:
    """Write a table of records. NaN and infinity become null. Equal records give equal bytes with the same zlib."""
    plain = [{key: _plain(value) for key, value in record.items()} for record in records]
    table = io.StringIO()
    writer = csv.DictWriter(table, list(dict.fromkeys(key for record in plain for key in record)), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in record.items()} for record in plain)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    # Without a name and a time, which gzip would store. GzipFile writes the same header in every version of Python.
    with unfinished.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as compressed:
        compressed.write(table.getvalue().encode())
    unfinished.replace(path)


def read(path: str | os.PathLike[str]) -> list[Record]:
    """Read a file of `write`; null becomes NaN."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as table:
        return [{key: _value(cell) for key, cell in row.items() if cell} for row in csv.DictReader(table)]


def _cell(value: Any) -> str:
    is_plain_text = isinstance(value, str) and value != "" and _value(value) == value
    return value if is_plain_text else json.dumps(value)


def _value(cell: str) -> Any:
    try:
        value = json.loads(cell)
    except json.JSONDecodeError:
        return cell
    return math.nan if value is None else value


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_environment(path: Path, about: Record) -> None:
    """Write the environment of a file of records next to it."""
    _environment_file(path).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def read_environment(path: Path) -> Record:
    """Read a file of `write_environment`."""
    about: Record = json.loads(_environment_file(path).read_text(encoding="utf-8"))
    return about


def _environment_file(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(SUFFIX) + ".environment.json")


@dataclass(frozen=True)
class Check:
    """A required result."""

    name: str
    failures: list[str]

    @property
    def passed(self) -> bool:
        return not self.failures

    def __str__(self) -> str:
        return f"{'pass' if self.passed else 'FAIL'}: {self.name}" + "".join(f"\n  - {text}" for text in self.failures)


def check_list(checks: Iterable[Check]) -> str:
    """Checks as a list of Markdown, wrapped at 100 columns."""
    lines = (line for check in checks for line in f"- {check}".splitlines())
    return "\n".join(paragraph(line.partition("- ")[2], line.partition("- ")[0] + "- ") for line in lines)


def select(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """The records with all these values."""
    return [record for record in records if all(record.get(key) == value for key, value in wanted.items())]


def processor_seconds() -> float:
    """Processor time of this process and its child programs; on one thread, the wall time of an idle machine."""
    return sum(os.times()[:4])


def environment() -> Record:
    """The commit, the versions and the machine, on which the numbers depend."""
    return {
        "commit": _commit(),
        "date": date.today().isoformat(),
        "python": platform.python_version(),
        **{name: _version(name) for name in PACKAGES},
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def environment_line(record: Record) -> str:
    """The environment as one line of Markdown."""
    packages = ", ".join(f"{name} {record[name]}" for name in PACKAGES)
    return (
        f"Commit {record['commit']}, {record['date']}; Python {record['python']}, {packages}; "
        f"{record['processor']}, {record['cores']} cores; {record['processor_seconds'] / 60 / record['workers']:.0f} minutes of "
        f"{record['workers']} cores."
    )


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _commit() -> str:
    commit = _git("rev-parse", "--short=10", "HEAD") or "unknown"
    # Results are written into the repository while experiments run; they are not changes of the code.
    changed = _git("status", "--porcelain", "--", ":/", ":(top,exclude)experiments/results")
    return commit + (" with changes" if changed else "")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample; NaN for fewer than two values."""
    if len(values) < 2:
        return math.nan
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def standard_error(values: Sequence[float]) -> float:
    """The standard error of the mean; NaN for fewer than two values."""
    return deviation(values) / math.sqrt(len(values))


def paired_ratios(records: Iterable[Record], baseline: Iterable[Record], value: str, pair: str) -> list[float]:
    """Ratios of a value to that of the baseline record with the same `pair`, which is the run or the split."""
    below = {record[pair]: record[value] for record in baseline}
    return [record[value] / below[record[pair]] for record in records]


def paragraph(text: str, indent: str = "") -> str:
    """Text of Markdown, wrapped at 100 columns; with an indent, as an item of a list."""
    lines = textwrap.wrap(
        text,
        100,
        initial_indent=indent,
        subsequent_indent=" " * len(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a table; the first column is text, the others are numbers and right-aligned."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
