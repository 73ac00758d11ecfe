"""A container with 512 MB of memory: fit of 100,000 rows, predict of millions (ten with WIDTHWISE_FULL=1)."""

import os
import subprocess
import uuid
from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet
import pytest

MEGABYTE = 1 << 20
ROWS = 10_000_000 if os.environ.get("WIDTHWISE_FULL") else 1_000_000


class Container:
    """A cgroup with a limit of memory; a process that exceeds it is killed."""

    def __init__(self, limit):
        one = Path("/sys/fs/cgroup/memory")
        root, self.file = (one, "memory.limit_in_bytes") if one.is_dir() else (Path("/sys/fs/cgroup"), "memory.max")
        self.folder = root / f"widthwise-{uuid.uuid4().hex}"
        try:
            self.folder.mkdir()
            (self.folder / self.file).write_text(str(limit))
        except OSError as error:
            if self.folder.is_dir():
                self.folder.rmdir()
            pytest.skip(f"needs a cgroup with a memory limit: {error}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.rmdir()

    def run(self, *command):
        enter = f'echo $$ > {self.folder}/cgroup.procs && exec "$@"'
        return subprocess.run(["sh", "-c", enter, "sh", *map(str, command)], capture_output=True, text=True)


def write_table(file, rows, features, batch=100_000):
    random = numpy.random.default_rng(1)
    writer = None
    for _ in range(rows // batch):
        x = random.normal(size=(batch, features)).astype(numpy.float32)
        y = x[:, 0] + numpy.exp(x[:, 1] / 2) * random.normal(size=batch).astype(numpy.float32)
        table = pyarrow.table({**{f"x{j}": x[:, j] for j in range(features)}, "y": y})
        writer = writer or pyarrow.parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    writer.close()
    return file


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("small") / "fit.parquet", 100_000, 10)


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    return write_table(tmp_path_factory.mktemp("big") / "big.parquet", ROWS, 10)


def fit_command(program, table, model):
    options = "--target y --base trees --base-options rounds=20 --localizer-options max_rounds=20"
    return [program, "fit", table, *options.split(), "-o", model]


def test_fit_and_predict_in_half_a_gigabyte(program, table, big, tmp_path):
    model = tmp_path / "model.safetensors"
    with Container(512 * MEGABYTE) as container:
        done = container.run(*fit_command(program, table, model))
        assert done.returncode == 0, done.stderr
        assert "memory" not in done.stderr
        done = container.run(program, "predict", model, big, "-o", tmp_path / "out.parquet")
        assert done.returncode == 0, done.stderr
    assert pyarrow.parquet.read_metadata(tmp_path / "out.parquet").num_rows == ROWS


def test_too_little_memory_is_one_error(program, big, tmp_path):
    limit = 11 * 8 * ROWS + 400 * MEGABYTE  # of addresses, enough to load XGBoost and to read the table
    command = ["prlimit", f"--as={limit}", *fit_command(program, big, tmp_path / "model.safetensors")]
    done = subprocess.run([*map(str, command), "--threads", "1"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("widthwise fit: out of memory")
    assert not (tmp_path / "model.safetensors").exists()
