"""Compare intervals around the same quantile models: `python -m experiments.quantiles`."""

from __future__ import annotations

import sys

from ..runner import main
from . import report, suite

if __name__ == "__main__":
    sys.exit(main("quantiles", suite.jobs, suite.work, report.write, __doc__))
