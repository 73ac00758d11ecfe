"""Configure and run a training test with cmake and ctest from a pyenv shim and the engines in another environment.

A pyenv shim puts the folder of its own interpreter at the front of the PATH of every program it starts. Here that
interpreter has no packages, and the engines are in a virtual environment before the shims on the user's PATH.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

SHIM = """#!/bin/sh
export PATH="{versions}:$PATH"
exec "{program}" "$@"
"""


def make_environment(folder: Path) -> Path:
    """A virtual environment without cmake that has the packages of this Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "engines.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def make_pyenv(root: Path, programs: dict[str, str]) -> Path:
    """A PYENV_ROOT with one version without packages, and shims for the programs."""
    venv.create(root / "versions/bare", with_pip=False, symlinks=True)
    versions = root / "versions/bare/bin"
    shims = root / "shims"
    shims.mkdir()
    for name, program in programs.items():
        shim = shims / name
        shim.write_text(SHIM.format(versions=versions, program=program))
        shim.chmod(0o755)
    return shims


def cached(build: Path, name: str) -> str:
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return line.split("=", 1)[1]
    return ""


def run(*command: object, environment: dict[str, str]) -> str:
    done = subprocess.run(
        list(map(str, command)),
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("source", "build", "cmake", "ctest", "make-program"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        engines = make_environment(work / "engines")
        shims = make_pyenv(work / "pyenv", {"cmake": str(arguments.cmake), "ctest": str(arguments.ctest)})
        environment = {
            variable: value
            for variable, value in os.environ.items()
            if variable not in ("VIRTUAL_ENV", "CONDA_PREFIX", "WIDTHWISE_XGBOOST")
        }
        environment["PYENV_ROOT"] = str(work / "pyenv")
        environment["PATH"] = f"{engines}:{shims}:/usr/bin:/bin"

        output = run(
            shims / "cmake",
            "-S",
            arguments.source,
            "-B",
            work / "build",
            "-G",
            "Ninja",
            f"-DCMAKE_MAKE_PROGRAM={arguments.make_program}",
            "-DWIDTHWISE_BUILD_BENCHMARKS=OFF",
            environment=environment,
        )
        for library in ("Arrow", "LibTorch"):
            if f"widthwise: {library}" not in output:
                sys.exit(f"{library} was not found:\n{output}")
        found = cached(work / "build", "_Python3_EXECUTABLE")
        if found and Path(found).parent != engines:
            sys.exit(f"CMake took {found}, expected the interpreter in {engines}")

        output = run(
            shims / "ctest",
            "--test-dir",
            arguments.build,
            "--output-on-failure",
            "--no-tests=error",
            "--tests-regex",
            "TreeTraining.FindsHowTheErrorDependsOnTheRow/exp",
            environment=environment,
        )
        print(output.strip().splitlines()[-1])


if __name__ == "__main__":
    main()
