"""What files become: permissions, links, pipes and what killed programs have left."""

import os
import stat
import subprocess
import time

import pytest
from conftest import read

DATA = 1


def mode(file):
    return stat.S_IMODE(file.stat().st_mode)


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_a_table_keeps_its_permissions(homes, name):
    file = homes.folder / name
    file.write_text("old")
    file.chmod(0o600)
    homes.ok("predict", "knn.safetensors", "test.csv", "-o", name)
    assert mode(file) == 0o600


def test_a_link_stays_and_its_target_is_replaced(homes):
    target, link = homes.folder / "real.csv", homes.folder / "link.csv"
    target.write_text("old")
    link.symlink_to("real.csv")
    homes.ok("predict", "knn.safetensors", "test.csv", "-o", "link.csv")
    assert link.is_symlink() and not target.is_symlink()
    assert "upper_0.9" in read(target).column_names


def test_pipes_and_devices_are_no_output(homes):
    os.mkfifo(homes.folder / "pipe.csv")
    message = homes.fails(DATA, "predict", "knn.safetensors", "test.csv", "-o", "pipe.csv")
    assert message.endswith("pipe.csv: cannot be written: not a regular file")
    assert (homes.folder / "pipe.csv").is_fifo()


def test_pipes_and_devices_are_no_model(homes):
    """Neither waits for a writer, nor reads what has no end."""
    pipe = homes.folder / "pipe.safetensors"
    os.mkfifo(pipe)
    message = homes.fails(DATA, "inspect", "pipe.safetensors")
    assert message.endswith("pipe.safetensors: cannot be read: not a regular file")
    with subprocess.Popen(["sh", "-c", 'exec yes > "$0"', pipe], stderr=subprocess.DEVNULL) as writer:
        assert "not a regular file" in homes.fails(DATA, "predict", "pipe.safetensors", "test.csv", "-o", "x.csv")
        writer.kill()
    assert "not a regular file" in homes.fails(DATA, "inspect", "/dev/zero")


def test_what_a_killed_program_left_is_deleted(homes):
    left = homes.folder / ".out.csv.0123456789abcdef.tmp"
    left.write_text("half")
    os.utime(left, (time.time() - 3600,) * 2)
    homes.ok("predict", "knn.safetensors", "test.csv", "-o", "out.csv")
    assert not left.exists()
