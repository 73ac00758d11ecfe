"""Output files: permissions, links, pipes, and leftovers of killed programs."""

import contextlib
import fcntl
import io
import os
import resource
import shutil
import signal
import stat
import subprocess
import time

import pytest
from conftest import Program, make_table, read, write
from pyarrow import csv

DATA = 1


def mode(file):
    return stat.S_IMODE(file.stat().st_mode)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_a_table_keeps_its_permissions(homes, name):
    file = homes.folder / name
    file.write_text("old")
    file.chmod(0o600)
    homes.ok("predict", "trees.safetensors", "test.csv", "-o", name)
    assert mode(file) == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize(
    "command", ["predict trees.safetensors test.csv -o", "calibrate trees.safetensors fresh.csv -o"]
)
def test_root_leaves_a_file_to_its_owner(homes, command):
    file = homes.folder / ("owned.csv" if "predict" in command else "owned.safetensors")
    file.write_text("old")
    file.chmod(0o640)
    os.chown(file, 54321, 54322)
    homes.ok(*command.split(), file.name)
    found = file.stat()
    assert (found.st_uid, found.st_gid, mode(file)) == (54321, 54322, 0o640)


def test_a_link_stays_and_its_target_is_replaced(homes):
    target, link = homes.folder / "real.csv", homes.folder / "link.csv"
    target.write_text("old")
    link.symlink_to("real.csv")
    homes.ok("predict", "trees.safetensors", "test.csv", "-o", "link.csv")
    assert link.is_symlink() and not target.is_symlink()
    assert "upper_0.9" in read(target).column_names


def test_pipes_and_devices_are_no_output(homes):
    os.mkfifo(homes.folder / "pipe.csv")
    message = homes.fails(DATA, "predict", "trees.safetensors", "test.csv", "-o", "pipe.csv")
    assert message.endswith("pipe.csv: cannot be written: not a regular file")
    assert (homes.folder / "pipe.csv").is_fifo()


def test_pipes_and_devices_are_no_model(homes):
    """The program neither waits for a writer nor reads an endless device."""
    pipe = homes.folder / "pipe.safetensors"
    os.mkfifo(pipe)
    message = homes.fails(DATA, "inspect", "pipe.safetensors")
    assert message.endswith("pipe.safetensors: cannot be read: not a regular file")
    with subprocess.Popen(["sh", "-c", 'exec yes > "$0"', pipe], stderr=subprocess.DEVNULL) as writer:
        assert "not a regular file" in homes.fails(DATA, "predict", "pipe.safetensors", "test.csv", "-o", "x.csv")
        writer.kill()
    assert "not a regular file" in homes.fails(DATA, "inspect", "/dev/zero")


def test_temporary_files_of_killed_programs_are_deleted(homes):
    left = homes.folder / ".out.csv.0123456789abcdef.tmp"
    left.write_text("half")
    os.utime(left, (time.time() - 3600,) * 2)
    homes.ok("predict", "trees.safetensors", "test.csv", "-o", "out.csv")
    assert not left.exists()


