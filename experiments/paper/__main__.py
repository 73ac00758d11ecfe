"""Run the paper's experiments: `python -m experiments.paper`."""

from __future__ import annotations

import sys

from ..runner import main
from . import report, suite

if __name__ == "__main__":
    sys.exit(main("paper", suite.jobs, suite.work, report.write, __doc__))
