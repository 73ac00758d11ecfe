"""System calls fail one after the other: one clear error, no lost or partial file, no temporary files. Threads that
cannot be started are not needed, and a signal ends a program that waits."""

import importlib.util
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import Program
from programs import with_processes

LIBRARY = os.environ.get("WIDTHWISE_FAILING_CALLS", "")
CALLS = ["create", "write", "fsync", "rename"]
OPERATIONS = {
    "calibrate": (["calibrate", "model.safetensors", "fresh.csv", "-o", "out.safetensors"], "out.safetensors"),
    "predict": (["predict", "model.safetensors", "fresh.csv", "-o", "out.csv"], "out.csv"),
}

pytestmark = pytest.mark.skipif(not LIBRARY, reason="WIDTHWISE_FAILING_CALLS names no library")


class Operation:
    """A command that replaces an existing output."""

    def __init__(self, name, tables, folder):
        self.arguments, self.output = OPERATIONS[name]
        self.program = Program(folder)
        self.folder = folder
        shutil.copy(tables / "homes.safetensors", folder / "model.safetensors")
        shutil.copy(tables / "fresh.csv", folder)
        self.program.ok(*self.arguments)
        self.expected = (folder / self.output).read_bytes()
        self.old = b"what was there before\n"
        self.files = sorted(path.name for path in folder.iterdir())

    def fails(self, call, at):
        """Run with the call failing from the at-th time on; False if there were fewer calls."""
        mark = self.folder.parent / f"{self.folder.name}.mark"
        mark.unlink(missing_ok=True)
        (self.folder / self.output).write_bytes(self.old)
        environment = {
            "LD_PRELOAD": LIBRARY,
            "FAIL_CALL": call,
            "FAIL_AT": str(at),
            "FAIL_AFTER": "fresh.csv",
            "FAIL_MARK": str(mark),
        }
        outcome = self.program(*self.arguments, environment=environment)
        found = (self.folder / self.output).read_bytes()
        assert found in (self.old, self.expected), "the file is the old one or the new one, whole"
        assert sorted(path.name for path in self.folder.iterdir()) == self.files, "nothing is left behind"
        if not mark.exists():
            assert (outcome.code, found) == (0, self.expected), outcome
            return False
        assert outcome.code == 1, outcome
        assert outcome.err.startswith(f"widthwise {self.arguments[0]}: "), outcome.err
        assert outcome.err.count("\n") == 1, outcome.err
        return True


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_write_that_fails_leaves_a_whole_file(tables, tmp_path, name, call):
    folder = tmp_path / "work"
    folder.mkdir()
    operation = Operation(name, tables, folder)
    at = 1
    while operation.fails(call, at):
        at += 1
    assert at > 1, f"{name} never calls {call}"


# ---- threads

TRAIN = ["--target", "price", "--threads", "2", "--base", "trees", "--base-options", "rounds=5"]
THREADED = {
    "csv": ["predict", "homes.safetensors", "fresh.csv", "-o", "OUT.csv"],
    "gzip": ["predict", "homes.safetensors", "fresh.csv", "-o", "OUT.csv.gz"],
    "parquet": ["predict", "homes.safetensors", "fresh.parquet", "-o", "OUT.parquet"],
    "fit": ["fit", "fresh.csv", *TRAIN, "-o", "OUT.safetensors"],
}


def outcome_of(command, folder, out, **options):
    """Run a command that writes `out`; return the exit code, the messages and the bytes."""
    words = [str(folder / word.replace("OUT", out)) if word.startswith("OUT") else word for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False, **options)
    written = next(folder.glob(f"{out}.*"), None)
    return done.returncode, done.stderr, written.read_bytes() if written else None


@pytest.mark.parametrize("name", THREADED)
def test_a_program_that_cannot_start_threads_does_without(homes, name, tmp_path):
    """libgomp would end the process, and Arrow would wait indefinitely."""
    command = [homes.path, *THREADED[name]]
    expected = outcome_of(command, homes.folder, f"free_{name}")
    assert expected[:2] == (0, "")
    mark = tmp_path / "mark"
    failing = {"LD_PRELOAD": LIBRARY, "FAIL_CALL": "pthread_create", "FAIL_AT": "1", "FAIL_MARK": str(mark)}
    environment = {**os.environ, **failing, "FAIL_AFTER": next(word for word in command if word.startswith("fresh"))}
    assert outcome_of(command, homes.folder, f"none_{name}", env=environment) == expected
    assert mark.exists()


@pytest.mark.parametrize("name", THREADED)
@pytest.mark.parametrize("limit", [1, 3, 4])
def test_a_limit_of_processes_is_no_obstacle(homes, name, limit):
    command = [*with_processes(limit), homes.path, *THREADED[name]]
    package = importlib.util.find_spec("xgboost")
    if name == "fit" and package is None:
        pytest.skip("another process, which the limit may not allow, would search for XGBoost")
    library = Path(package.submodule_search_locations[0]) / "lib" / "libxgboost.so" if package else ""
    homes.folder.chmod(0o777)
    environment = {**os.environ, "WIDTHWISE_XGBOOST": str(library)}
    code, messages, _ = outcome_of(command, homes.folder, f"limit_{limit}_{name}", env=environment)
    assert code == 0, messages
    assert "widthwise" not in messages  # Arrow's allocator says that it starts no thread


def test_a_signal_ends_a_program_that_waits_inside_a_library(homes, tmp_path):
    """The first signal, with the exit code of the signal and without temporary files."""
    (tmp_path / "out.csv").write_text("old")
    mark = tmp_path.parent / f"{tmp_path.name}.mark"
    waiting = {"LD_PRELOAD": LIBRARY, "FAIL_CALL": "fsync", "FAIL_AT": "1", "FAIL_HOW": "wait", "FAIL_MARK": str(mark)}
    command = [homes.path, "predict", "homes.safetensors", "fresh.csv", "-o", tmp_path / "out.csv"]
    environment = {**os.environ, **waiting, "FAIL_AFTER": "fresh.csv"}
    with subprocess.Popen(command, cwd=homes.folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while not mark.exists():
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.01)
            assert len(list(tmp_path.iterdir())) == 2, "the output and its temporary file"
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 143
            assert process.stderr.read() == "widthwise: interrupted\n"
        finally:
            process.kill()
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("out.csv", "old")]
