"""Results of the C++ library as dicts that print as text."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any


def html_table(rows: Sequence[Sequence[str]], heads: Sequence[str] = ()) -> str:
    """A table for notebooks; the first cell of a row is its name. Colours are those of the notebook, light or dark."""

    def cell(kind: str, text: str) -> str:
        return f'<{kind} style="text-align: left; padding: .15em .5em .15em 0">{html.escape(text)}</{kind[:2]}>'

    top = "".join(cell('th scope="col"', head) for head in heads)
    body = "".join(
        f"<tr>{cell('th scope=row', name)}{''.join(cell('td', text) for text in texts)}</tr>" for name, *texts in rows
    )
    return f'<table style="border-collapse: collapse; font-size: .85em"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


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
    """The fit report: a dict with the keys of ``widthwise fit --json`` that prints as its text."""
