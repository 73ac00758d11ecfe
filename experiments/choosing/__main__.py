"""Draw the pictures of docs/choosing.md from the records of the suites: `python -m experiments.choosing`."""

from __future__ import annotations

import argparse
import json

from . import measure, pictures
from .numbers import MEASURED, PICTURES, all_numbers


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.choosing", description=__doc__)
    text = f"first measure what is in no suite, in a minute, and write {MEASURED.name}; needs WIDTHWISE_DATA"
    parser.add_argument("--measure", action="store_true", help=text)
    if parser.parse_args().measure:
        measured = {"guarantee": measure.guarantee(), "learnt_widths": measure.learnt_widths()}
        MEASURED.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    pictures.draw_all(PICTURES, all_numbers())


if __name__ == "__main__":
    main()
