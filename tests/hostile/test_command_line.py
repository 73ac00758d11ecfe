"""Hostile inputs on the command line: each gives a valid result, or one clear error and the documented exit code.

A case is one line: the arguments, the exit code and words that the message must contain. In the arguments, OUT is a
separate file per case, without an extension.
"""

import os
import shlex

import inputs
import pytest
from conftest import Commands, assert_refused
from pyarrow import csv

DONE, DATA, USAGE = 0, 1, 2
OK = None  # in place of the words of an error


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    """A folder with valid and hostile files, and the models m, trees and tracked."""
    folder = tmp_path_factory.mktemp("inputs")
    run = Commands(folder, tmp_path_factory.mktemp("transcript"))
    for name, content in inputs.tables().items():
        (folder / name).write_bytes(content)
    csv.write_csv(inputs.good_table(200, seed=9), folder / "train.csv")
    fit = ["fit", "train.csv", "--target", "y", "--score-transform", "identity"]
    for arguments in (
        [*fit, "--prediction", "p", "-o", "m.safetensors"],
        [*fit, "--base", "trees", "--exclude", "p", "-o", "trees.safetensors"],
        ["calibrate", "m.safetensors", "more.csv", "--emit", "good.shard"],
        ["track", "m.safetensors", "more.csv", "-o", "tracked.csv", "--save", "tracked.safetensors"],
    ):
        done = run(*arguments)
        assert done.code == 0, done
    model, part = ((folder / name).read_bytes() for name in ("m.safetensors", "good.shard"))
    for name, content in inputs.models(model, part).items():
        (folder / name).write_bytes(content)
    inputs.odd_files(folder)
    (folder / "out").mkdir()
    yield run
    run.close()


# ---- tables, given to every command that reads one

