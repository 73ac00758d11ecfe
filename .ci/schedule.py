"""Run steps with dependencies on a fixed number of cores, and print a table of the cost of each step."""

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
    # Maps the log to the lines to print. Raises ValueError if the log shows a failure despite exit code 0.
    read: Callable[[str], list[str]] = lambda log: []


@dataclass
class Cost:
    """The cost of a finished step, in seconds."""

    title: str
    began: float
    wall: float
    processor: float


class Running:
    """A running step: its current command, and the processor time of its earlier commands."""

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
                start_new_session=True,  # so that a failure elsewhere can stop the whole process group
            )

    def ended(self, status: int, usage: object) -> int | None:
        """Record the end of a command; return the exit code of the step if it was the last command."""
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
    """Start each step when its dependencies are done and its cores are free, in the given order.

    A step that waits only for cores blocks the steps after it; otherwise it might never get enough cores. A step with
    0 cores, which waits for the network, runs in parallel with any other.
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
        """Run all steps until one fails. With keep-going, skip only the steps that depend on a failed one."""
        try:
            while self._waiting or self._running:
                self._start_what_can()
                if not self._running:
                    return  # the remaining steps depend on a failed one
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
            if step.cores > free and used > 0:  # a step may use more cores than there are if it runs alone
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
        """The cost of each step, in the order of their start."""
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
