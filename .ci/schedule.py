"""Runs steps that depend on each other on a fixed number of cores, and prints a table of what each cost."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LINES_OF_A_FAILURE = 200


@dataclass
class Step:
    """Commands that run one after the other and write to one log."""

    name: str
    title: str
    commands: Sequence[Sequence[str]]
    after: Sequence[str] = ()
    cores: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    # Given the log: the lines to print. Raises ValueError for a log that is a failure in spite of the exit code.
    read: Callable[[str], list[str]] = lambda log: []


@dataclass
class Cost:
    """What a finished step took, in seconds."""

    title: str
    began: float
    wall: float
    processor: float


class Running:
    """A step that was started: its current command, and the processor time of those before."""

    def __init__(self, step: Step, logs: Path) -> None:
        self.step = step
        self.log = logs / f"{step.name}.log"
        self.log.write_bytes(b"")
        self.began = time.monotonic()
        self.processor = 0.0
        self._remaining = [list(command) for command in step.commands]
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = self._remaining.pop(0)
        with self.log.open("ab") as out:
            out.write(f"+ {' '.join(command)}\n".encode())
            out.flush()
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.step.folder,
                env={**os.environ, **self.step.environment},
                start_new_session=True,  # so that a failure elsewhere can end all of it
            )

    def ended(self, status: int, usage: object) -> int | None:
        """Take note of the end of a command; return the exit code of the step if that was the last."""
        self.processor += usage.ru_utime + usage.ru_stime  # type: ignore[attr-defined]
        code = os.waitstatus_to_exitcode(status)
        if code != 0 or not self._remaining:
            return code
        self.process = self._start()
        return None

    def kill(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Schedule:
    """Starts each step as soon as the steps before it are done and its cores are free, in the order given.

    A step that waits only for cores keeps those after it waiting, or it would never find enough of them. A step of 0
    cores, one that waits for the network, runs next to anything.
    """

    def __init__(self, steps: Sequence[Step], cores: int, logs: Path, elapsed: float, keep_going: bool) -> None:
        names = [step.name for step in steps]
        for step in steps:
            unknown = set(step.after) - set(names[: names.index(step.name)])
            if unknown:
                raise ValueError(f"{step.name} comes after {', '.join(sorted(unknown))}, not listed before it")
        self._waiting = list(steps)
        self._cores = cores
        self._keep_going = keep_going
        self.failed: list[str] = []
        self._logs = logs
        self._zero = time.monotonic() - elapsed
        self._done: set[str] = set()
        self._running: dict[int, Running] = {}
        self.costs: list[Cost] = []

    def run(self) -> None:
        """Run all steps up to the first that fails or, to keep going, all but those that come after a failed one."""
        try:
            while self._waiting or self._running:
                self._start_what_can()
                if not self._running:
                    return  # what is left comes after a failed step
                self._wait_for_one()
                if self.failed and not self._keep_going:
                    return
        finally:
            for running in self._running.values():
                running.kill()

    def _start_what_can(self) -> None:
        for step in list(self._waiting):
            used = sum(running.step.cores for running in self._running.values())
            free = self._cores - used
            if not set(step.after) <= self._done:
                continue
            if step.cores > free and used > 0:  # alone, it may use more than there are
                return
            self._waiting.remove(step)
            running = Running(step, self._logs)
            self._running[running.process.pid] = running

    def _wait_for_one(self) -> None:
        pid, status, usage = os.wait4(-1, 0)
        running = self._running.pop(pid, None)
        if running is None:
            return
        code = running.ended(status, usage)
        if code is None:
            self._running[running.process.pid] = running
        else:
            self._finish(running, code)

    def _finish(self, running: Running, code: int) -> None:
        step = running.step
        now = time.monotonic()
        self.costs.append(Cost(step.title, running.began - self._zero, now - running.began, running.processor))
        log = running.log.read_text(errors="replace")
        lines: list[str] = []
        problem = f"exit code {code}" if code != 0 else ""
        if not problem:
            try:
                lines = step.read(log)
            except ValueError as error:
                problem = str(error)
        if problem:
            print("\n".join(log.splitlines()[-LINES_OF_A_FAILURE:]))
            print(f"FAILED: {step.title} ({problem}, {now - running.began:.0f} s)", flush=True)
            self.failed.append(step.title)
            return
        self._done.add(step.name)
        print(f"== {step.title}: done in {now - running.began:.0f} s (total {now - self._zero:.0f} s)")
        print("".join(f"{line}\n" for line in lines), end="", flush=True)

    def table(self) -> str:
        """What each step cost, in the order they began."""
        width = max((len(cost.title) for cost in self.costs), default=4)
        rows = [f"{'step':{width}}  began  seconds  processor"]
        rows += [
            f"{cost.title:{width}}  {cost.began:5.0f}  {cost.wall:7.0f}  {cost.processor:9.0f}"
            for cost in sorted(self.costs, key=lambda cost: cost.began)
        ]
        total = time.monotonic() - self._zero
        rows.append(f"{'whole run':{width}}  {0:5.0f}  {total:7.0f}  {sum(c.processor for c in self.costs):9.0f}")
        return "\n".join(rows)


def run_steps(steps: Sequence[Step], *, cores: int, logs: Path, elapsed: float = 0.0, keep_going: bool = False) -> int:
    """Run the steps, print the table of costs, and return the exit code."""
    logs.mkdir(parents=True, exist_ok=True)
    schedule = Schedule(steps, cores, logs, elapsed, keep_going)
    schedule.run()
    print(f"\n{schedule.table()}")
    print(f"== failed: {', '.join(schedule.failed)}" if schedule.failed else "== all passed", flush=True)
    return 1 if schedule.failed else 0
