"""Help, version, and invalid arguments."""

import shlex

import pytest
from conftest import COMMANDS


def examples(text):
    """The command lines in the Example section of a help text."""
    lines = text.split("Example:\n")[1].replace(" \\\n", "").splitlines()
    return [shlex.split(line) for line in lines if line.startswith("  widthwise ")]


def test_the_command_help_prints_the_help_of_a_command(widthwise):
    assert widthwise.ok("help").out == widthwise.ok("--help").out
    for command in COMMANDS:
        assert widthwise.ok("help", command).out == widthwise.ok(command, "--help").out
    message = widthwise.fails(2, "help", "fti")
    assert message.startswith("widthwise help: COMMAND: 'fti' is not one of fit, calibrate, ")
    assert message.endswith("; did you mean 'fit'?")


def test_version(widthwise):
    assert widthwise.ok("--version").out.startswith("widthwise 0.")


def test_help_lists_every_command_and_the_exit_codes(widthwise):
    text = widthwise("--help", environment={"COLUMNS": ""}).out
    assert max(map(len, text.splitlines())) <= 80
    for command in COMMANDS:
        assert f"\n  {command} " in text
    for code in ["0 ", "1 ", "2 ", "3 ", "130 ", "141 ", "143 "]:
        assert f"\n  {code}" in text.split("Exit codes:")[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_begins_with_its_purpose_and_fits_a_terminal(widthwise, command):
    text = widthwise(command, "--help", environment={"COLUMNS": ""}).out
    assert text.split("\n\n")[0].endswith(".")
    assert f"Usage: widthwise {command}" in text
    assert max(map(len, text.splitlines())) <= 80
    for columns in (60, 100):
        other = widthwise("help", command, environment={"COLUMNS": str(columns)}).out
        assert other.replace("\\", "").split() == text.replace("\\", "").split()  # the same words
        prose = other.split("\nExample:")[0]
        assert [line for line in prose.splitlines() if len(line) > columns and len(line.split()) > 2] == []
    assert "TEXT" not in text and "\n\n\n" not in text


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_examples_in_help_parse(widthwise, command):
    found = examples(widthwise.ok(*([command] if command else []), "--help").out)
    assert found
    for example in found:
        # The files do not exist, which is checked only after the arguments are parsed.
        outcome = widthwise(*example[1:])
        assert outcome.code in (0, 1) or "this build" in outcome.err, outcome


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "widthwise: no command given; see 'widthwise --help'"),
        (["fti"], "widthwise: unknown command 'fti'; did you mean 'fit'?"),
        (["xyzzy"], "widthwise: unknown command 'xyzzy'; see 'widthwise --help'"),
        (["--jason"], "widthwise: unknown option '--jason'; see 'widthwise --help'"),
        (["fit", "t.csv", "--tarket", "y"], "widthwise fit: unknown option '--tarket'; did you mean '--target'?"),
        (
            ["plan", "--tolerance=0.1", "--levle=0.9"],
            "widthwise plan: unknown option '--levle'; did you mean '--level'?",
        ),
        (["inspect", "a", "b"], "widthwise inspect: unexpected argument 'b'; see 'widthwise inspect --help'"),
        (["inspect"], "widthwise inspect: MODEL is required; see 'widthwise inspect --help'"),
        (["predict", "m", "t"], "widthwise predict: --output is required; see 'widthwise predict --help'"),
        (["completion", "bsh"], "widthwise completion: SHELL: 'bsh' is not one of bash and zsh; did you mean 'bash'?"),
        (["plan"], "widthwise plan: expected exactly one of --tolerance and --rows"),
        (
            ["plan", "--rows", "9", "--tolerance", "0.1"],
            "widthwise plan: expected exactly one of --tolerance and --rows",
        ),
        (
            ["plan", "--rows", "9", "--level", "90"],
            "widthwise plan: --level: '90' is not a number between 0 and 1, such as 0.9; did you mean 0.9?",
        ),
        (
            ["plan", "--rows", "9", "--level", "0.8,99.5%"],
            "widthwise plan: --level: '99.5%' is not a number between 0 and 1, such as 0.9; did you mean 0.995?",
        ),
        (
            [
                "fit",
                "t.csv",
                "--target",
                "y",
                "--base",
                "trees",
                "--base-options",
                "rounds=20",
                "--level",
                "0.8,95",
                "-o",
                "m.safetensors",
            ],
            "widthwise fit: --level: '0.8,95' is invalid; expected 1 to 1000 numbers between 0 and 1, such as 0.9 or "
            "0.8,0.95; did you mean 0.95?",
        ),
        (
            [
                "fit",
                "t.csv",
                "--target",
                "y",
                "--base",
                "trees",
                "--base-options",
                "rounds=20",
                "--guarantee",
                "95",
                "-o",
                "m.safetensors",
            ],
            "widthwise fit: --guarantee: '95' is invalid; expected marginal, or a confidence strictly between 0 and 1, "
            "such as 0.95; did you mean 0.95?",
        ),
    ],
)
def test_bad_usage_is_one_line_that_helps(widthwise, arguments, message):
    assert widthwise.fails(2, *arguments) == message


@pytest.mark.parametrize("ignored", [True, False])
def test_a_closed_pipe_ends_the_program_quietly(widthwise, ignored):
    """Whether the parent ignores SIGPIPE, as services do, or not, as shells do."""
    import os
    import subprocess

    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [widthwise.path, "--help"], stdout=writer, stderr=subprocess.PIPE, restore_signals=not ignored, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_symmetric_is_the_opposite_of_two_sided_and_one_sided_is_a_word_for_bounds(widthwise):
    text = widthwise.ok("fit", "--help").out
    assert "--symmetric" in text and "--two-sided" in text and "one-sided" not in text
    call = ["fit", "t.csv", "--target", "y", "--base", "trees", "-o", "m.safetensors"]
    assert "--one-sided" in widthwise.fails(2, *call, "--one-sided")
    assert "--two-sided" in widthwise.fails(2, *call, "--symmetric", "--two-sided")
    assert "one-sided bound" in " ".join(widthwise.ok("predict", "--help").out.split())
