"""Run jobs in parallel, on one thread each."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple, TypeVar

from .records import RESULTS, SUFFIX, Check, Record, environment, processor_seconds, read, write, write_environment

BUILD = Path(__file__).parents[1] / "build" / "experiments"
QUICK_RESULTS = BUILD / "quick"
PARTS = BUILD / "parts"

Job = TypeVar("Job")


class SplitJob(NamedTuple):
    """All methods on one split of a data set."""

    dataset: str
    split: int

    def __str__(self) -> str:
        return f"{self.dataset}, split {self.split}"


def run(
    work: Callable[[Job], list[Record]], jobs: Sequence[Job], workers: int, parts: Path
) -> tuple[list[Record], Record]:
    """Run the jobs; return their records, in the order of the jobs, and a record of the environment.

    The result of each job is also stored in the folder `parts`. Jobs with a stored result are skipped.
    """
    start = time.perf_counter()
    done = {job: read(part) for job in jobs if (part := _part(parts, job, SUFFIX)).exists()}
    seconds = {job: json.loads(_part(parts, job, ".seconds").read_text()) for job in done}
    # One thread per worker. Libraries read this when they are loaded, and each worker loads them itself.
    os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive", OPENBLAS_NUM_THREADS="1")
    # Do not fork: a forked process that has loaded torch and XGBoost may hang.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(_timed, work, job): job for job in jobs if job not in done}
        for future in as_completed(futures):
            job = futures[future]
            done[job], seconds[job] = future.result()
            # The records are written last: a job is done if they exist.
            parts.mkdir(parents=True, exist_ok=True)
            _part(parts, job, ".seconds").write_text(f"{seconds[job]:.1f}\n")
            write(_part(parts, job, SUFFIX), done[job])
            elapsed = time.perf_counter() - start
            print(f"[{len(done)}/{len(jobs)}, {elapsed:.0f} s] {job}: {seconds[job]:.0f} s", flush=True)
    circumstances = environment() | {"workers": workers, "processor_seconds": round(sum(seconds.values()))}
    return [record for job in jobs for record in done[job]], circumstances


def _part(parts: Path, job: object, ending: str) -> Path:
    return parts / (re.sub(r"[^a-z0-9_]+", "-", str(job)) + ending)


def _timed(work: Callable[[Job], list[Record]], job: Job) -> tuple[list[Record], float]:
    start = processor_seconds()
    return work(job), processor_seconds() - start


def main(
    name: str,
    jobs: Callable[[bool], Sequence[Job]],
    work: Callable[[Job], list[Record]],
    report: Callable[[Path], list[Check]],
    about: str | None,
) -> int:
    """The command of a suite: run its jobs, write the records and the page, and report the checks.

    `name` is the module that is run; the files of the suite have its name with underscores.
    """
    stem = name.replace(".", "_")
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{name}", description=about)
    parser.add_argument("--quick", action="store_true", help="few splits of small data sets: minutes")
    parser.add_argument("--report", action="store_true", help="run nothing; write page and pictures from records")
    parser.add_argument("--resume", action="store_true", help="do only the jobs that an interrupted run left")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes of one thread each")
    parser.add_argument("--output", type=Path, help="folder of records, page and pictures")
    arguments = parser.parse_args()
    folder = arguments.output or (QUICK_RESULTS if arguments.quick else RESULTS)
    if not arguments.report:
        parts = PARTS / (f"{stem}-quick" if arguments.quick else stem)
        if not arguments.resume:
            shutil.rmtree(parts, ignore_errors=True)
        found, circumstances = run(work, jobs(arguments.quick), arguments.workers, parts)
        # Records that are not measurements of a method on a data set are stored separately.
        write(folder / f"{stem}{SUFFIX}", (record for record in found if "kind" not in record))
        more = [record for record in found if "kind" in record]
        if more:
            write(folder / f"{stem}_more{SUFFIX}", more)
        else:
            (folder / f"{stem}_more{SUFFIX}").unlink(missing_ok=True)
        write_environment(folder / f"{stem}{SUFFIX}", circumstances)
    checks = report(folder)
    for check in checks:
        print(check)
    return 0 if all(check.passed for check in checks) else 1
