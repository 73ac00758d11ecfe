"""Completion scripts are accepted by the shells and complete commands and options."""

import shutil
import subprocess

import pytest
from conftest import COMMANDS


def complete(widthwise, *words, folder=None):
    """The completions that bash offers for the last word."""
    script = """
source <("$1" completion bash); shift
COMP_WORDS=(widthwise "$@"); COMP_CWORD=$#
compopt() { :; }  # bash allows it only while it completes
_widthwise
printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", widthwise.path, *words],
        cwd=folder or widthwise.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_shell_accepts_its_script(widthwise, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    script = widthwise.ok("completion", shell).out
    subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_commands_are_completed(widthwise):
    assert set(COMMANDS) | {"--help", "-h", "--version"} == complete(widthwise, "")
    assert complete(widthwise, "ca") == {"calibrate"}


def test_options_of_a_command_are_completed(widthwise):
    assert complete(widthwise, "fit", "--cal") == {"--calibration", "--calibration-size"}
    assert {"--tolerance", "--rows", "--level"} <= complete(widthwise, "plan", "--")


def test_every_option_in_help_is_completed(widthwise):
    for command in COMMANDS:
        offered = complete(widthwise, command, "-")
        for line in widthwise.ok(command, "--help").out.splitlines():
            if line.startswith("  -"):
                for word in line[:28].split():
                    if word.startswith("-"):
                        assert word.rstrip(",") in offered


def test_values_of_an_option_are_completed(widthwise):
    assert complete(widthwise, "fit", "--base", "") == {"none", "trees", "quantiles"}
    assert complete(widthwise, "fit", "--goal", "") == {"auto", "balanced", "even", "narrow"}
    assert complete(widthwise, "fit", "--localizer", "paper") == {"paper-net"}
    assert complete(widthwise, "completion", "") == {"bash", "zsh"}
    assert complete(widthwise, "plan", "--rows", "") == set()


def test_files_are_completed(widthwise):
    (widthwise.folder / "homes.csv").touch()
    assert complete(widthwise, "fit", "ho") == {"homes.csv"}
    assert complete(widthwise, "predict", "m", "t", "-o", "ho") == {"homes.csv"}
