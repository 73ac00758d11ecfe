"""System calls fail one after the other: one clear error, no lost or partial file, no temporary files."""

import os
import shutil

import pytest
from conftest import Program

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
