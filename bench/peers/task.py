"""A task of widthwise and of others, and how it is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

HEADER = (
    "| task | widthwise | memory | compared with | time | memory | ratio | min to max | aim |\n"
    "|---|---|---|---|---|---|---|---|---|"
)

Work = Callable[[], Any]


@dataclass(frozen=True)
class Sizes:
    """Numbers of rows: as in the table, or small ones to see that everything runs."""

    quick: bool

    def rows(self, rows: int) -> int:
        return max(1000, rows // 100) if self.quick else rows


class Other(NamedTuple):
    """What widthwise is compared with.

    Attributes
    ----------
    work : what is timed
    aim : the largest ratio of the time of widthwise to this time, if there is an aim
    """

    work: Work
    aim: float | None = None


@dataclass(frozen=True)
class Task:
    """A task of widthwise, and what it is compared with.

    Attributes
    ----------
    check : called with the result of widthwise and those of the others by name; raises if they differ
    calls : number of calls in one run, of work that is too short to time alone
    wall : time on the wall, for work of several threads or processes; otherwise processor time, which other work on the
        machine changes little
    """

    name: str
    ours: Work
    others: dict[str, Other]
    check: Callable[[Any, dict[str, Any]], None] | None = None
    calls: int = 1
    repeats: int = 9
    wall: bool = False


def run(task: Task, repeats: int) -> Iterator[str]:
    """Compare the results, measure, and yield a line of the table for each of the others."""
    works = {"": task.ours, **{name: other.work for name, other in task.others.items()}}
    results, memory = {}, {}
    for name, work in works.items():
        results[name], memory[name] = with_memory(work)
    if task.check is not None:
        task.check(results.pop(""), results)
    results.clear()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            times[name].append(seconds(work, task))
    mine = median(times[""])
    for name, other in task.others.items():
        ratios = [ours / theirs for ours, theirs in zip(times[""], times[name], strict=True)]
        aim = f"{other.aim:g}" if other.aim is not None else ""
        yield (
            f"| {task.name} | {in_words(mine)} | {memory['']:.0f} MB | {name} | {in_words(median(times[name]))} "
            f"| {memory[name]:.0f} MB | {median(ratios):.3g} | {min(ratios):.3g} to {max(ratios):.3g} | {aim} |"
        )


def seconds(work: Work, task: Task) -> float:
    clock = time.perf_counter if task.wall else time.process_time
    start = clock()
    for _ in range(task.calls):
        work()
    return (clock() - start) / task.calls


def with_memory(work: Work) -> tuple[Any, float]:
    """The result, and the megabytes that the process grew by at most."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak
    before = _status("VmRSS")
    result = work()
    return result, max(0, _status("VmHWM") - before) / 1024


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name + ":"))


def in_words(time_: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if time_ * factor >= 1:
            return f"{time_ * factor:.3g} {unit}"
    return f"{time_ * 1e6:.3g} us"