TABLE_COMMANDS = {
    "fit": "fit {} --target y --prediction p --score-transform identity -o OUT.safetensors",
    "predict": "predict m.safetensors {} -o OUT.csv",
    "calibrate": "calibrate m.safetensors {} -o OUT.safetensors",
    "evaluate": "evaluate m.safetensors {}",
}
# For each file, a word of the message: one for all four commands, or one per command.
TABLES = {
    "good.csv": OK,
    "good.parquet": OK,
    "good.csv.gz": OK,
    "bom.csv": OK,
    "crlf.csv": OK,
    "no_last_newline.csv": OK,
    "latin.csv": "is not UTF-8",
    "formula.csv": OK,
    "booleans.parquet": OK,
    "halves.parquet": OK,
    "unsigned.parquet": OK,
    "all_missing.csv": OK,
    "empty.csv": "empty.csv: the file is empty",
    "newlines.csv": "newlines.csv: expected a header line and rows",
    "header.csv": {"fit": "rows", "predict": OK, "calibrate": "no rows", "evaluate": "no rows"},
    "one_row.csv": {"fit": "at least 2", "predict": OK, "calibrate": OK, "evaluate": OK},
    "one_column.csv": {name: "one_column.csv: no columns 'b'" for name in ("predict", "calibrate", "evaluate")},
    "short_row.csv": "short_row.csv: row 1: expected 5 cells as in the header, found 2",
    "long_row.csv": "long_row.csv: row 61: expected 5 cells as in the header, found 7",
    "duplicate.csv": "duplicate.csv: duplicate column name 'a'",
    "nul.csv": "nul.csv: column 'a', row 3: ",
    "nul_name.csv": {"fit": OK, "predict": "no column 'a'", "calibrate": "no column 'a'", "evaluate": "no column 'a'"},
    "latin_name.csv": "'",
    "huge_cell.csv": "huge_cell.csv: a line is longer than 1048576 bytes",
    "huge_number.csv": "column 'a', row 3: '1111",
    "text.csv": "text.csv: column 'a', row 3: 'abc' is not a number",
    "text_prediction.csv": "text_prediction.csv: column 'p', row 3: 'abc' is not a number",
    "missing_outcome.csv": {name: "row 3: 'y' is missing" for name in ("fit", "calibrate", "evaluate")}
    | {"predict": OK},
    "nan_outcome.csv": {name: "row 3: 'y' is missing" for name in ("fit", "calibrate", "evaluate")} | {"predict": OK},
    "infinite_outcome.csv": {name: "row 3: 'y' is infinite" for name in ("fit", "calibrate", "evaluate")}
    | {"predict": OK},
    "missing_prediction.csv": {
        "fit": "row 3: 'p' is missing",
        "calibrate": "row 3: 'p' is missing",
        "predict": OK,
        "evaluate": OK,
    },
    "infinite_prediction.csv": {
        "fit": "row 3: 'p' is infinite",
        "calibrate": "row 3: 'p' is infinite",
        "predict": OK,
        "evaluate": OK,
    },
    "large_feature.csv": {"fit": "row 3: 'a' is 1e+39", "predict": OK, "calibrate": OK, "evaluate": OK},
    "infinite_feature.csv": {"fit": "row 3: 'a' is inf", "predict": OK, "calibrate": OK, "evaluate": OK},
    "large.parquet": {"fit": "row 1: 'a' is 1e+39", "predict": OK, "calibrate": OK, "evaluate": OK},
    "large_outcome.csv": OK,
    "too_large.csv": "too_large.csv: column 'a', row 3: '1e400'",
    "hex.csv": "hex.csv: column 'a', row 3: '0x10'",
    "question_marks.csv": "question_marks.csv: column 'a', row 3: '?' is not a number",
    "comma_decimal.csv": "comma_decimal.csv: row 1: expected 5 cells",
    "semicolons.csv": OK,
    "tabs.csv": OK,
    "unclear.csv": "the separator of the rows is not clear; give it with the option separator (--separator)",
    "semicolons_and_decimal_commas.csv": "decimal commas are not supported",
    "no_header.csv": "the first line holds numbers",
    "unclosed.csv": "unclosed.csv: the quote opened in line 22 is not closed",
    "unclosed_header.csv": "unclosed_header.csv: the quote opened in line 1 is not closed",
    "swallowed.csv": "swallowed.csv: the quote opened in line 6 is not closed",
    "garbage.csv": "garbage.csv: ",
    "garbage.parquet": "garbage.parquet: ",
    "garbage.csv.gz": "garbage.csv.gz: ",
    "cut.csv.gz": "cut.csv.gz: ",
    "empty.parquet": "empty.parquet: the file is empty",
    "magic.parquet": "magic.parquet: ",
    "cut.parquet": "cut.parquet: ",
    "csv.parquet": "csv.parquet: ",
    "parquet.csv": "parquet.csv: ",
    "no_row_groups.parquet": {"fit": "rows", "predict": OK, "calibrate": "no rows", "evaluate": "no rows"},
    "no_rows.parquet": {"fit": "rows", "predict": OK, "calibrate": "no rows", "evaluate": "no rows"},
    "no_columns.parquet": "no_columns.parquet: there are no columns",
    "duplicate.parquet": "duplicate.parquet: duplicate column name 'a'",
    "list.parquet": {"fit": OK} | {n: "column 'a' has type" for n in ("predict", "calibrate", "evaluate")},
    "struct.parquet": {"fit": OK} | {n: "column 'a' has type" for n in ("predict", "calibrate", "evaluate")},
    "decimal.parquet": OK,
    "date.parquet": {"fit": OK} | {n: "column 'a' has type" for n in ("predict", "calibrate", "evaluate")},
    "timestamp.parquet": {"fit": OK} | {n: "column 'a' has type" for n in ("predict", "calibrate", "evaluate")},
    "dictionary.parquet": {"fit": OK} | {n: "column 'a' has type" for n in ("predict", "calibrate", "evaluate")},
    "binary.parquet": {"fit": "is not UTF-8"}
    | {n: "column 'a' has type" for n in ("predict", "calibrate", "evaluate")},
    "nulls.parquet": OK,
    "missing.csv": "missing.csv: no such file",
    "folder.csv": "folder.csv: not a regular file",
    "loop.csv": "loop.csv: no such file",
    "dangling.csv": "dangling.csv: no such file",
    "pipe.csv": "pipe.csv: not a regular file",
    "device.csv": "device.csv: not a regular file",
}
# Invalid usage, whereas other files are invalid data: the name itself shows that the file cannot be read.
USAGE_TABLES = {
    "table.xlsx": "table.xlsx: unknown file name ending; expected .csv, .csv.gz, .parquet or .pq",
    "table": "table: unknown file name ending",
}


def table_cases():
    for files, code in ((TABLES, DATA), (USAGE_TABLES, USAGE)):
        for file, expected in files.items():
            for command, arguments in TABLE_COMMANDS.items():
                if isinstance(expected, dict) and command not in expected:
                    continue
                words = expected[command] if isinstance(expected, dict) else expected
                yield arguments.format(file), DONE if words is OK else code, words


# ---- models, given to every command that reads one

