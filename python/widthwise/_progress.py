"""Progress of a fit, for `verbose`: the line that the command `widthwise` draws."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from . import _core
from ._engine import logger

# Stage, and share of the whole that is done.
ProgressCallback = Callable[[str, float], None]

_SECONDS_BETWEEN_DRAWINGS = 0.1
_PLAIN_SHARES = (0.0, 0.25, 0.5, 0.75)  # at which a file gets a line


class Steps:
    """The steps of a fit, in their order, around which this package trains something itself."""

    def __init__(self, show: ProgressCallback | None = None) -> None:
        self._show = show
        self._core = _core.ProgressSteps()

    def plan(self, kind: str, count: int = 1) -> None:
        """Plan steps of a kind, which all take about the same time."""
        self._core.plan(kind, 1.0, count)

    def begin(self, stage: str = "") -> None:
        """Begin the next step, which reports nothing itself."""
        self._core.begin()
        if stage:
            self.report(stage, 0.0)

    def report(self, stage: str, part: float) -> None:
        """Report the progress of the current step."""
        if self._show is not None:
            self._show(stage, self._core.share(part))

    def callback(self, prefix: str = "") -> ProgressCallback | None:
        """For a fit that is the current step; its stages get the prefix."""
        if self._show is None:
            return None
        return lambda stage, part: self.report(prefix + stage, part)


NO_STEPS = Steps()


@contextmanager
def shown(verbose: int) -> Iterator[ProgressCallback | None]:
    """A function that shows the progress of a fit on standard error; None unless verbose."""
    if not verbose:
        yield None
        return
    line = _Line()
    try:
        yield line.show
    except BaseException:
        line.end("")
        raise
    line.end(f"widthwise: fitted in {_core.clock_text(line.seconds)}")


class _Line:
    """A line that a terminal or notebook redraws. A file gets a few lines instead."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._stage = ""
        self._drawn_at = -math.inf
        self._width = 0  # of the line that is drawn
        self._plain = 0  # lines written to a file

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def show(self, stage: str, share: float) -> None:
        if stage != self._stage:
            self._stage = stage
            logger.info("%s", stage)
        if not _redraws():
            if self._plain < len(_PLAIN_SHARES) and share >= _PLAIN_SHARES[self._plain]:
                self._plain = sum(share >= due for due in _PLAIN_SHARES)
                _write(_core.progress_line(stage, share, self.seconds, _columns()) + "\n")
            return
        now = time.monotonic()
        if now - self._drawn_at < _SECONDS_BETWEEN_DRAWINGS:
            return
        self._drawn_at = now
        self._draw(_core.progress_line(stage, share, self.seconds, _columns()))

    def end(self, text: str) -> None:
        """Replace the line by this text."""
        if self._width:
            self._draw("")
            _write("\r")
        if text:
            _write(text + "\n")

    def _draw(self, text: str) -> None:
        # Blanks instead of an escape sequence, which notebooks print.
        _write("\r" + text.ljust(self._width))
        self._width = len(text)


def _columns() -> int:
    return shutil.get_terminal_size().columns - 1


def _redraws() -> bool:
    """Whether standard error is a terminal or a notebook."""
    if type(sys.stderr).__module__.partition(".")[0] == "ipykernel":
        return True
    try:
        return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    except (AttributeError, ValueError):  # no stream, or a closed one
        return False


def _write(text: str) -> None:
    if sys.stderr is None:  # as in a Windows service or with pythonw
        return
    sys.stderr.write(text)
    sys.stderr.flush()
