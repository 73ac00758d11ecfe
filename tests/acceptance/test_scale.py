"""Millions of rows in constant memory: two million, or ten with WIDTHWISE_FULL=1."""

import os
import subprocess

import numpy
import pyarrow
import pyarrow.parquet

ROWS = 10_000_000 if os.environ.get("WIDTHWISE_FULL") else 2_000_000
BATCH = 500_000


def test_millions_of_rows_of_parquet_need_less_than_a_gigabyte(program, run, tmp_path):
    random = numpy.random.default_rng(1)

    def batch(rows):
        x = random.normal(size=(rows, 4)).astype(numpy.float32)
        y = x[:, 0] + numpy.exp(x[:, 1] / 2) * random.normal(size=rows).astype(numpy.float32)
        return pyarrow.table({**{f"x{j}": x[:, j] for j in range(4)}, "f": x[:, 0], "y": y})

    pyarrow.parquet.write_table(batch(5000), tmp_path / "fit.parquet")
    model = tmp_path / "model.safetensors"
    options = "--target y --prediction f --goal narrow"
    run("fit", tmp_path / "fit.parquet", *options.split(), "-o", model)
    big = tmp_path / "big.parquet"
    with pyarrow.parquet.ParquetWriter(big, batch(0).schema) as writer:
        for _ in range(ROWS // BATCH):
            writer.write_table(batch(BATCH))

    peaks = {}
    for command, arguments in {
        "predict": [big, "--level", "0.9", "--level", "0.95", "-o", tmp_path / "out.parquet"],
        "calibrate": [big, "-o", tmp_path / "calibrated.safetensors"],
    }.items():
        process = subprocess.Popen([program, command, model, *arguments])
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        peaks[command] = usage.ru_maxrss / 1024
        print(f"\n{command}: {ROWS} rows, peak {peaks[command]:.0f} MB, {usage.ru_utime + usage.ru_stime:.0f} s of CPU")
    assert pyarrow.parquet.read_metadata(tmp_path / "out.parquet").num_rows == ROWS
    assert max(peaks.values()) < 1000
