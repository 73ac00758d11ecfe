"""The steps of .ci/run: builds, tests, the Python package, experiments, sanitizers and clang-tidy.

Steps that use one core run in parallel. The cost of each step is printed at the end. The budget is 40 minutes on two
cores.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from schedule import Step, run_steps

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
CORES = len(os.sched_getaffinity(0))
DATA = os.environ.get("WIDTHWISE_DATA", "")
# The program is not built with sanitizers; the release build replays the arguments of its fuzz target.
FUZZ_TARGETS = sorted({file.name for file in (ROOT / "fuzz/corpus").iterdir()} - {"command_line"})
# Tests that repeat a simulation thousands of times. Sanitizers see the same code in the tests next to them.
STATISTICS = (
    "OnlineBatches.Issued*:Online*.*MissesAreWithinTheirBound*:InSample.*AccusedNoMoreOften*:WeakPlaces.*FalseAlarms*"
    ":ExchangeabilityMonitor.Detects*:ExchangeabilityMonitor.RaisesAFalseAlarm*:CoverageGaps.*ByChance"
)
PYTEST = ["-B", "-m", "pytest", "-p", "no:cacheprovider", "-rs", "-s", "--durations=15"]

# Several processes train at the same time on few cores.
os.environ["OMP_WAIT_POLICY"] = "passive"
# The wheel is compiled from an archive unpacked inside build/, so that ccache finds the objects of the release build.
os.environ["CCACHE_BASEDIR"] = str(ROOT)


# ---- parsing of logs


def check_data_was_used(log: str) -> None:
    if DATA and re.search(r"skipped.*WIDTHWISE_DATA", log, re.IGNORECASE):
        raise ValueError("a test skipped the data sets, though WIDTHWISE_DATA is set")


def ctest_lines(log: str) -> list[str]:
    """The closing lines of ctest."""
    found = re.search(r"^.*tests passed.* out of (\d+)", log, re.MULTILINE)
    if found is None or int(found[1]) == 0:
        raise ValueError("no test was run")
    return log[found.start() :].strip().splitlines()


def pytest_lines(measured: str = "") -> Callable[[str], list[str]]:
    """The closing line of pytest, after the lines of the log that match `measured`."""

    def read(log: str) -> list[str]:
        check_data_was_used(log)
        lines = [f"   {found[0]}" for found in re.finditer(measured, log, re.MULTILINE)] if measured else []
        return [*lines, log.strip().splitlines()[-1]]

    return read


def last_line(log: str) -> list[str]:
    return log.strip().splitlines()[-1:]


def lines_of(pattern: str) -> Callable[[str], list[str]]:
    return lambda log: [f"   {line}" for line in log.splitlines() if re.search(pattern, line)]


# ---- kinds of steps


def build(preset: str, *, cores: int, targets: Sequence[str] = (), after: Sequence[str] = ()) -> Step:
    command = ["cmake", "--build", "--preset", preset, "--parallel", str(cores)]
    if targets:
        command += ["--target", *targets]
    return Step(
        f"{preset}-build", f"{preset}: build", [["cmake", "--preset", preset], command], after=after, cores=cores
    )


def ctest(name: str, title: str, preset: str, *arguments: str, prefix: Sequence[str] = ()) -> Step:
    """Tests run by ctest; slow tests repeat a fifth as often as in `make slow`."""
    folder = str(BUILD / preset)
    command = [*prefix, "ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error", *arguments]
    short = {"WIDTHWISE_SLOW_SCALE": "0.2"}
    return Step(name, title, [command], after=[f"{preset}-build"], environment=short, read=ctest_lines)


def sanitized_tests() -> Step:
    """The unit tests, one process per program: under a sanitizer, starting a process takes longer than most tests."""
    folder = BUILD / "asan-ubsan"
    programs = ["widthwise_tests", "widthwise_xgboost_tests", "widthwise_io_tests"]
    chosen = f"--gtest_filter=-Slow*:*/Slow*:{STATISTICS}"
    tests = [[str(folder / "tests" / name), "--gtest_brief=1", chosen] for name in programs]
    golden = [str(file) for file in sorted((ROOT / "tests/golden").glob("model-*.safetensors"))]
    inputs = {name: [f"fuzz/corpus/{name}", *(golden if name == "model_file" else [])] for name in FUZZ_TARGETS}
    replays = [[str(folder / f"fuzz/fuzz_{name}"), *inputs[name]] for name in FUZZ_TARGETS]
    return Step(
        "asan-ubsan",
        "asan-ubsan: unit tests and the stored inputs of the fuzz targets",
        [*tests, *replays],
        after=["asan-ubsan-build"],
        read=lines_of(r"^\[  PASSED  \]"),
    )


def program_tests(name: str, title: str, *, cores: int = 1, measured: str = "") -> Step:
    """Tests of the program with pytest, in the folder tests/<name>."""
    release = BUILD / "release"
    return Step(
        name,
        title,
        [["python3", *PYTEST, f"tests/{name}"]],
        after=["release-build"],
        cores=cores,
        environment={
            "WIDTHWISE_PROGRAM": str(release / "cli/widthwise"),
            "WIDTHWISE_SERVE": str(release / "examples/serve"),
            "WIDTHWISE_LOAD": str(release / "tests/widthwise_load"),
            "WIDTHWISE_PROBE": str(release / "tests/widthwise_probe"),
            "WIDTHWISE_FAILING_CALLS": str(release / "tests/libwidthwise_failing_calls.so"),
        },
        read=pytest_lines(measured),
    )


def install_wheel(python: Path, extras: str) -> list[str]:
    return ["bash", "-c", f'"{python}" -m pip install --disable-pip-version-check "$(echo build/dist/*.whl){extras}"']


class Package:
    """The Python package, installed into a clean environment outside the source tree."""

    def __init__(self, outside: Path) -> None:
        self.outside = outside
        self.python = outside / "venv/bin/python3"
        self.environment = {
            "PATH": f"{self.python.parent}:{os.environ['PATH']}",
            "VIRTUAL_ENV": str(outside / "venv"),
            "WIDTHWISE_NET_PROGRAM": str(BUILD / "release/cli/widthwise"),
        }

    def install(self) -> Step:
        """Install everything that the tests of the package and the experiments need, except the package itself."""
        pip = [str(self.python), "-m", "pip", "install", "--disable-pip-version-check"]
        return Step(
            "environment",
            "python: packages of the clean environment",
            [
                ["python3", "-m", "venv", str(self.outside / "venv")],
                [
                    *pip,
                    "--requirement",
                    "tests/python/requirements.txt",
                    "--requirement",
                    "experiments/requirements.txt",
                    "--requirement",
                    "docs/site/requirements.txt",
                ],
                [*pip, "--no-deps", "puncc==0.9.3", "ngboost==0.5.11"],
            ],
            cores=0,
        )

    def wheel(self) -> Step:
        """Build the source archive and the wheel from it, in a folder that ccache knows, with verified packages."""
        return Step(
            "wheel",
            "python: source archive and wheel",
            [
                ["rm", "-rf", "build/dist", "build/sdist"],
                ["mkdir", "-p", "build/sdist"],
                ["python3", "-m", "build", "--no-isolation", "--sdist", "--outdir", "build/dist", "."],
                ["bash", "-c", "tar -xzf build/dist/*.tar.gz -C build/sdist --strip-components=1"],
                ["python3", "-m", "build", "--no-isolation", "--wheel", "--outdir", "build/dist", "build/sdist"],
            ],
            after=["release-build"],
            environment={"CXX": "c++"},  # the name that CMake finds; ccache distinguishes compilers by name
        )

    def install_wheel(self) -> Step:
        return Step(
            "wheel-install",
            "python: the wheel with everything, in the clean environment",
            [install_wheel(self.python, "[all]")],
            after=["wheel", "environment"],
        )

    def minimal(self) -> Step:
        """Test the wheel with only numpy installed."""
        python = self.outside / "minimal/bin/python3"
        return Step(
            "wheel-minimal",
            "python: the wheel with numpy alone",
            [
                ["python3", "-m", "venv", str(self.outside / "minimal")],
                install_wheel(python, ""),
                [str(python), "-B", "tests/python/minimal.py", "tests/golden/model-trees.safetensors"],
            ],
            after=["wheel"],
            read=last_line,
        )

    def tests(self, name: str, title: str, *arguments: str, measured: str = "") -> Step:
        """Test the installed package outside the source tree."""
        config = f"--config-file={ROOT / 'tests/python/pytest.ini'}"
        return Step(
            name,
            title,
            [["env", "-u", "WIDTHWISE_PROGRAM", str(self.python), *PYTEST, config, *arguments]],
            after=["wheel-install"],
            environment=self.environment,
            folder=self.outside,
            read=pytest_lines(measured),
        )

    def with_package(
        self, name: str, title: str, *arguments: str, read: Callable[[str], list[str]], after: str = "wheel-install"
    ) -> Step:
        """A command in the source tree that uses the installed package and the program of the release build."""
        return Step(
            name,
            title,
            [[str(self.python), "-B", *arguments]],
            after=[after],
            environment={**self.environment, "WIDTHWISE_PROGRAM": str(BUILD / "release/cli/widthwise")},
            read=read,
        )


def fixed_addresses() -> list[str]:
    """Disable address randomisation: the thread sanitizer needs its memory at fixed addresses."""
    works = subprocess.run(["setarch", "-R", "true"], capture_output=True, check=False).returncode == 0
    return ["setarch", "-R"] if works else []


# ---- the steps


def steps(outside: Path) -> list[Step]:
    package = Package(outside)
    folder = str(ROOT / "tests/python")
    measured = r"import widthwise: [0-9]+ ms|(numpy|pandas|polars) float[0-9]+: peak .*"
    passed = lines_of("^pass")
    listed = [
        Step("format", "format", [["tools/format", "--check"], ["tools/check_subject"]], cores=0),
        package.install(),
        build("release", cores=CORES),
        package.wheel(),
        package.install_wheel(),
        Step(
            "newer",
            "python: the newest Python and XGBoost",
            [["python3", "-B", ".ci/newer_python.py"]],
            after=["wheel"],
            read=pytest_lines(),
        ),
        package.tests("python", "python: tests of the package", folder, "-m", "not distributed", measured=measured),
        build(
            "asan-ubsan",
            cores=1,
            targets=[
                "widthwise_tests",
                "widthwise_xgboost_tests",
                "widthwise_io_tests",
                *(f"fuzz_{name}" for name in FUZZ_TARGETS),
            ],
        ),
        sanitized_tests(),
        Step("tidy", "clang-tidy", [["tools/tidy", "--changed", "--jobs", "1"]], read=last_line),
        ctest(
            "unit",
            "release: unit tests",
            "release",
            "--label-exclude",
            "^(slow|cli|acceptance|distributed|package)$",
        ),
        program_tests("cli", "release: the command line"),
        program_tests("distributed", "release: several processes", measured=r"^(exp|affine|[0-9]+ kills).*$"),
        package.tests("systems", "python: Spark, Dask and Ray", folder, "-m", "distributed"),
        package.with_package(
            "guarantee",
            "the guarantee, through every interface",
            *PYTEST[1:],
            "tests/guarantee",
            read=pytest_lines(),
        ),
        package.with_package("hostile", "hostile inputs", *PYTEST[1:], "tests/hostile", read=pytest_lines()),
        ctest("slow", "release: slow tests", "release", "--label-regex", "^slow$", "--exclude-regex", "^package"),
        ctest("package", "release: the installed package", "release", "--label-regex", "^package$"),
        program_tests("acceptance", "release: acceptance", measured=r"^[a-z_0-9]*: .*(worst slab|peak|old).*$"),
        Step(
            "bench",
            "release: benchmarks, smoke run",
            [[str(BUILD / "release/bench/widthwise_bench"), "--smoke"]],
            after=["release-build"],
        ),
        Step(
            "instructions",
            "release: instructions of the hottest kernels",
            [
                [
                    "python3",
                    "-B",
                    "bench/instructions/count.py",
                    str(BUILD / "release/bench/instructions/widthwise_kernels"),
                    "--jobs",
                    "1",
                ]
            ],
            after=["release-build"],
        ),
        package.minimal(),
        package.tests("doctest", "python: examples of the docstrings", "--doctest-modules", "--pyargs", "widthwise"),
        package.with_package(
            "experiments", "experiments: tests", *PYTEST[1:], "tests/experiments", read=pytest_lines()
        ),
        package.with_package("site", "documentation site", "tools/site", read=last_line),
        package.with_package(
            "release",
            "dry run of a release",
            *("tools/release", "--dry-run", "--built", "build/dist", "--site", "build/site/html"),
            read=last_line,
            after="site",
        ),
        build("tsan", cores=1, targets=["widthwise_tests"]),
        ctest(
            "tsan",
            "tsan: tests that start threads",
            "tsan",
            "--tests-regex",
            "(Shard|Thread|^File[.])",
            prefix=fixed_addresses(),
        ),
    ]
    if DATA:
        name = "field-quick"
        title = "experiments: quick form of the comparison"
        listed.append(package.with_package(name, title, "-m", "experiments.field", "--quick", read=passed))
    return listed


def only(step: Step, names: Sequence[str]) -> Step:
    return replace(step, after=[name for name in step.after if name in names])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--started", type=float, default=0, help="seconds that the caller has spent already")
    parser.add_argument("--only", nargs="*", default=[], help="steps to run, by the names of their logs")
    parser.add_argument("--keep-going", action="store_true", help="run on after a failure, but for what depends on it")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    outside = Path(tempfile.mkdtemp())
    try:
        chosen = steps(outside)
        if arguments.only:
            chosen = [only(step, arguments.only) for step in chosen if step.name in arguments.only]
        return run_steps(
            chosen, cores=CORES, logs=BUILD / "ci", elapsed=arguments.started, keep_going=arguments.keep_going
        )
    finally:
        shutil.rmtree(outside, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
