#!/usr/bin/env python3
"""Check figures of the sources that are to last.

The files of src have at least MIN_LINES lines on average: a concept is one file, not one file per function. And the
sources in SENTENCES write numbers and names as values of a format string (src/base/values.hpp), so that a sentence stands
whole in its line and the flow through a report does not leave the file for every number.

Usage: check_sizes.py [ROOT]. Prints one line for each violation, with what to do; exits with 1 if there is any.
"""

import re
import sys
from pathlib import Path

from check_rooms import without_comments

MIN_LINES = 132
SENTENCES = ("src/report/evaluation.cpp", "src/report/sentences.cpp", "src/report/verdict.cpp")
NUMBER = re.compile(r"(?<![\w.>])(?:internal::)?(?:count|count_of|percent|percent_range|significant|printable)\(")


def violations(root, min_lines=MIN_LINES):
    files = [path for path in sorted((root / "src").rglob("*")) if path.suffix in (".hpp", ".cpp")]
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in files)
    if files and lines < min_lines * len(files):
        yield (
            f"src: {lines / len(files):.1f} lines per file; expected at least {min_lines}. "
            "Join small files that are one concept"
        )
    for file in SENTENCES:
        path = root / file
        if not path.is_file():
            yield f"{file}: no such file; correct SENTENCES in {Path(__file__).name}"
            continue
        text = without_comments(path.read_text(encoding="utf-8"))
        for match in NUMBER.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{file}:{line}: calls {match.group()[:-1]}; pass a value of src/base/values.hpp to fmt::format"


def main(arguments):
    if len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2]
    found = list(violations(root))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
