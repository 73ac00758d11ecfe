"""The installed package: import time, types, and the command."""

import importlib.metadata
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import poison

import widthwise


def seconds(statement):
    """The time Python takes to start and run a statement, best of seven."""
    best = float("inf")
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        best = min(best, time.perf_counter() - start)
    return best


def test_import_takes_less_than_150_ms():
    taken = seconds("import widthwise") - seconds("pass")
    print(f"import widthwise: {1000 * taken:.0f} ms")
    assert taken < 0.15


def test_arrays_come_without_other_libraries(run_python):
    done = run_python(
        "import sys, widthwise\n"
        "widthwise.Localizer, widthwise.Calibration, widthwise.Predictor, widthwise.plan\n"
        "heavy = {'sklearn', 'pandas', 'xgboost', 'torch', 'matplotlib', 'pyarrow', 'scipy'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_the_package_has_a_version_and_public_names():
    assert widthwise.__version__ == importlib.metadata.version("widthwise")
    assert {"WidthwiseRegressor", "Localizer", "report", "plot", "xgboost"} <= set(dir(widthwise))
    with pytest.raises(AttributeError, match="no attribute 'Regressor'"):
        widthwise.Regressor  # noqa: B018


BLOCKED = """
import importlib, inspect, pydoc, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

BLOCKED = {"sklearn", "pandas", "xgboost", "torch", "matplotlib", "pyarrow", "onnx", "pyspark", "dask", "duckdb"}
sys.meta_path.insert(0, Blocked())
import widthwise
"""


def test_help_never_raises_whatever_is_not_installed(run_python):
    done = run_python(
        BLOCKED
        + """
assert "Localizer" in pydoc.render_doc(widthwise)
members = dict(inspect.getmembers(widthwise))
assert {"Localizer", "Predictor", "WidthwiseRegressor", "report"} <= set(members)
for name in dir(widthwise):
    getattr(widthwise, name, None)
for name in widthwise._MODULES:
    assert not hasattr(widthwise, name), name
    assert getattr(widthwise, name, "default") == "default"
"""
    )
    assert done.returncode == 0, done.stderr


def test_missing_packages_are_named_where_they_are_needed(run_python):
    done = run_python(
        BLOCKED
        + """
from widthwise import WidthwiseRegressor, report

def refusal(action, kind):
    try:
        action()
    except kind as error:
        return str(error)
    raise AssertionError("no error")

assert "widthwise[sklearn]" in refusal(lambda: WidthwiseRegressor(goal="even"), ImportError)
assert "widthwise[sklearn]" in refusal(lambda: WidthwiseRegressor.load("m.safetensors"), AttributeError)
assert "widthwise[plot]" in refusal(lambda: importlib.import_module("widthwise.plot"), ImportError)
assert "expected a WidthwiseRegressor or a Predictor" in refusal(lambda: report(None, None, None), TypeError)
assert "widthwise[spark]" in refusal(lambda: widthwise.spark, AttributeError)
assert "widthwise[spark]" in refusal(lambda: importlib.import_module("widthwise.spark"), ImportError)
try:
    from widthwise import spark
except ImportError as error:
    assert "widthwise[spark]" in str(error)
else:
    raise AssertionError("no error")
BLOCKED.clear()
assert WidthwiseRegressor is not widthwise.WidthwiseRegressor, "once installed, it is there"
assert widthwise.WidthwiseRegressor().goal is None
"""
    )
    assert done.returncode == 0, done.stderr


def test_it_is_typed():
    folder = Path(widthwise.__file__).parent
    assert (folder / "py.typed").exists()
    assert "def intervals" in (folder / "_core.pyi").read_text()


def test_the_wheel_needs_numpy_alone():
    required = [line for line in importlib.metadata.requires("widthwise") if "extra ==" not in line]
    assert [line.split(">")[0] for line in required] == ["numpy"]


def test_mypy_finds_no_errors(tmp_path):
    pytest.importorskip("mypy")
    config = Path(__file__).parents[2] / "pyproject.toml"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", config, "--cache-dir", "/dev/null"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout


# ---- the command


def test_the_command_is_installed(program):
    done = program("--version")
    assert done.returncode == 0, done.stderr
    assert widthwise.__version__ in done.stdout
    done = program("plan", "--level", "0.9", "--tolerance", "0.01")
    assert "3,600 rows" in done.stdout


def test_the_command_fits_with_this_pythons_xgboost(program, rows, tmp_path):
    rows.frame().assign(y=rows.y).to_csv(tmp_path / "rows.csv", index=False)
    done = program("fit", "rows.csv", "--target", "y", "--base", "trees", "-o", "m.safetensors", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    predictor = widthwise.Predictor.load(tmp_path / "m.safetensors")
    assert predictor.features == ["size", "age", "noise"]


def test_no_code_in_the_current_folder_is_run(program, rows, tmp_path):
    marker, folder = tmp_path / "marker", tmp_path / "downloads"
    poison(folder, marker)
    rows.frame().assign(y=rows.y).to_csv(folder / "rows.csv", index=False)
    words = ["fit", "rows.csv", "--target", "y", "--base", "trees", "-o", "m.safetensors"]
    done = program(*words, cwd=folder)
    assert not marker.exists(), f"run: {marker.read_text()}"
    assert done.returncode == 0, done.stderr


WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None
from widthwise._command import main
main()
"""


def test_the_command_needs_pyarrow_only_for_tables(run_python, tmp_path):
    done = run_python(WITHOUT_ARROW, "plan", "--level", "0.9", "--tolerance", "0.01")
    assert done.returncode == 0 and "3,600 rows" in done.stdout, done.stderr
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n")
    done = run_python(WITHOUT_ARROW, "fit", "rows.csv", "--target", "y", "--base", "trees", "-o", "m.safetensors")
    assert done.returncode == 2
    assert done.stderr.startswith("widthwise fit: tables are read and written with pyarrow 17 or later"), done.stderr
    assert done.stderr.endswith("pip install 'widthwise[command]'\n")
