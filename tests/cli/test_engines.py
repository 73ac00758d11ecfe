"""How `fit` finds XGBoost."""

import os
import shutil

import pytest
from conftest import FIT, Program
from programs import poison


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    monkeypatch.delenv("WIDTHWISE_XGBOOST", raising=False)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


def fake_python(folder, answer):
    """A python3 that always prints the location of its package xgboost."""
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
    """A shim at the front of the PATH, such as pyenv's, may start another Python."""
    ours = fake_package(tmp_path / "ours")
    other = fake_package(tmp_path / "other")
    shims = fake_python(tmp_path / "shims", other)

    def tried(**variables):
        """The error message, which names the library that cannot be loaded."""
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


@pytest.mark.parametrize("variable", ["", ":/nowhere", "/no'where::"])
def test_no_code_in_the_current_folder_is_run(tables, tmp_path, variable):
    """`python3 -c` searches the current folder first. So does an empty entry of PYTHONPATH, even for the modules that
    Python runs at startup."""
    marker = tmp_path / "marker"
    folder = tmp_path / "downloads"
    poison(folder, marker)
    shutil.copy(tables / "train.csv", folder)
    program = Program(folder)
    outcome = program(*FIT, "-o", "x.safetensors", environment={"PYTHONPATH": variable})
    assert not marker.exists(), f"run: {marker.read_text()}"
    if "XGBoost not found" in outcome.err:
        pytest.skip("python3 has no package xgboost")
    assert outcome.code == 0, outcome
    program.ok("predict", "x.safetensors", "train.csv", "-o", "intervals.csv")


@pytest.mark.parametrize("entry", ["", ".", "bin"])
def test_no_python_of_the_current_folder_is_run(tables, tmp_path, entry):
    """An empty entry of the PATH means the current folder."""
    marker = tmp_path / "marker"
    folder = tmp_path / "downloads"
    for place in (folder, folder / "bin"):
        python = fake_python(place, "") / "python3"
        python.write_text(f"#!/bin/sh\necho asked > '{marker}'\n")
    shutil.copy(tables / "train.csv", folder)
    path = os.pathsep.join([entry, str(tmp_path / "none")])
    environment = {"PATH": path, "VIRTUAL_ENV": "bin/..", "WIDTHWISE_XGBOOST": ""}
    outcome = Program(folder)(*FIT, "-o", "x.safetensors", environment=environment)
    assert not marker.exists()
    assert (outcome.code, outcome.out) == (2, "") and "XGBoost not found" in outcome.err


def test_python_is_asked_only_when_xgboost_is_needed(homes, tmp_path):
    marker = tmp_path / "marker"
    python = fake_python(tmp_path / "bin", "") / "python3"
    python.write_text(f"#!/bin/sh\necho asked > '{marker}'\n")
    environment = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    fit = ["fit", "train.csv", "--target", "price", "--prediction", "forecast", "-o", tmp_path / "x.safetensors"]
    assert homes(*fit, "--score-transform", "identity", environment=environment).code == 0
    predict = ["predict", "homes.safetensors", "fresh.csv", "-o", tmp_path / "intervals.csv"]
    for words in (predict, ["inspect", "homes.safetensors"], ["fit", "--help"]):
        assert homes(*words, environment=environment).code == 0
    assert homes(*FIT, "--xgboost", "nowhere.so", "-o", tmp_path / "x.safetensors", environment=environment).code == 2
    assert not marker.exists()
    assert homes(*fit, environment=environment).code == 2, "its localizer is one of trees"
    assert marker.exists()


def test_conditional_coverage_needs_xgboost_and_the_rest_of_an_evaluation_does_not(homes):
    evaluate = ["evaluate", "homes.safetensors", "fresh.csv"]
    environment = {"WIDTHWISE_XGBOOST": "nowhere.so"}
    assert homes(*evaluate, environment=environment).code == 0
    refused = homes(*evaluate, "--conditional", environment=environment)
    assert (refused.code, refused.out) == (2, "")
    assert "XGBoost cannot be loaded: nowhere.so" in refused.err
