"""Test the package with the newest Python of this machine and the newest XGBoost.

The wheel of Python 3.12 and later is compiled from the source archive of the step before, and its trees are compared
with those of the XGBoost that all other tests use. Without such a Python, the step says so and tests nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build/newer"
VERSIONS = ("3.14", "3.13", "3.12")
TESTS = ("test_engine_versions", "test_regressor", "test_quantile_base", "test_xgboost")


def runs(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def newest_python() -> str | None:
    """The newest interpreter on the PATH or below PYENV_ROOT, whose programs on the PATH may be set to fail."""
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in VERSIONS:
        on_path = shutil.which(f"python{version}")
        found = [*map(str, sorted(installed.glob(f"{version}.*/bin/python{version}"))), *([on_path] if on_path else [])]
        for python in found:
            if runs(python):
                return python
    return None


def run(*command: str | Path, **environment: str) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], env={**os.environ, **environment}, cwd=ROOT, check=True)


def environment(python: str, name: str) -> Path:
    """The interpreter of a new virtual environment."""
    run(python, "-m", "venv", "--clear", WORK / name)
    return WORK / name / "bin/python"


def main() -> int:
    python = newest_python()
    if python is None:
        print(f"no Python {' or '.join(VERSIONS)} on this machine: the package is tested with one version alone")
        return 0
    shutil.rmtree(WORK, ignore_errors=True)
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    builder = environment(python, "build")
    run(builder, *pip, "--require-hashes", "--only-binary", ":all:", "--requirement", "tests/build.lock")
    run(builder, "-m", "build", "--no-isolation", "--wheel", "--outdir", WORK / "dist", "build/sdist", CXX="c++")
    tester = environment(python, "test")
    (wheel,) = (WORK / "dist").glob("*.whl")
    run(tester, *pip, f"{wheel}[sklearn]", "--requirement", "tests/newer.txt")
    (other,) = re.findall(r"^xgboost-cpu==\S+", (ROOT / "tests/requirements.txt").read_text(), re.MULTILINE)
    run(tester, *pip, "--no-deps", "--target", WORK / "other", other)
    (library,) = (WORK / "other").glob("xgboost/lib/libxgboost.so")
    config = f"--config-file={ROOT / 'tests/python/pytest.ini'}"
    files = [ROOT / f"tests/python/{name}.py" for name in TESTS]
    command = (tester, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-rs", config, *files)
    print("+", *command, flush=True)
    variables = {"WIDTHWISE_OTHER_XGBOOST": str(library), "VIRTUAL_ENV": str(WORK / "test")}
    return subprocess.run(
        [str(word) for word in command], env={**os.environ, **variables}, cwd=WORK, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
