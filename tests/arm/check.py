#!/usr/bin/env python3
"""Run README's example on an emulated 64-bit ARM processor, and compare every bit with this machine.

    tools/wheels --machine aarch64 --python 3.11
    python tests/arm/check.py build/wheels/dist

The second command needs Debian 12 with qemu-user-static, Python 3.11 with widthwise, scikit-learn and xgboost-cpu, and
downloads Python and these packages for ARM to build/arm.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build/arm"
SYSTEM, PACKAGES = WORK / "system", WORK / "packages"
DEBIAN = (
    *("libc6", "libgcc-s1", "libstdc++6", "python3.11", "python3.11-minimal", "libpython3.11-minimal"),
    *("libpython3.11-stdlib", "zlib1g", "libexpat1", "libffi8", "libbz2-1.0", "liblzma5", "libcrypt1", "libuuid1"),
)
PYTHON = ("numpy", "scipy", "scikit-learn", "pandas", "xgboost-cpu")


def run(*command: str | Path, folder: Path = ROOT, **environment: str) -> str:
    words = [str(word) for word in command]
    return subprocess.run(
        words, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def make_system() -> None:
    """Unpack Debian's Python for ARM, without a change to this system."""
    state, files = WORK / "apt", WORK / "debian"
    for folder in (state / "lists/partial", state / "cache/archives/partial", files):
        folder.mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "root",
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
    run(*apt, "update")
    run(*apt, "download", *DEBIAN, folder=files)
    for package in files.glob("*.deb"):
        run("dpkg-deb", "--extract", package, SYSTEM)


def install_packages(wheels: Path) -> None:
    """Install the packages of this environment, built for ARM."""
    shutil.rmtree(PACKAGES, ignore_errors=True)
    platforms: list[str | Path] = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (17, 27, 28)]
    target: tuple[str | Path, ...] = ("--target", PACKAGES, "--only-binary=:all:", "--python-version=3.11", *platforms)
    pip: tuple[str | Path, ...] = (sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", *target)
    run(*pip, *(f"{name}=={version(name)}" for name in PYTHON))
    run(*pip, "--no-deps", "--no-index", "--find-links", wheels, "widthwise")


def main() -> int:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    if not (SYSTEM / "usr/bin/python3.11").exists():
        make_system()
    install_packages(Path(sys.argv[1]))
    emulated = ("qemu-aarch64-static", "-L", SYSTEM, SYSTEM / "usr/bin/python3.11")
    example = (Path(__file__).with_name("example.py"), ROOT / "README.md", ROOT / "tests/golden")
    here = run(sys.executable, "-B", *example)
    there = run(*emulated, "-B", *example, PYTHONPATH=str(PACKAGES), PYTHONHOME=str(SYSTEM / "usr"))
    print(there, end="")
    print("the same on this machine" if here == there else f"different; this machine prints\n{here}")
    return 0 if here == there else 1


if __name__ == "__main__":
    sys.exit(main())
