"""Helpers to run the programs under test."""

import functools
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest


def required_path(variable):
    """The path in an environment variable."""
    value = os.environ.get(variable)
    if not value:
        pytest.fail(f"{variable} is not set; run these tests with ctest, which sets it")
    return Path(value)


def run_program(*arguments):
    """Run a command of the program, which must succeed; parse the output of --json."""
    words = [str(required_path("WIDTHWISE_PROGRAM")), *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr}"
    return json.loads(done.stdout) if "--json" in arguments else done.stdout


def free_address():
    """An address of this machine with a free port, for worker 0."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def worker_options(rank, world, address, timeout=60):
    """The options of `fit` for one of several workers."""
    words = ["--tracker", address, "--rank", rank, "--world", world, "--timeout", timeout, "--private-network"]
    return [str(word) for word in words]


def fit_with_workers(world, *arguments, **options):
    """Fit with several processes on this machine; return those that ended, by rank."""
    address = free_address()
    words = [os.environ.get("WIDTHWISE_PROGRAM", "widthwise"), "fit", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [
        subprocess.Popen([*words, *worker_options(rank, world, address)], **pipes, **options) for rank in range(world)
    ]
    try:
        outputs = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [
        subprocess.CompletedProcess(process.args, process.returncode, *output)
        for process, output in zip(processes, outputs, strict=True)
    ]


# A user without processes, who keeps the right to read all files.
OTHER_USER = ["setpriv", "--reuid=54321", "--inh-caps=+dac_override", "--ambient-caps=+dac_override"]


@functools.cache
def _can_become_other_user():
    tools = all(shutil.which(tool) for tool in ("setpriv", "prlimit"))
    return tools and subprocess.run([*OTHER_USER, "true"], capture_output=True, check=False).returncode == 0


def with_processes(limit):
    """The words before a command that let it have this many processes and threads."""
    if not _can_become_other_user():
        pytest.skip("only root can limit the processes of another user, with setpriv and prlimit")
    return [*OTHER_USER, "prlimit", f"--nproc={limit}"]


POISONED = "xgboost importlib/__init__ importlib/util types contextlib warnings sys abc sitecustomize usercustomize"
POISON = "open({marker!r}, 'w').write(__file__)\n"  # importing one of the modules might run another one first


def poison(folder, marker):
    """Fill a folder with Python modules that leave a marker when they are run."""
    for module in POISONED.split():
        file = folder / f"{module}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(POISON.format(marker=str(marker)))
