"""Compare localised calibration with the goals: `python -m experiments.localised`."""

from __future__ import annotations

import sys

from ..runner import main
from . import report, suite

if __name__ == "__main__":
    sys.exit(main("localised", suite.jobs, suite.work, report.write, __doc__))