def full_disk():
    """A limit on the file size behaves like a full disk: a short write first, then an error."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))


@pytest.mark.parametrize("name", ["full.csv", "full.csv.gz", "full.parquet", "full.safetensors"])
def test_a_full_disk_is_told_in_the_words_of_the_system(homes, name):
    model = name.endswith(".safetensors")
    arguments = (
        ["calibrate", "trees.safetensors", "fresh.csv"] if model else ["predict", "trees.safetensors", "test.csv"]
    )
    done = subprocess.run(
        [homes.path, *arguments, "-o", name], cwd=homes.folder, capture_output=True, text=True, preexec_fn=full_disk
    )
    assert done.returncode == DATA and done.stdout == ""
    assert done.stderr == f"widthwise {arguments[0]}: {name}: cannot be written: File too large\n"
    assert not [file for file in os.listdir(homes.folder) if "full." in file]


# ---- files that would cost much to reject

GIGABYTE = 1 << 30


def little_memory():
    resource.setrlimit(resource.RLIMIT_AS, (2 * GIGABYTE, 2 * GIGABYTE))


def large_files(folder):
    """Files of 8 GB that take some bytes on disk, and the beginning of their errors."""
    header = b'{"__metadata__":{"format":"8","widthwise":"0"}}'
    for name, content, words in (
        ("hole", (folder / "trees.safetensors").read_bytes(), "damaged: expected "),
        ("header", (8 * GIGABYTE - 8).to_bytes(8, "little") + header, "not a {}: found other data"),
        ("notes", (84_000_000).to_bytes(8, "little") + header, "not a {}: found other data"),
        ("zeros", b"", "not a {}: found other data"),
    ):
        file = folder / f"{name}.large"
        file.write_bytes(content)
        os.truncate(file, 8 * GIGABYTE)
        yield file, words


def test_large_files_are_rejected_by_their_header(homes):
    # One command per file: all load with the same functions, which tests/model/model_file_test.cpp tests with such files.
    commands = ["inspect {}", "predict {} test.csv -o no.csv", "calibrate {} fresh.csv", "merge trees.safetensors {}"]
    for command, (file, words) in zip(commands, large_files(homes.folder), strict=True):
        start = time.monotonic()
        done = subprocess.run(
            [homes.path, *command.format(file.name).split()],
            cwd=homes.folder,
            capture_output=True,
            text=True,
            preexec_fn=little_memory,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (DATA, ""), (command, done)
        kind = "calibration shard" if command.startswith("merge") else "model file"
        assert f"{file.name}: {words.format(kind)}" in done.stderr, (command, done)
        assert time.monotonic() - start < 20  # 40 to 100 s if the file is read
        file.unlink()


# ---- concurrent updates of one model

PROCESSES, ROWS = 8, 20


@pytest.fixture
def shared(tables, tmp_path):
    """The program in a folder with a copy of a model, and one small table per process."""
    shutil.copy(tables / "trees.safetensors", tmp_path / "shared.safetensors")
    for i in range(PROCESSES):
        write(make_table(ROWS, 100 + i), tmp_path / f"{i}.csv")
    return Program(tmp_path)


def at_once(program, arguments):
    """Run all processes at the same time with their arguments; all must succeed."""
    started = [
        subprocess.Popen(
            [program.path, *arguments(i)], cwd=program.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for i in range(PROCESSES)
    ]
    told = [process.communicate(timeout=300)[1].decode() for process in started]
    assert [process.returncode for process in started] == [0] * PROCESSES, told
    assert not list(program.folder.glob(".*"))


def rows_seen(program):
    return program.ok("inspect", "shared.safetensors", "--json").json["calibration"]["rows_seen"]


def test_no_row_of_concurrent_calibrations_is_lost(shared):
    before = rows_seen(shared)
    at_once(shared, lambda i: ["calibrate", "shared.safetensors", f"{i}.csv"])
    assert rows_seen(shared) == before + PROCESSES * ROWS


def test_no_part_of_concurrent_merges_is_lost(shared):
    before = rows_seen(shared)
    at_once(shared, lambda i: ["calibrate", "shared.safetensors", f"{i}.csv", "--emit", f"{i}.shard"])
    (shared.folder / "link.safetensors").symlink_to("shared.safetensors")
    at_once(shared, lambda i: ["merge", ["shared.safetensors", "link.safetensors"][i % 2], f"{i}.shard"])
    assert rows_seen(shared) == before + PROCESSES * ROWS


def test_no_row_of_concurrent_streams_is_lost(shared):
    save = ["--save", "shared.safetensors"]
    at_once(shared, lambda i: ["track", "shared.safetensors", f"{i}.csv", "-o", f"{i}.out.csv", *save])
    inside = shared.ok("inspect", "shared.safetensors", "--json").json
    assert inside["online"]["rows"] == PROCESSES * ROWS


def open_files(process):
    """The files that a process has open; files may be closed while they are listed."""
    found = set()
    for number in os.listdir(f"/proc/{process}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(f"/proc/{process}/fd/{number}"))
    return found


def test_an_update_that_waits_can_be_interrupted(shared):
    """The lock is an flock on the model file, which ends with its process."""
    model = shared.folder / "shared.safetensors"
    before = model.read_bytes()
    with model.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        arguments = [shared.path, "calibrate", "shared.safetensors", "0.csv"]
        with subprocess.Popen(arguments, cwd=shared.folder, stdout=subprocess.DEVNULL) as waiting:
            try:
                deadline = time.monotonic() + 60
                while str(model) not in open_files(waiting.pid):
                    assert waiting.poll() is None and time.monotonic() < deadline
                waiting.send_signal(signal.SIGTERM)
                assert waiting.wait(timeout=60) == 143
            finally:
                waiting.kill()  # it would wait for the lock that is held here
    assert model.read_bytes() == before
    shared.ok("calibrate", "shared.safetensors", "0.csv")


def test_a_waiting_update_reports_it(shared):
    """A reader that locks the file blocks an update; it continues when the lock ends."""
    model = shared.folder / "shared.safetensors"
    with model.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        arguments = [shared.path, "calibrate", "shared.safetensors", "0.csv"]
        with subprocess.Popen(
            arguments, cwd=shared.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as waiting:
            line = waiting.stderr.readline()
            fcntl.flock(held, fcntl.LOCK_UN)
            assert waiting.wait(timeout=60) == 0
    assert line == (
        "widthwise calibrate: warning: shared.safetensors: waiting for another process that has locked the file, for at "
        "most 5 minutes\n"
    )


# ---- updates that cannot be reported


@pytest.mark.parametrize("end", [">&-", "> /dev/full", "| true"])
@pytest.mark.parametrize(
    "command",
    [
        "calibrate shared.safetensors 0.csv",
        "merge shared.safetensors 1.shard",
        "track shared.safetensors 2.csv -o out.csv --save shared.safetensors",
    ],
)
def test_an_update_is_done_even_if_its_summary_cannot_be_written(shared, command, end):
    """Otherwise a retry would be refused, because its rows are in the model."""
    shared.ok("calibrate", "shared.safetensors", "1.csv", "--emit", "1.shard")
    before = (shared.folder / "shared.safetensors").read_bytes()
    words = ["bash", "-c", f'set -o pipefail; "$0" {command} {end}', shared.path]
    done = subprocess.run(words, cwd=shared.folder, capture_output=True, text=True, check=False)
    name = command.split()[0]
    warning = f"widthwise {name}: warning: standard output: the summary cannot be written: "
    assert done.returncode == 0
    if "true" not in end or done.stderr:  # the pipe may take the report before its reader ends
        assert done.stderr.startswith(warning) and done.stderr.endswith("; the output files are complete\n")
    assert (shared.folder / "shared.safetensors").read_bytes() != before


@pytest.mark.parametrize("output", ["out.csv", "out.parquet", "-"])
def test_a_batch_is_not_handed_out_unless_its_number_is_saved(shared, output):
    write(make_table(ROWS, 7).drop_columns("price"), shared.folder / "new.csv")
    track = ["track", "shared.safetensors", "new.csv", "-o", output, "--save"]
    failed = shared(*track, "nowhere/shared.safetensors")
    assert (failed.code, failed.out) == (DATA, "")
    assert "nowhere/shared.safetensors: cannot be written" in failed.err
    assert not list(shared.folder.glob("out.*"))
    done = shared(*track, "shared.safetensors")
    assert done.code == 0, done
    out = read(shared.folder / output) if output != "-" else csv.read_csv(io.BytesIO(done.out.encode()))
    assert out["batch"].to_pylist() == [0] * ROWS
