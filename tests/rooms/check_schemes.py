#!/usr/bin/env python3
"""Check that only the sources of calibration schemes ask which kind of calibration there is.

Everything else asks the scheme the question that matters (include/widthwise/schemes.hpp): which columns a step reads, what is
guaranteed, by which law. A new scheme is then one class in src/conformal/schemes.

The model does not branch on folds, nor on the columns that rows come with, either: src/model/row_predictor.cpp decides once
between one model and folds, and src/model/new_weights.cpp where the weights of new rows come from.

Usage: check_schemes.py [ROOT]. Prints one line for each violation, file:line: what to do; exits with 1 if there is any.
"""

import re
import sys
from pathlib import Path

from check_rooms import without_comments

FOLDERS = ("src", "cli", "python/src", "include")
SCHEMES = "src/conformal/schemes/"
# The sample of scores stores what its rows came with.
SAMPLE = ("src/conformal/calibration/", "include/widthwise/calibration.hpp")

KINDS = "grouped|weighted|clustered|cross_calibrated|cross_validated|pooled|ordered|time_ordered|by_groups|by_clusters"
ASKED = re.compile(
    rf"\b(?:(?:is_|has_)?(?:{KINDS})|needs_(?:weights|groups|clusters)|counts_cluster_rows|fold_rows)\s*\("
    r"|(?:\.|->)(?:weighted|clustered|grouped|cross_calibrated|fold_rows)\b(?!\s*=)"
    r"|dynamic_cast<\s*const\s+[\w:]*Scheme"
)

MODEL = "src/model/"
FILES = "src/model/model_file"  # writes and reads what there is
DECIDES = ("src/model/row_predictor.cpp", "src/model/new_weights.cpp")
COLUMN = r"\b(?:rows|parts_?|options)\s*(?:\.|->)\s*(?:groups?|clusters?|cluster_sizes|weights?|pool_groups)\b"
ASKED_IN_MODEL = re.compile(
    r"\bfolds_\s*(?:==|!=)|\b(?:parts_?\.folds|folds_)(?:\.|->)empty\s*\(|&&\s*!?scheme_->weighs_new_rows\b"
    rf"|\bif\s*\([^;{{}}]*?{COLUMN}(?:\.empty\s*\(|\s*(?:==|!=|>))"
)
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"')
ASKED_OF_SAMPLES = re.compile(r"\bRowKeys\b|\bhas_weights\s*\(|(?:\.|->)has_weights\b")


def violations(root):
    """Yield 'file:line: what to do' for every question outside the schemes."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            file = path.relative_to(root).as_posix()
            if path.suffix not in (".hpp", ".cpp") or file.startswith((SCHEMES, *SAMPLE)):
                continue
            text = LITERAL.sub('""', without_comments(path.read_text(encoding="utf-8")))
            in_model = file.startswith(MODEL) and not file.startswith(FILES) and file not in DECIDES
            for pattern in (ASKED, ASKED_OF_SAMPLES, *([ASKED_IN_MODEL] if in_model else [])):
                for match in pattern.finditer(text):
                    line = text.count("\n", 0, match.start()) + 1
                    yield f"{file}:{line}: asks for the kind of calibration ('{match.group()}'); ask its scheme what matters here"


def main(arguments):
    if len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    found = list(violations(Path(arguments[0] if arguments else ".")))
    for violation in found:
        print(violation)
    if not found:
        print("only calibration schemes know of which kind they are")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
