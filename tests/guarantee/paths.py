"""Which path is covered by which check: the table of docs/mathematics.md, written by `python tests/guarantee/paths.py`."""

import textwrap
from pathlib import Path

from checks import ALL_CHECKS

DOCUMENT = Path(__file__).parents[2] / "docs" / "mathematics.md"
BEGIN, END = "<!-- begin: guarantee checks -->\n", "<!-- end: guarantee checks -->\n"

EXACT = "exact, both tails"
TIES = "exact without ties, else at least"
LOWER = "at least the level"

# (path, law, what the names of its checks begin with). The longest beginning that fits decides.
PATHS = [
    ("intervals of every score transform", TIES, ["C++", "Python"]),
    (
        "single rows, merged shards, samples of many rows",
        TIES,
        ["C++ row", "C++ merge", "C++ sample", "Python updated"],
    ),
    ("p-values", TIES, ["C++ p_values", "Python p_values"]),
    ("quantiles of the outcome", TIES, ["C++ quantiles", "Python quantiles"]),
    ("training-conditional guarantee", EXACT, ["C++ training", "Python training", "command line guarantee"]),
    ("groups", TIES, ["C++ groups", "Python groups", "command line groups", "Spark groups"]),
    ("pooled groups", EXACT, ["C++ pooled", "Python pooled"]),
    (
        "clusters of equal rows, sizes related to errors",
        EXACT,
        ["C++ clusters,", "Python clusters,", "command line clusters,"],
    ),
    ("clusters of dependent rows", LOWER, ["C++ clusters of", "Python clusters of"]),
    ("rows of clusters, each of which counts once", LOWER, ["C++ rows of", "Python rows of"]),
    ("given weights", LOWER, ["C++ weights", "Python weights", "Python model with weights", "command line weights"]),
    ("weights in groups", LOWER, ["C++ weights in groups"]),
    ("equal weights", EXACT, ["Python equal weights"]),
    ("learnt weights", "approximate: the level, plus or minus 4%", ["Python learnt", "command line learnt"]),
    (
        "cross-calibration of given predictions, and of models below all outcomes",
        TIES,
        ["C++ folds,", "C++ fold_p_values", "cross of", "command line cross"],
    ),
    ("cross-calibration of trained models", "at least the bound", ["C++ folds of lines", "cross with"]),
    ("`WidthwiseRegressor` with an estimator, one split, time order", EXACT, ["WidthwiseRegressor"]),
    (
        "estimators and predictions given in other ways",
        EXACT,
        [
            "WidthwiseRegressor prefit",
            "WidthwiseRegressor y_pred_cv",
            "Python predictions of an own",
            "Python from_booster",
        ],
    ),
    ("lower and upper quantiles as predictions", EXACT, ["Python lower and upper", "command line lower and upper"]),
    ("range of outcomes", EXACT, ["WidthwiseRegressor outcome_range"]),
    ("categories and missing values", EXACT, ["Python categories"]),
    ("ONNX graphs", TIES, ["ONNX"]),
    ("`fit`, `calibrate`, `merge` and `predict` on the command line", TIES, ["command line"]),
    ("Spark", TIES, ["Spark"]),
    ("DuckDB and Dask", EXACT, ["DuckDB", "Dask"]),
    ("first intervals of a stream", TIES, ["Python online"]),
    ("drifting streams", "within the bound for every sequence", ["Python stream", "command line stream", "C++ late"]),
    ("verdict of `evaluate`", "exact, both tails", ["C++ verdict", "Python verdict"]),
    ("alarm of streams", "at most the false-alarm rate", ["C++ alarm", "Python alarm"]),
]

NOT_CHECKED = [
    "`Localizer.from_torch` and `widthwise.torch`",
    "training by several workers",
    "pooled groups on the command line",
    "rows in time order that depend on each other",
]


def path_of(check):
    """The path with the longest beginning of the name of a check."""
    fitting = [(len(start), path) for path, _, starts in PATHS for start in starts if check.name.startswith(start)]
    return max(fitting)[1]


def table():
    lines = ["| path | law | checks |", "|---|---|---|"]
    for path, law, starts in PATHS:
        names = [f"`{start.rstrip(', ')} ...`" for start in starts]
        lines.append(f"| {path} | {law} | {', '.join(names)} |")
    without = textwrap.fill(f"No check of this suite covers {'; '.join(NOT_CHECKED)}.", 100, break_on_hyphens=False)
    return "\n".join(lines) + f"\n\n{without}\n"


def unmatched():
    """Beginnings that no check has."""
    return [
        start for _, _, starts in PATHS for start in starts if not any(c.name.startswith(start) for c in ALL_CHECKS)
    ]


if __name__ == "__main__":  # rewrite the table
    before, rest = DOCUMENT.read_text().split(BEGIN)
    DOCUMENT.write_text(before + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1])