MODEL_COMMANDS = [
    "inspect {}",
    "predict {} good.csv -o OUT.csv",
    "calibrate {} more.csv -o OUT.safetensors",
    "evaluate {} more.csv",
    "merge {} good.shard -o OUT.safetensors",
    "track {} more.csv -o OUT.csv",
]
MODELS = {
    "none.safetensors": "not a model file: found an empty file",
    "zeros.safetensors": "not a model file: found other data",
    "seven.safetensors": "not a model file",
    "eight.safetensors": "truncated",
    "cut_in_header.safetensors": "truncated",
    "cut_after_header.safetensors": "damaged: expected ",
    "cut_in_arrays.safetensors": "damaged: expected ",
    "cut_by_one.safetensors": "damaged: expected ",
    "one_more.safetensors": "",
    "twice.safetensors": "",
    "flipped.safetensors": "damaged: checksum mismatch",
    "long_header.safetensors": "not a model file: found other data",
    "newer.safetensors": "format 99 is newer than this program",
    "json.safetensors": "not a model file: found text",
    "deep.safetensors": "not a model file",
    "stranger.safetensors": "not a model file: found a safetensors file of another program",
    "dtype.safetensors": "",
    "overlap.safetensors": "",
    "negative.safetensors": "not a safetensors file",
    "not_utf8.safetensors": "not a safetensors file",
    "part.safetensors": "not a model file: found a calibration shard",
    "text.safetensors": "not a model file: found text, such as a CSV table",
    "table.safetensors": "not a model file: found text, such as a CSV table",
    "parquet.safetensors": "not a model file: found a Parquet table",
    "pickle.safetensors": "not a model file: found a pickle",
    "missing.safetensors": "No such file",
    "folder.safetensors": "Is a directory",
    "loop.safetensors": "Too many levels of symbolic links",
    "device.safetensors": "",
}


def model_cases():
    for i, (file, words) in enumerate(MODELS.items()):
        # All commands load models with the same function, so two commands per file suffice.
        for arguments in (MODEL_COMMANDS[i % 6], MODEL_COMMANDS[(i + 3) % 6]):
            yield arguments.format(file), DATA, f"{file}: " if not words else words


# ---- options

NUMBERS = ["-1", "0", "nan", "inf", "1e400", "''", "abc", "18446744073709551616", "1.5", "0x10", "' 1'"]
# For each option: the values it accepts, and its command.
FIT = "fit good.csv --target y --prediction p --score-transform identity -o OUT.safetensors"
OPTIONS = {
    "--calibration-size": (FIT, {"0"}),
    "--seed": (FIT, {"0"}),
    "--threads": (FIT, {"0"}),
    "--folds": (
        "fit good.csv --target y --base trees --exclude p --score-transform identity -o OUT.safetensors",
        set(),
    ),
    "--guarantee": (FIT, set()),
    "--level": (FIT, set()),
    "--goal": ("fit good.csv --target y --prediction p -o OUT.safetensors", None),
    "--tolerance": ("plan", set()),
    "--rows": ("plan", {"0"}),
    "--confidence": ("plan --rows 100", set()),
    "--batch-size": ("track m.safetensors more.csv -o OUT.csv", set()),
    "--delay": ("track m.safetensors more.csv -o OUT.csv", {"0"}),
    "--window-rows": ("track m.safetensors more.csv -o OUT.csv", set()),
    "--step": ("track m.safetensors more.csv -o OUT.csv", {"1.5"}),
}


def option_cases():
    for option, (command, taken) in OPTIONS.items():
        if taken is None:
            continue
        for number in NUMBERS:
            code = DONE if number in taken else USAGE
            yield (
                f"{command} {option}={number}",
                code,
                None if code == DONE else option.lstrip("-").replace("-", "")[:4],
            )


# ---- everything else, case by case

