"""Workers that die, never connect, or have the wrong rows: a timely error, no partial model, a way to resume."""

import random
import signal
import socket
import subprocess
import threading
import time

import pyarrow as pa
import pytest
from programs import free_address, worker_options
from pyarrow import csv, parquet
from workers import FULL, fit_words, write_table

KILLS = 25 if FULL else 2  # for each goal
LOST = 3  # the exit code
TIMEOUT = 10  # seconds; a worker that dies while the workers connect is noticed only then


class Fit:
    """A fit with two workers, one per rank."""

    def __init__(self, tables, output, *, world=2, timeout=TIMEOUT, options=()):
        self.world = world
        self.address = free_address()
        own = isinstance(tables, list)

        def start(rank):
            rows = [tables[rank], "--own-tables"] if own else [tables]
            words = fit_words(*rows, *worker_options(rank, world, self.address, timeout), "-o", output, *options)
            return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        self.processes = [start(rank) for rank in range(world)]

    def end(self, timeout=120):
        """Exit codes and error messages, by rank."""
        try:
            errors = [process.communicate(timeout=timeout)[1] for process in self.processes]
        finally:
            for process in self.processes:
                process.kill()
        return [process.returncode for process in self.processes], errors


@pytest.mark.parametrize("goal", ["even", "narrow"])
def test_a_killed_worker_stops_the_others_and_the_same_command_resumes(goal, tmp_path):
    table = write_table(tmp_path / "rows.parquet", 20_000)
    options = ("--goal", goal)
    undisturbed = tmp_path / "undisturbed"
    started = time.monotonic()
    assert Fit(table, undisturbed, options=options).end()[0] == [0, 0]
    duration = time.monotonic() - started
    model, checkpoint = tmp_path / "model", tmp_path / "model.checkpoint"
    draw = random.Random(4)
    resumed = 0
    kill = 0
    while kill < KILLS or (resumed == 0 and kill < 10 * KILLS):
        fit = Fit(table, model, options=options)
        kill += 1
        if kill % 2 == 0:
            while not checkpoint.exists() and fit.processes[0].poll() is None:
                time.sleep(0.001)
            if resumed:  # no delay for the first, because a fit ends soon after its checkpoint
                time.sleep(duration * draw.uniform(0, 0.4))
        else:
            time.sleep(duration * draw.uniform(0.05, 0.95))
        victim = draw.randrange(2)
        fit.processes[victim].send_signal(signal.SIGKILL)
        before = time.monotonic()
        codes, errors = fit.end()
        if codes[victim] == 0:  # it had already finished
            assert model.read_bytes() == undisturbed.read_bytes()
            model.unlink()
            continue
        assert codes[victim] == -signal.SIGKILL
        other = 1 - victim
        if codes[other] != 0:
            assert codes[other] == LOST, errors[other]
            assert "worker" in errors[other] and errors[other].count("\n") == 1, errors[other]
            assert time.monotonic() - before < TIMEOUT + 10
        assert not model.exists() or model.read_bytes() == undisturbed.read_bytes(), "a model is whole or not there"
        resumed += checkpoint.exists()
        codes, errors = Fit(table, model, options=options).end()
        assert codes == [0, 0], errors
        assert model.read_bytes() == undisturbed.read_bytes(), f"kill {kill}: another model after the restart"
        assert not checkpoint.exists()
        model.unlink()
    print(f"\n{kill} kills, {resumed} of them after a first checkpoint")
    assert resumed > 0


def test_a_damaged_checkpoint_is_named_to_be_deleted(table, tmp_path):
    checkpoint = tmp_path / "model.checkpoint"
    checkpoint.write_bytes(b"\x10\0\0\0\0\0\0\0half of a header")
    codes, errors = Fit(table, tmp_path / "model").end()
    assert codes == [1, 1], errors
    for error in errors:
        assert f"{checkpoint}: not a safetensors file" in error
        assert "delete this file and rerun the same command to train from the start" in error
    assert checkpoint.exists() and not (tmp_path / "model").exists()


def test_a_shard_without_rows_is_an_error_on_all(table, tmp_path):
    empty = tmp_path / "empty.parquet"
    parquet.write_table(parquet.read_table(table).slice(0, 0), empty)
    codes, errors = Fit([table, empty], tmp_path / "model").end()
    assert codes == [1, 1]
    for error in errors:
        assert error == "widthwise fit: worker 1 has no rows; use fewer workers\n"


