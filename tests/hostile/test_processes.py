"""Processes stopped at any moment, and several writing one file: files are complete, either old or new."""

import os
import random
import shutil
import signal
import subprocess
import time

import inputs
import pytest
from conftest import FULL, Commands
from pyarrow import csv

MOMENTS = 40 if FULL else 2  # moments at which each command is stopped, per signal
COMMANDS = {
    "fit": "fit large.csv --target y --prediction p --score-transform identity -o out.safetensors",
    "calibrate": "calibrate m.safetensors large.csv",
    "merge": "merge m.safetensors large.shard",
    "predict": "predict m.safetensors large.csv -o out.csv",
    "track": "track m.safetensors large.csv -o out.csv --save m.safetensors",
    "evaluate": "evaluate m.safetensors large.csv",
    "report": "report m.safetensors large.csv -o out.html",
    "inspect": "inspect m.safetensors",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder of inputs, a function to run commands there, and the duration of each command."""
    folder = tmp_path_factory.mktemp("files")
    run = Commands(folder, tmp_path_factory.mktemp("transcript"))
    for name, rows in (("train.csv", 200), ("large.csv", 20_000)):
        csv.write_csv(inputs.good_table(rows, seed=rows).drop_columns(["city"]), folder / name)
    for arguments in (
        "fit train.csv --target y --prediction p --score-transform identity -o m.safetensors",
        "calibrate m.safetensors large.csv --emit large.shard",
    ):
        assert run(*arguments.split()).code == 0
    yield folder, run
    run.close()


def start(run, folder, arguments):
    return subprocess.Popen(
        [run.program, *arguments.split()], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def rows_in(file):
    return sum(1 for _ in file.open()) - 1


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_stopped_command_leaves_whole_files_and_nothing_else(files, tmp_path, command, stop):
    source, run = files
    moments = random.Random(f"{command} {stop}")
    seconds = 0.5  # until the first run has measured the duration of the command
    for _ in range(MOMENTS + 1):
        for file in source.iterdir():
            shutil.copy(file, tmp_path)
        before = set(os.listdir(tmp_path))
        process = start(run, tmp_path, COMMANDS[command])
        began = time.monotonic()
        try:
            _, err = process.communicate(timeout=moments.uniform(0, seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(stop)
            _, err = process.communicate(timeout=120)
        seconds = min(seconds, time.monotonic() - began + 0.01)
        # Finished before the signal; stopped; or ended by the system before the program had set up its handlers.
        assert process.returncode in (0, 128 + stop, -stop), err
        if process.returncode == 128 + stop:
            assert err == f"widthwise {command}: interrupted\n"
        written = set(os.listdir(tmp_path)) - before
        assert written <= {"out.safetensors", "out.csv", "out.html"}, written
        for name in written | {"m.safetensors"}:
            if name.endswith(".csv"):
                assert rows_in(tmp_path / name) == 20_000
            elif name.endswith(".html"):
                assert (tmp_path / name).read_text().rstrip().endswith("</html>")
            else:
                shutil.copy(tmp_path / name, source / "checked.safetensors")
                assert run("inspect", "checked.safetensors").code == 0
                (source / "checked.safetensors").unlink()
        for name in written:
            (tmp_path / name).unlink()


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_two_processes_that_write_one_file_leave_one_whole_file(files, tmp_path, command):
    source, run = files
    output = "out.csv" if command == "predict" else "out.safetensors"
    for _ in range(10 if FULL else 1):
        for file in source.iterdir():
            shutil.copy(file, tmp_path)
        before = set(os.listdir(tmp_path))
        processes = [start(run, tmp_path, COMMANDS[command]) for _ in range(2)]
        for process in processes:
            _, err = process.communicate(timeout=300)
            assert (process.returncode, err) == (0, "")
        assert set(os.listdir(tmp_path)) - before == {output}
        if command == "predict":
            assert rows_in(tmp_path / output) == 20_000
        else:
            shutil.copy(tmp_path / output, source / "checked.safetensors")
            assert run("inspect", "checked.safetensors").code == 0
            (source / "checked.safetensors").unlink()
        (tmp_path / output).unlink()


@pytest.mark.parametrize(
    "arguments", ["inspect m.safetensors", "inspect m.safetensors --json", "--help", "plan --rows 9"]
)
def test_a_full_standard_output_is_an_error(files, arguments):
    folder, run = files
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [run.program, *arguments.split()], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 1
    assert (
        done.stderr.endswith("standard output: cannot be written: No space left on device\n")
        and done.stderr.count("\n") == 1
    )
