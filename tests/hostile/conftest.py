"""Shared fixtures for hostile inputs: running many commands, and the rules for error messages.

WIDTHWISE_PROGRAM names the program; the server of tests/hostile/server.cpp is next to its build.
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

FULL = os.environ.get("WIDTHWISE_FULL") == "1"

# Texts of Arrow, XGBoost, nlohmann-json, nanobind, the C++ library and tracebacks, which users must not see.
INTERNALS = re.compile(
    r"Check failed|json\.exception|nanobind|std::|terminate called|what\(\)|Traceback|::arrow|arrow::|parquet::|Thrift|"
    r"\.cc:|\.cpp:|\.hpp:|vector::|basic_string|bad_alloc|Invalid: |IOError: |Stack trace|0x[0-9a-f]{6}"
)


@dataclass
class Outcome:
    code: int
    out: str
    err: str


class Commands:
    """Runs commands of the program in one folder."""

    def __init__(self, folder, transcript):
        self.program = Path(os.environ.get("WIDTHWISE_PROGRAM") or pytest.skip("WIDTHWISE_PROGRAM is not set"))
        self.folder = folder
        self._files = transcript / "out", transcript / "err"
        server = self.program.parent.parent / "tests/hostile/widthwise_hostile"
        if not server.exists():
            pytest.fail(f"{server} is not built")
        self._server = subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *arguments):
        out, err = self._files
        request = {
            "arguments": [str(self.program), *map(str, arguments)],
            "folder": str(self.folder),
            "out": str(out),
            "err": str(err),
        }
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        code = int(self._server.stdout.readline())
        return Outcome(code, *(file.read_text(encoding="utf-8") for file in (out, err)))

    def close(self):
        self._server.stdin.close()
        self._server.wait(timeout=60)


def assert_clear(message, words):
    """The message is one line in our own wording."""
    assert message.count("\n") <= 1 and len(message) < 700, message
    assert message.isprintable() or message.rstrip("\n").isprintable(), message
    assert not INTERNALS.search(message), message
    assert words in message, f"expected {words!r} in: {message}"


def assert_refused(outcome, command, code, words):
    """The command gives the documented exit code, nothing on stdout, and one clear line on stderr."""
    assert outcome.code == code, outcome
    assert outcome.out == "", outcome
    assert outcome.err.startswith((f"widthwise {command}: ", "widthwise: ")) and outcome.err.endswith("\n"), outcome
    assert outcome.err.count("\n") == 1, outcome
    assert_clear(outcome.err, words)
