"""Worker processes for the tests, on one address or on separate addresses.

WIDTHWISE_FULL=1 runs the long forms.
"""

import os
import subprocess

import numpy as np
import pyarrow as pa
from programs import free_address, required_path
from pyarrow import parquet

FULL = bool(os.environ.get("WIDTHWISE_FULL"))


def fit_words(*words):
    """The arguments of a fit of column y with predictions in column f on one thread, and more arguments, as strings."""
    program = required_path("WIDTHWISE_PROGRAM")
    return [str(word) for word in [program, "fit", "--target", "y", "--prediction", "f", "--threads", 1, *words]]


class Here:
    """All workers on the address of this machine."""

    def address(self):
        return free_address()

    def start(self, rank, words, **options):
        return subprocess.Popen([str(word) for word in words], **options)


class Apart:
    """Each worker in its own network namespace with its own address, connected by a bridge."""

    PREFIX = f"ww{os.getpid() % 10000}"

    def __init__(self, workers):
        self.names = [f"{self.PREFIX}-{rank}" for rank in range(workers)]
        for name in self.names:
            self._ip("netns", "add", name)
        first = self.names[0]
        self._in(first, "link", "add", "bridge", "type", "bridge")
        self._in(first, "addr", "add", "10.77.0.1/24", "dev", "bridge")
        self._in(first, "link", "set", "bridge", "up")
        for rank, name in enumerate(self.names):
            self._in(name, "link", "set", "lo", "up")
            if rank == 0:
                continue
            self._in(name, "link", "add", "out", "type", "veth", "peer", "name", f"to{rank}", "netns", first)
            self._in(name, "addr", "add", f"10.77.0.{rank + 1}/24", "dev", "out")
            self._in(name, "link", "set", "out", "up")
            self._in(first, "link", "set", f"to{rank}", "master", "bridge")
            self._in(first, "link", "set", f"to{rank}", "up")

    def close(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)

    def address(self):
        return "10.77.0.1:9091"

    def start(self, rank, words, **options):
        words = ["ip", "netns", "exec", self.names[rank], *map(str, words)]
        return subprocess.Popen(words, **options)

    def _in(self, name, *words):
        self._ip("-n", name, *words)

    @staticmethod
    def _ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def run_workers(network, world, words_of, timeout=300):
    """Run one process per rank; return their outputs. words_of(rank, address) are the arguments of a process."""
    address = network.address()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [network.start(rank, words_of(rank, address), **pipes) for rank in range(world)]
    try:
        outputs = [process.communicate(timeout=timeout) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, outputs, strict=True):
        assert process.returncode == 0, errors
    return [out for out, _ in outputs]


def write_table(file, rows, seed=0, row_group_size=250):
    draw = np.random.default_rng(seed)
    x = draw.uniform(0, 4, (rows, 3))
    f = x[:, 0] + x[:, 1]
    y = f + (0.2 + 0.5 * x[:, 0]) * draw.normal(size=rows)
    columns = {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "f": f, "y": y}
    parquet.write_table(pa.table(columns), file, row_group_size=row_group_size)
    return file
