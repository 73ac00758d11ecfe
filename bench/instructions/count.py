"""Count the instructions of the hottest kernels with Callgrind, and compare them with counts.json.

    python bench/instructions/count.py build/release/bench/instructions/widthwise_kernels          # fails above +5%
    python bench/instructions/count.py build/release/bench/instructions/widthwise_kernels --write  # store the counts

Instructions are the same in every run and on a busy machine, unlike seconds. They depend on the compiler, so counts.json
names it, and with another compiler the comparison is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

COUNTS = Path(__file__).with_name("counts.json")
MAX_GROWTH = 0.05


def count(program: str, kernel: str) -> int:
    """The instructions of one kernel."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=run_kernel"]
    done = subprocess.run([*command, program, kernel], capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found or int(found[1]) == 0:
        sys.exit(f"{kernel}: exit code {done.returncode}\n{done.stderr}")
    return int(found[1])


def compiler() -> str:
    return subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--write", action="store_true", help="store the counts instead of comparing them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    names = subprocess.run([options.program], capture_output=True, text=True, check=True).stdout.split()
    with ThreadPoolExecutor(options.jobs) as pool:
        counts = dict(zip(names, pool.map(lambda name: count(options.program, name), names), strict=True))
    if options.write:
        COUNTS.write_text(json.dumps({"compiler": f"g++ {compiler()}", "instructions": counts}, indent=2) + "\n")
    stored = json.loads(COUNTS.read_text())
    if stored["compiler"] != f"g++ {compiler()}":
        print(f"not compared: counted with {stored['compiler']}, this is g++ {compiler()}")
        return
    failures = []
    for name, instructions in counts.items():
        before = stored["instructions"].get(name)
        if before is None:
            sys.exit(f"{name}: not in {COUNTS.name}; add it with --write")
        growth = instructions / before - 1
        print(f"{name:26} {instructions:>13,}  {growth:+.1%}")
        if growth > MAX_GROWTH:
            failures.append(name)
    if failures:
        sys.exit(f"more than {MAX_GROWTH:.0%} above {COUNTS.name}: {', '.join(failures)}")


if __name__ == "__main__":
    main()
