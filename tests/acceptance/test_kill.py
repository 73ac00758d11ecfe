"""After kill -9 at any moment, the model file is complete: either the old or the new one."""

import os
import random
import shutil
import signal
import subprocess
import time

import numpy
import pyarrow
import pyarrow.parquet
import pytest

KILLS = 200 if os.environ.get("WIDTHWISE_FULL") else 30


def write_table(file, seed):
    rows = 20_000
    draw = numpy.random.default_rng(seed)
    x = draw.normal(size=rows)
    pyarrow.parquet.write_table(pyarrow.table({"x": x, "f": x, "y": x + draw.normal(size=rows)}), file)


@pytest.mark.parametrize("command", ["fit", "calibrate"])
def test_a_killed_command_leaves_the_old_file_or_the_new_one(command, program, run, tmp_path):
    write_table(tmp_path / "fit.parquet", 1)
    write_table(tmp_path / "fresh.parquet", 2)
    model = tmp_path / "model.safetensors"

    def fit(seed, out):
        options = f"--target y --prediction f --score-transform identity --seed {seed}"
        return ["fit", tmp_path / "fit.parquet", *options.split(), "-o", out]

    # The old file, and the result of an undisturbed command.
    old, new = tmp_path / "old", tmp_path / "new"
    run(*fit(1, old))
    words = fit(2, model) if command == "fit" else ["calibrate", model, tmp_path / "fresh.parquet"]
    shutil.copy(old, model)
    started = time.monotonic()
    run(*words)
    duration = time.monotonic() - started
    shutil.copy(model, new)
    assert old.read_bytes() != new.read_bytes()

    draw = random.Random(3)
    outcomes = {"old": 0, "new": 0}
    near_end = duration
    for kill in range(KILLS // 2):
        shutil.copy(old, model)
        process = subprocess.Popen([str(program), *map(str, words)], stdout=subprocess.DEVNULL)
        # Every second kill happens near the end, where the file is written. The moment is searched for: a command that
        # runs beside others takes longer than the first one did.
        time.sleep(near_end if kill % 2 else draw.uniform(0, 1.1) * duration)
        process.send_signal(signal.SIGKILL)
        process.wait()
        left = model.read_bytes()
        assert left in (old.read_bytes(), new.read_bytes()), f"kill {kill} left a file that is neither"
        outcome = "old" if left == old.read_bytes() else "new"
        outcomes[outcome] += 1
        if kill % 2:
            near_end *= draw.uniform(1, 1.6) if outcome == "old" else draw.uniform(0.7, 1)
        run("inspect", model)
    print(f"\n{command}: {outcomes}")
    assert min(outcomes.values()) > 0
