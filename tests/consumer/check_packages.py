#!/usr/bin/env python3
"""Make the archive and the Debian package with cpack, unpack them, and run the program of each.

Usage: check_packages.py SOURCE WORK CMAKE. The program must have no search path for libraries: that of the build would
lead into a Python environment.
"""

import subprocess
import sys
import tarfile
from pathlib import Path


def run(*command, **arguments):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **arguments)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_packages(source, work, cmake):
    """The archive and the Debian package."""
    build = work / "build"
    run(cmake, "--preset", "package", "-B", build, cwd=source)
    run(cmake, "--build", build, "--parallel", "2")
    run(Path(cmake).with_name("cpack"), "--config", build / "CPackConfig.cmake", "-B", work / "made")
    [archive] = (work / "made").glob("*.tar.gz")
    [package] = (work / "made").glob("*.deb")
    return archive, package


def check(root, prefix):
    """Check the files that one package installs below `root`."""
    program = root / prefix / "bin/widthwise"
    version = run(program, "--version")
    assert version.startswith("widthwise "), version
    dynamic = run("readelf", "--dynamic", program)
    assert "RPATH" not in dynamic and "RUNPATH" not in dynamic, dynamic
    assert (root / prefix / "include/widthwise/model.hpp").exists()
    assert list((root / prefix).glob("lib/**/cmake/widthwise/widthwise-config.cmake"))
    assert "arrow" not in dynamic


def main():
    source, work, cmake = (Path(word) for word in sys.argv[1:])
    archive, package = make_packages(source, work, cmake)
    run("dpkg", "--extract", package, work / "deb")
    check(work / "deb", "usr")
    fields = run("dpkg", "--field", package, "Package", "Version", "Depends")
    assert "libc6" in fields and "libstdc++6" in fields, fields
    with tarfile.open(archive) as opened:
        opened.extractall(work / "tar", filter="data")
    [root] = (work / "tar").iterdir()
    check(root, ".")


if __name__ == "__main__":
    main()
