"""Compare the goals of widthwise with each other, as the package is now: `python -m experiments.goals`."""

from __future__ import annotations

import sys

from ..runner import main
from . import report, suite

if __name__ == "__main__":
    sys.exit(main("goals", suite.jobs, suite.work, report.write, __doc__))
