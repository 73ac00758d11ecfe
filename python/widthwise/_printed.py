"""Reports of the C++ library as dicts that print as text."""

from __future__ import annotations

import html
import json
from typing import Any


class PrintedReport(dict[str, Any]):
    """A dict that prints as the text of the command line."""

    _text: str

    def __init__(self, report: str, text: str) -> None:
        super().__init__(json.loads(report))
        self._text = text.rstrip("\n")

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"


class FitReport(PrintedReport):
    """The report of a fit: a dict with the keys of ``widthwise fit --json`` that prints as its text."""
