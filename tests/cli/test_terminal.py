"""Output on a terminal compared with a pipe, and the files left after Ctrl-C."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time

import pytest
from conftest import FIT, make_table, write


def run_on_terminal(program, arguments, interrupt_at=None, columns=80):
    """Run with stderr on a pseudo-terminal; return the exit code and the terminal output."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [program.path, *map(str, arguments)],
        cwd=program.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=follower,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(follower)
    drawn = b""
    try:
        while True:
            try:
                chunk = os.read(leader, 4096)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            drawn += chunk
            if interrupt_at is not None and interrupt_at in drawn:
                process.send_signal(signal.SIGINT)
                interrupt_at = None
        process.stdout.read()
        return process.wait(timeout=60), drawn.decode()
    finally:
        os.close(leader)
        process.stdout.close()


def test_a_terminal_gets_a_bar_that_is_gone_at_the_end(homes):
    code, drawn = run_on_terminal(homes, [*FIT, "--exclude", "city", "-o", "bar.safetensors"])
    assert code == 0
    assert "[" in drawn and "%" in drawn
    assert drawn.endswith("\r\x1b[K")
    lines = [line.removeprefix("\x1b[K") for line in drawn.split("\r")]
    assert max(map(len, lines)) < 80


BARS = {
    "split": (["--base", "trees"], ["reading", "base model, fold 1 of 5", "training trees"]),
    "cross": (
        ["--base", "trees", "--base-options", "rounds=20", "--calibration", "cross", "--folds", "4"],
        ["fold 1 of 4: base model", "fold 4 of 4: "],
    ),
    "given": (["--prediction", "forecast"], ["training trees"]),
}


@pytest.mark.parametrize("way, columns", [("split", 80), ("split", 60), ("cross", 80), ("given", 80)])
def test_a_fit_has_one_bar_over_all_its_steps(homes, way, columns):
    """The share of the whole never falls, and no line is cut at the end."""
    options, stages = BARS[way]
    fit = ["fit", "train.csv", "--target", "price", *options, "--exclude", "city", "-o", "one.safetensors"]
    code, drawn = run_on_terminal(homes, fit, columns=columns)
    assert code == 0
    lines = [line.removeprefix("\x1b[K") for line in drawn.split("\r") if "%" in line]
    assert max(map(len, lines)) < columns
    assert all(re.fullmatch(r".+  \[#*\.*\] \d+%(  [\d,.]+ rows/s)?(  [\d:]+ left)?", line) for line in lines), lines
    shares = [int(re.search(r"(\d+)%", line)[1]) for line in lines]
    assert shares == sorted(shares)
    if columns == 80:
        found = "\n".join(lines)
        assert [stage for stage in stages if stage not in found] == []


def test_rows_on_a_terminal_get_no_bar(homes):
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [homes.path, "predict", "homes.safetensors", "test.csv", "--columns", "a", "-o", "-"],
        cwd=homes.folder,
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while chunk := os.read(leader, 65536):
            shown += chunk
    os.close(leader)
    assert process.wait(timeout=60) == 0
    assert shown.startswith(b"a,lower_0.9,upper_0.9") and b"\x1b" not in shown
    assert shown.endswith(b"standard output: 4,000 rows, with lower_0.9 and upper_0.9.\r\n")


def test_a_pipe_gets_no_bar(homes):
    for arguments in (
        [*FIT, "--exclude", "city", "-o", "bar.safetensors"],
        ["predict", "homes.safetensors", "test.csv", "-o", "p.csv"],
    ):
        assert homes(*arguments).err == ""


def test_a_dumb_terminal_gets_no_bar(homes):
    leader, follower = pty.openpty()
    subprocess.run(
        [homes.path, "predict", "homes.safetensors", "test.csv", "-o", "dumb.csv"],
        cwd=homes.folder,
        stderr=follower,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "TERM": "dumb"},
        check=True,
    )
    os.close(follower)
    with pytest.raises(OSError):  # nothing was written
        os.read(leader, 1)
    os.close(leader)


@pytest.fixture(scope="module")
def large(tables):
    """A table that takes some time to process."""
    write(make_table(400_000, 10), tables / "large.csv")
    return "large.csv"


@pytest.mark.parametrize("command", ["fit", "predict", "calibrate"])
def test_ctrl_c_ends_with_130_and_leaves_nothing_behind(homes, large, command):
    arguments = {
        "fit": ["fit", large, "--target", "price", "--prediction", "forecast", "-o", "stopped.safetensors"],
        "predict": ["predict", "homes.safetensors", large, "-o", "stopped.csv"],
        "calibrate": ["calibrate", "homes.safetensors", large, "-o", "stopped.safetensors"],
    }[command]
    before = set(os.listdir(homes.folder))
    code, drawn = run_on_terminal(homes, arguments, interrupt_at=b"%")
    assert code == 130, drawn
    assert set(os.listdir(homes.folder)) == before
    assert drawn.rstrip().endswith(f"widthwise {command}: interrupted")


def test_the_bar_is_drawn_at_most_ten_times_a_second(homes, large):
    started = time.monotonic()
    code, drawn = run_on_terminal(homes, ["predict", "homes.safetensors", large, "-o", "rate.csv"])
    seconds = time.monotonic() - started
    assert code == 0
    assert drawn.count("\r") <= 10 * seconds + 2


def test_names_and_notes_of_a_model_reach_the_terminal_cleaned(widthwise):
    target, feature = "price\x1b[31m\nfake line", "\u202ea\u009b2J größe"
    table = make_table(400, 5).select(["a", "b", "forecast", "price"])
    write(table.rename_columns([feature, "b", "forecast", target]), widthwise.folder / "red\x1b[31m.csv")
    fit = ["fit", "red\x1b[31m.csv", "--target", target, "--prediction", "forecast", "--score-transform", "identity"]
    shown = [
        widthwise(*fit, "-o", "odd.safetensors"),
        widthwise("inspect", "odd.safetensors"),
        widthwise("predict", "odd.safetensors", "red\x1b[31m.csv", "-o", "red\x1b[31m.out.csv"),
        widthwise("evaluate", "odd.safetensors", "red\x1b[31m.csv"),
        widthwise("calibrate", "odd.safetensors", "red\x1b[31m.csv"),
        widthwise("predict", "odd.safetensors", "\x1b[31m.csv", "-o", "x.csv"),
    ]
    assert [outcome.code for outcome in shown] == [0, 0, 0, 0, 1, 1]
    for outcome in shown:
        text = outcome.out + outcome.err
        assert not set(text) & {"\x1b", "\u202e", "\u009b"}, text
        assert "\nfake line" not in text
    assert "größe" in shown[1].out
    # JSON keeps the exact values and escapes control characters.
    described = widthwise.ok("inspect", "odd.safetensors", "--json")
    assert described.json["target"] == target
    assert described.json["features"] == [feature, "b"]
    assert not set(described.out) & {"\x1b", "\u202e", "\u009b"}