CASES = [
    ("", USAGE, "command"),
    ("fitt", USAGE, "did you mean"),
    ("fit", USAGE, "TABLE"),
    ("fit good.csv", USAGE, "--target"),
    ("fit good.csv --target y", USAGE, "--output"),
    ("fit good.csv --target y -o OUT", USAGE, "--prediction COL"),
    ("fit good.csv --target y --prediction p --base trees -o OUT", USAGE, "give one of"),
    ("fit good.csv --target y --prediction p --cv-prediction p -o OUT", USAGE, "give one of"),
    ("fit good.csv --target y --cv-prediction p --calibration-size 0.5 -o OUT", USAGE, "--calibration-size"),
    ("fit good.csv --target z --prediction p -o OUT", USAGE, "good.csv: no column 'z'"),
    ("fit one_column.csv --target y --prediction p -o OUT", USAGE, "one_column.csv: no columns 'y' and 'p'"),
    ("fit good.csv --target '' --prediction p -o OUT", USAGE, "no column ''"),
    ("fit good.csv --target y --prediction q -o OUT", USAGE, "good.csv: no column 'q'"),
    ("fit good.csv --target y --prediction y -o OUT", USAGE, "name the same column"),
    ("fit good.csv --target city --prediction p -o OUT", DATA, "column 'city'"),
    ("fit good.csv --target y --prediction city -o OUT", DATA, "column 'city'"),
    ("fit good.csv --target y --prediction p --features city -o OUT", DONE, OK),
    ("fit good.csv --target y --prediction p --features y -o OUT", USAGE, "the target 'y' cannot be a feature"),
    ("fit good.csv --target y --prediction p --features p -o OUT", USAGE, "the prediction 'p' is always a feature"),
    ("fit good.csv --target y --prediction p --features ,,, -o OUT", USAGE, "no column ''"),
    ("fit good.csv --target y --prediction p --exclude a,b,city -o OUT", USAGE, "no column"),
    ("fit good.csv --target y --prediction p --exclude nothing -o OUT", USAGE, "no column 'nothing'"),
    ("fit good.csv --target y --prediction p --goal wide -o OUT", USAGE, "goal: 'wide'"),
    ("fit good.csv --target y --prediction p --goal 1.5 -o OUT", USAGE, "0 to 1"),
    ("fit good.csv --target y --prediction p --goal nan -o OUT", USAGE, "0 to 1"),
    ("fit good.csv --target y --prediction p --score-transform square -o OUT", USAGE, "--score-transform"),
    ("fit good.csv --target y --prediction p --score-transform affine --goal even -o OUT", USAGE, "affine"),
    ("fit good.csv --target y --base forest -o OUT", USAGE, "--base"),
    ("fit good.csv --target y --prediction p --localizer magic -o OUT", USAGE, "--localizer"),
    ("fit good.csv --target y --prediction p --symmetric --two-sided -o OUT", USAGE, "--two-sided"),
    ("fit good.csv --target y --prediction p --outcome-range 5,1 -o OUT", USAGE, "--outcome-range"),
    ("fit good.csv --target y --prediction p --outcome-range a,b -o OUT", USAGE, "--outcome-range"),
    ("fit good.csv --target y --prediction p --outcome-range nan,1 -o OUT", USAGE, "--outcome-range"),
    ("fit good.csv --target y --prediction p --outcome-range 1 -o OUT", USAGE, "--outcome-range"),
    ("fit good.csv --target y --prediction p --outcome-range 0,1 -o OUT", DATA, "outside the outcome range"),
    ("fit good.csv --target y --prediction p --level-window 0.9,0.8 -o OUT", USAGE, "window"),
    ("fit good.csv --target y --prediction p --level-window 0.9 -o OUT", USAGE, "--level-window"),
    ("fit good.csv --target y --prediction p --level 0.9,0.9 --score-transform identity -o OUT", DONE, OK),
    ("fit good.csv --target y --prediction p --level 0.95,0.5 --score-transform identity -o OUT", DONE, OK),
    ("fit good.csv --target y --prediction p --level 0.9, --score-transform identity -o OUT", USAGE, "--level"),
    ("fit good.csv --target y --prediction p --level 90 --score-transform identity -o OUT", USAGE, "--level"),
    ("fit good.csv --target y --prediction p --level 90% --score-transform identity -o OUT", USAGE, "--level"),
    ("fit good.csv --target y --prediction p --level 0,9 --score-transform identity -o OUT", USAGE, "--level"),
    (
        "fit good.parquet --target y --base trees --localizer net --tracker h:1 --rank 0 --world 2 -o OUT",
        USAGE,
        "--localizer net trains in one process",
    ),
    ("fit good.csv good.csv --target y --prediction p --score-transform identity -o OUT", DATA, "given twice"),
    (
        "fit good.csv one_column.csv --target y --prediction p --score-transform identity -o OUT",
        DATA,
        "one_column.csv: no",
    ),
    (
        "fit good.csv missing.csv --target y --prediction p --score-transform identity -o OUT",
        DATA,
        "missing.csv: no such file",
    ),
    ("fit good.csv --target y --prediction p --xgboost missing.so -o OUT", USAGE, "missing.so"),
    ("fit good.csv --target y --prediction p --xgboost good.csv -o OUT", USAGE, "good.csv"),
    (
        "fit constant.csv --target y --base trees --exclude p --score-transform identity -o OUT",
        DATA,
        "nothing to predict",
    ),
    ("fit tiny.csv --target y --prediction p --score-transform identity -o OUT", DATA, "too small for floating point"),
    ("fit large_outcome.csv --target y --base trees --exclude p -o OUT", DATA, "'y' is 1e+39"),
    ("fit header.csv --target y --base trees -o OUT", DATA, "rows"),
    # outputs
    (f"{FIT[:-15]} folder.csv", DATA, "folder.csv"),
    (f"{FIT[:-15]} no/such/folder.safetensors", DATA, "there is no folder no/such"),
    (f"{FIT[:-15]} good.csv", USAGE, "is the same file as good.csv"),
    (f"{FIT[:-15]} ./good.csv", USAGE, "is the same file as good.csv"),
    (f"{FIT[:-15]} ''", DATA, ""),
    (f"{FIT[:-15]} /dev/full", DATA, "/dev/full"),
    ("predict m.safetensors good.csv", USAGE, "--output"),
    ("predict m.safetensors good.csv -o good.csv", USAGE, "is the same file as good.csv"),
    ("predict m.safetensors good.csv -o m.safetensors", USAGE, "is the same file as m.safetensors"),
    ("predict m.safetensors good.csv -o OUT.txt", USAGE, "unknown file name ending"),
    ("predict m.safetensors good.csv -o folder.csv", DATA, "folder.csv"),
    ("predict m.safetensors good.csv -o no/such.csv", DATA, "no/such.csv"),
    ("predict m.safetensors good.csv -o ''", USAGE, ""),
    ("predict m.safetensors good.csv --level 1 -o OUT.csv", USAGE, "--level"),
    ("predict m.safetensors good.csv --level 0 -o OUT.csv", USAGE, "--level"),
    ("predict m.safetensors good.csv --level nan -o OUT.csv", USAGE, "--level"),
    ("predict m.safetensors good.csv --level 1e-400 -o OUT.csv", USAGE, "--level"),
    ("predict m.safetensors good.csv --level 0.99999 -o OUT.csv --json", DONE, OK),
    ("predict m.safetensors good.csv --columns z -o OUT.csv", USAGE, "no column 'z'"),
    ("predict m.safetensors good.csv --quantile 0.5,0.5 -o OUT.csv", DONE, OK),
    ("predict m.safetensors good.csv --quantile 1 -o OUT.csv", USAGE, "--quantile: '1' is not a number between"),
    ("predict m.safetensors good.csv --quantile '' -o OUT.csv", USAGE, "--quantile: '' is not a number between"),
    ("predict m.safetensors good.csv --separator '' -o OUT.csv", DONE, OK),
    ("predict m.safetensors good.csv --separator ä -o OUT.csv", USAGE, "--separator: 'ä' is not one character"),
    ("predict m.safetensors good.csv --separator '\"' -o OUT.csv", USAGE, "cannot separate cells"),
    ("predict m.safetensors good.csv --separator ';' -o OUT.csv", DATA, "no columns"),
    ("predict m.safetensors good.parquet --separator ';' -o OUT.csv", DONE, OK),
    ("predict m.safetensors question_marks.csv --missing '?' -o OUT.csv", DONE, OK),
    ("predict m.safetensors good.csv --missing ',,' -o OUT.csv", DONE, OK),
    ("fit question_marks.csv --target y --prediction p --exclude a --score-transform identity -o OUT", DONE, OK),
    ("fit semicolons_and_decimal_commas.csv --target y --prediction p -o OUT", DATA, "decimal commas"),
    ("predict m.safetensors good.csv --guarantee 2 -o OUT.csv", USAGE, "--guarantee"),
    ("predict m.safetensors tracked.csv -o OUT.csv", USAGE, "the table already has a column 'lower_0.9'"),
    ("predict m.safetensors list.parquet -o OUT.csv", DATA, "column 'a'"),
    ("predict trees.safetensors list.parquet -o OUT.csv", DATA, "column 'a'"),
    ("predict m.safetensors latin.csv -o OUT.parquet", DATA, "is not UTF-8"),
    ("predict m.safetensors latin_name.csv -o OUT.parquet", DATA, ""),
    ("predict m.safetensors", USAGE, "TABLE"),
    ("predict good.csv m.safetensors -o OUT.csv", DATA, "good.csv: not a model file: found text, such as a CSV table"),
    ("calibrate m.safetensors good.csv --key city -o OUT", DATA, "column 'city'"),
    ("calibrate m.safetensors good.csv --key a -o OUT", DATA, "column 'a', row 1"),
    ("calibrate m.safetensors good.csv --key z -o OUT", USAGE, "no column 'z'"),
    ("calibrate m.safetensors train.csv -o OUT", DATA, "used to fit the model"),
    ("calibrate m.safetensors good.csv --emit good.csv", USAGE, "is the same file as good.csv"),
    ("calibrate m.safetensors good.csv -o good.csv", USAGE, "is the same file as good.csv"),
    ("merge m.safetensors", USAGE, "SHARD"),
    ("merge m.safetensors good.csv -o OUT", DATA, "good.csv: "),
    ("merge m.safetensors m.safetensors -o OUT", DATA, "not a calibration shard: found a model"),
    ("merge m.safetensors missing.shard -o OUT", DATA, "missing.shard: "),
    ("merge m.safetensors folder.csv -o OUT", DATA, "folder.csv: "),
    ("merge m.safetensors good.shard good.shard -o OUT", DATA, "already in the calibration set"),
    ("merge trees.safetensors good.shard -o OUT", DATA, "scores of another model"),
    ("merge m.safetensors cut_by_one.safetensors -o OUT", DATA, "cut_by_one.safetensors: "),
    ("track m.safetensors good.csv", USAGE, "--output"),
    ("track m.safetensors good.csv --observe -o OUT.csv", USAGE, "--observe"),
    ("track m.safetensors good.csv --observe", USAGE, "--observe"),
    ("track m.safetensors good.csv -o OUT.csv --save OUT.csv", USAGE, "same file"),
    ("track m.safetensors good.csv -o OUT.csv --batch-size 5 --batch-by a", USAGE, "--batch-"),
    ("track m.safetensors good.csv -o OUT.csv --batch-by z", USAGE, "no column 'z'"),
    ("track m.safetensors good.csv -o OUT.csv --method magic", USAGE, "--method"),
    ("track tracked.safetensors good.csv -o OUT.csv --level 0.5", USAGE, "--level"),
    ("track tracked.safetensors more.csv -o OUT.csv", DATA, "already observed these rows"),
    ("track m.safetensors infinite_outcome.csv -o OUT.csv", DATA, "'y' is infinite"),
    ("evaluate m.safetensors good.csv --by z", USAGE, "no column 'z'"),
    ("report m.safetensors good.csv", USAGE, "--output"),
    ("report m.safetensors good.csv -o m.safetensors", USAGE, "same file"),
    ("report m.safetensors infinite_outcome.csv -o OUT.html", DATA, "'y' is infinite"),
    ("plan", USAGE, "expected exactly one of --tolerance and --rows"),
    ("plan --rows 10 --tolerance 0.1", USAGE, "--"),
    ("plan --rows 10 --level 0.9,2", USAGE, "--level"),
    ("plan --tolerance 1e-15", USAGE, "needs more than"),
    ("inspect", USAGE, "MODEL"),
    ("inspect m.safetensors m.safetensors", USAGE, ""),
    ("inspect m.safetensors --jsonn", USAGE, "--json"),
    ("completion fish", USAGE, ""),
    ("completion", USAGE, "SHELL"),
    ("inspect m.safetensors --json", DONE, OK),
    ("--version", DONE, OK),
    ("--help", DONE, OK),
]


def levels_case():
    levels = ",".join(f"0.{i}" for i in range(10_001, 11_002))
    return f"predict m.safetensors good.csv --level {levels} -o OUT.csv", USAGE, "at most 1000 values"


ALL = [*table_cases(), *model_cases(), *option_cases(), *CASES, levels_case()]


@pytest.mark.parametrize(("number", "arguments", "code", "words"), [(i, *case) for i, case in enumerate(ALL)])
def test_a_hostile_command_line_is_answered_or_refused_clearly(commands, number, arguments, code, words):
    before = set(os.listdir(commands.folder)) | set(os.listdir(commands.folder / "out"))
    words_of_it = [word.replace("OUT", f"out/{number}") for word in shlex.split(arguments)]
    outcome = commands(*words_of_it)
    if code == DONE:
        assert outcome.code == DONE, outcome
        return
    command = words_of_it[0] if words_of_it else ""
    assert_refused(outcome, command, code, words)
    assert set(os.listdir(commands.folder)) | set(os.listdir(commands.folder / "out")) == before, "a file was left"
