"""Tables on standard input and standard output."""

import gzip
import subprocess

import pytest
from conftest import FIT, Outcome, Program

PREDICT = ["predict", "trees.safetensors"]


def piped(program, arguments, content):
    """Run with these bytes on standard input; the output is bytes."""
    done = subprocess.run(
        [program.path, *arguments], cwd=program.folder, input=content, capture_output=True, timeout=300, check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr.decode())


@pytest.fixture(scope="module")
def intervals(tables):
    """The table that predict writes to a file, to compare with."""
    Program(tables).ok(*PREDICT, "test.csv", "-o", "expected.csv")
    return (tables / "expected.csv").read_bytes()


@pytest.mark.parametrize("form", ["csv", "gzip", "parquet"])
def test_tables_are_read_from_standard_input_and_written_to_standard_output(homes, intervals, form):
    table = "test.parquet" if form == "parquet" else "test.csv"
    content = (homes.folder / table).read_bytes()
    if form == "parquet":
        homes.ok(*PREDICT, table, "-o", "from_parquet.csv")
        intervals = (homes.folder / "from_parquet.csv").read_bytes()
    done = piped(homes, [*PREDICT, "-", "-o", "-"], gzip.compress(content) if form == "gzip" else content)
    assert (done.code, done.out) == (0, intervals)
    assert done.err == "standard output: 4,000 rows, with prediction, lower_0.9 and upper_0.9.\n"


def test_results_go_to_stderr_when_rows_go_to_standard_output(homes, intervals):
    done = piped(homes, [*PREDICT, "test.csv", "-o", "-", "--json"], b"")
    assert done.out == intervals
    assert '"rows": 4000' in done.err
    tracked = piped(homes, ["track", "trees.safetensors", "test.csv", "-o", "-"], b"")
    assert tracked.out.count(b"\n") == 4001 and "standard output: 4,000 rows" in tracked.err


def test_standard_input_is_the_same_table_as_its_file(homes, tmp_path):
    """Models are equal to the byte, and rows are recognised."""
    train, fresh = ((homes.folder / name).read_bytes() for name in ("train.csv", "fresh.csv"))
    once, again = tmp_path / "once.safetensors", tmp_path / "again.safetensors"
    fit = [*FIT[2:], "--score-transform", "identity", "--exclude", "city", "-o"]
    homes.ok("fit", "train.csv", *fit, once)
    assert piped(homes, ["fit", "-", *fit, again], train).code == 0
    assert once.read_bytes() == again.read_bytes()
    assert piped(homes, ["calibrate", once, "-"], fresh).code == 0
    homes.ok("calibrate", again, "fresh.csv")
    assert once.read_bytes() == again.read_bytes()
    refused = piped(homes, ["calibrate", once, "-"], fresh)
    assert refused.code == 1 and "standard input: 100% of these rows are already" in refused.err
    evaluated = piped(homes, ["evaluate", once, "-"], (homes.folder / "test.csv").read_bytes())
    assert evaluated.out.startswith(b"standard input: 4,000 rows")


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "standard input: the file is empty"),
        (b"\x1f\x8b damaged", "standard input: "),
        (b"PAR1 damaged", "standard input: "),
        (b"a,b\n1\n", "standard input: row 1: expected 2 cells as in the header, found 1"),
        (b'a,b\n1,"x\n', "standard input: the quote opened in line 2 is not closed"),
        (b"a\n1\n", "standard input: no columns 'b', 'rooms' and 'forecast', which the model needs"),
    ],
)
def test_errors_name_standard_input(homes, content, message):
    done = piped(homes, [*PREDICT, "-", "-o", "x.csv"], content)
    assert done.code == 1 and done.err.startswith(f"widthwise predict: {message}"), done.err
    assert done.err.count("\n") == 1 and "/proc" not in done.err


def test_standard_input_is_one_table(homes):
    train = (homes.folder / "train.csv").read_bytes()
    twice = piped(homes, ["fit", "-", "-", *FIT[2:], "-o", "x.safetensors"], train)
    assert twice.code == 1 and "standard input: the table is given twice" in twice.err


def test_a_closed_pipe_ends_a_prediction_quietly(homes):
    """More rows than a pipe holds."""
    command = 'set -o pipefail; "$0" predict trees.safetensors test.csv -o - | head -1'
    done = subprocess.run(["bash", "-c", command, homes.path], cwd=homes.folder, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (141, b"")
    assert done.stdout.startswith(b"a,b,rooms") and done.stdout.count(b"\n") == 1


def test_a_full_disk_behind_standard_output_is_an_error(homes):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run(
            [homes.path, *PREDICT, "test.csv", "-o", "-"], cwd=homes.folder, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 1
    assert done.stderr == b"widthwise predict: standard output: cannot be written: No space left on device\n"


def test_closed_streams_are_errors(homes):
    """Files that are opened do not take their numbers."""
    for arguments, closed, message in [
        (
            "predict trees.safetensors test.csv -o -",
            ">&-",
            "predict: standard output: cannot be written: Bad file descriptor",
        ),
        (
            "predict trees.safetensors - -o closed.csv",
            "<&-",
            "predict: standard input: cannot be read: Bad file descriptor",
        ),
        ("inspect trees.safetensors", ">&-", "inspect: standard output: cannot be written: Bad file descriptor"),
    ]:
        command = f'"$0" {arguments} {closed}'
        done = subprocess.run(
            ["bash", "-c", command, homes.path], cwd=homes.folder, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (1, f"widthwise {message}\n")


def test_no_copy_of_standard_input_is_left(homes, tmp_path):
    content = (homes.folder / "test.csv").read_bytes()
    done = subprocess.run(
        [homes.path, *PREDICT, "-", "-o", "copied.csv"],
        cwd=homes.folder,
        input=content,
        capture_output=True,
        env={"TMPDIR": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0 and not list(tmp_path.iterdir())
    done = subprocess.run(
        [homes.path, *PREDICT, "-", "-o", "copied.csv"],
        cwd=homes.folder,
        input=content,
        capture_output=True,
        env={"TMPDIR": str(tmp_path / "nosuch")},
        check=False,
    )
    assert done.returncode == 1 and b"standard input: cannot be copied to " in done.stderr