def test_a_shard_with_other_columns_is_an_error_on_all(table, tmp_path):
    other = tmp_path / "other.parquet"
    rows = parquet.read_table(table)
    parquet.write_table(rows.rename_columns(["a", "b", "d", "f", "y"]), other)
    codes, errors = Fit([table, other], tmp_path / "model").end()
    assert codes == [1, 1]
    for error in errors:
        assert "worker 1 has other columns than worker 0: a, b, d, target y" in error


def test_a_file_that_one_worker_cannot_read_is_an_error_on_all(table, tmp_path):
    codes, errors = Fit([table, tmp_path / "missing.parquet"], tmp_path / "model").end()
    assert codes == [1, 1]
    assert "worker 1: " in errors[0] and "missing.parquet: no such file" in errors[0]
    assert "missing.parquet: no such file" in errors[1]


def test_a_constant_shard_is_fitted_with_the_others(table, tmp_path):
    constant = tmp_path / "constant.parquet"
    columns = {"a": 1.0, "b": 2.0, "c": 3.0, "f": 3.0, "y": 3.5}
    parquet.write_table(pa.table({name: [value] * 300 for name, value in columns.items()}), constant)
    codes, errors = Fit([table, constant], tmp_path / "model", options=("--goal", "0.85")).end()
    assert codes == [0, 0], errors


def test_a_worker_that_never_comes_is_an_error_in_time(table, tmp_path):
    fit = Fit(table, tmp_path / "model", timeout=3)
    fit.processes[1].kill()
    started = time.monotonic()
    codes, errors = fit.end()
    assert time.monotonic() - started < 30
    assert codes[0] == LOST
    assert "widthwise fit: worker 0 of 2: " in errors[0]


@pytest.mark.parametrize("kind", ["nobody", "silent"])
def test_a_tracker_that_never_answers_is_an_error_in_time(kind, table, tmp_path):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if kind == "silent":
            listener.listen()
            threading.Thread(target=lambda: [listener.accept() for _ in range(2)], daemon=True).start()
        team = ["--tracker", f"127.0.0.1:{listener.getsockname()[1]}", "--rank", 1, "--world", 2, "--timeout", 3]
        words = fit_words(table, *team, "--private-network", "-o", tmp_path / "model")
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == LOST
    assert done.stderr.startswith("widthwise fit: worker 1 of 2: ")
    assert done.stderr.count("\n") == 1


def two(address="127.0.0.1:9091", rank=0):
    return ["--tracker", address, "--rank", str(rank), "--world", "2"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([*two(), "--localizer", "net"], "--localizer net trains in one process"),
        ([*two("nowhere"), "--private-network"], "--tracker: 'nowhere' does not have the form HOST:PORT"),
        ([*two(rank=2), "--private-network"], "--rank: 2 is out of range for 2 workers"),
        (two(), "add --private-network if only trusted programs can reach their ports"),
        (["--rank", "1"], "--rank requires --tracker"),
    ],
)
def test_invalid_worker_options_are_refused_at_once(options, complaint, table, tmp_path):
    words = fit_words(table, *options, "-o", tmp_path / "model")
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    ("world", "options", "complaint"),
    [
        (3, (), "3 workers but 2 row groups to read; use fewer workers"),
        (2, ("--score-transform", "mixture"), "the transform mixture needs all rows in one process"),
    ],
)
def test_what_workers_cannot_do_together_is_an_error_on_all(world, options, complaint, tmp_path):
    table = write_table(tmp_path / "rows.parquet", 500)
    codes, errors = Fit(table, tmp_path / "model", world=world, options=options).end()
    assert codes == [2] * world, errors
    for error in errors:
        assert complaint in error
        assert error.count("\n") == 1, error


def test_csv_files_have_no_row_groups_to_share(tmp_path):
    file = write_table(tmp_path / "rows.parquet", 100)
    csv.write_csv(parquet.read_table(file), tmp_path / "rows.csv")
    codes, errors = Fit(tmp_path / "rows.csv", tmp_path / "model").end()
    assert codes == [2, 2], errors
    for error in errors:
        assert "rows.csv: not a Parquet file; several workers share the row groups of Parquet files" in error
