"""Time and memory of widthwise and of what a user would use instead, side by side.

    make bench-peers                        # all tasks
    python -m bench.peers constant groups   # the tasks whose name contains one of these words
    python -m bench.peers --quick           # small inputs, to see that everything runs

Every task first compares the results, then runs widthwise and the others alternately, on one thread unless its name says
otherwise. A ratio is the median over the repeats, with its minimum and maximum. Memory is what the process grew by at
most during one run.
"""

from __future__ import annotations

import argparse
import os

# Libraries read this when they are loaded.
os.environ.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive", OPENBLAS_NUM_THREADS="1")

from . import predictions, trainings, whole  # noqa: E402
from .task import HEADER, Sizes, Task, run  # noqa: E402

MAKERS = [*predictions.MAKERS, *trainings.MAKERS, *whole.MAKERS]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only tasks whose name contains one of these words")
    parser.add_argument("--quick", action="store_true", help="small inputs and two repeats")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    sizes = Sizes(quick=options.quick)
    print(HEADER)
    for make in MAKERS:
        if options.words and not any(word in make.__name__ for word in options.words):
            continue
        task: Task = make(sizes)
        for line in run(task, 2 if options.quick else min(options.repeats, task.repeats)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
