"""Compare with other methods: `python -m experiments.field`."""

from __future__ import annotations

import sys

from ..runner import main
from . import report, suite

if __name__ == "__main__":
    sys.exit(main("field", suite.jobs, suite.work, report.write, __doc__))
