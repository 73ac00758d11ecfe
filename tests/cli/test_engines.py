"""Which XGBoost `fit` finds, and what it runs to find it."""

import os
import shutil

import pytest
from conftest import FIT, Program

POISON = "from pathlib import Path\nPath({marker!r}).write_text(__file__)\n"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    monkeypatch.delenv("WIDTHWISE_XGBOOST", raising=False)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


def fake_python(folder, answer):
    """A python3 that says where its package xgboost is, whatever it is asked."""
    folder.mkdir(parents=True)
    python = folder / "python3"
    python.write_text(f"#!/bin/sh\necho '{answer}'\n")
    python.chmod(0o755)
    return folder


def fake_package(folder):
    library = folder / "lib" / "libxgboost.so"
    library.parent.mkdir(parents=True)
    library.write_text("not a library")
    return folder


def test_the_active_virtual_environment_comes_before_the_path(homes, tmp_path):
    """A shim in front of the PATH, as pyenv's, may stand for another Python."""
    ours = fake_package(tmp_path / "ours")
    other = fake_package(tmp_path / "other")
    shims = fake_python(tmp_path / "shims", other)

    def tried(**variables):
        """The message that names the library which cannot be loaded."""
        path = f"{shims}{os.pathsep}{os.environ['PATH']}"
        outcome = homes(*FIT, "-o", tmp_path / "x.safetensors", environment={"PATH": path, **variables})
        assert outcome.code == 2, outcome
        return outcome.err

    fake_python(tmp_path / "my venv" / "bin", ours)
    fake_python(tmp_path / "without" / "bin", "")
    assert str(ours) in tried(VIRTUAL_ENV=str(tmp_path / "my venv"))
    assert str(other) in tried()
    assert str(other) in tried(VIRTUAL_ENV="")
    assert str(other) in tried(VIRTUAL_ENV=str(tmp_path / "without")), "it has no xgboost"
    assert str(other) in tried(VIRTUAL_ENV=str(tmp_path / "gone"))


def test_nothing_in_the_current_folder_is_run(tables, tmp_path):
    """`python3 -c` looks for modules in the current folder first."""
    marker = tmp_path / "marker"
    folder = tmp_path / "downloads"
    for module in ("xgboost", "importlib/__init__", "importlib/util", "types", "contextlib", "warnings", "sys", "abc"):
        file = folder / f"{module}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(POISON.format(marker=str(marker)))
    shutil.copy(tables / "train.csv", folder)
    outcome = Program(folder)(*FIT, "-o", "x.safetensors")
    assert not marker.exists(), f"run: {marker.read_text()}"
    if "XGBoost not found" in outcome.err:
        pytest.skip("python3 has no package xgboost")
    assert outcome.code == 0, outcome
