"""The Python examples of examples/ run as written, and print coverage and widths that make sense."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import markdown
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# Examples that run in a process of their own, each with the modules it needs.
SCRIPTS = {
    "catboost_prefit": ["catboost", "pandas"],
    "choose_goal": [],
    "drift_stream": [],
    "duckdb_sql": ["duckdb", "pandas"],
    "lightgbm_quantiles": ["lightgbm"],
    "onnx_runtime": ["onnx", "onnxruntime"],
    "sklearn_pipeline": ["pandas"],
    "torch_network": ["torch"],
}
SHOWN = re.compile(r"\n# Output:\n((?:#.*\n)+)$")


def check(file, printed):
    """The output is that at the end of the file, and coverage is near the level of 90%."""
    shown = re.sub("^# ?", "", SHOWN.search(file.read_text())[1], flags=re.MULTILINE)
    assert markdown.same(shown, printed), printed
    # Calibration sets of 750 rows or more and 2,000 new rows or more: three standard deviations are at most 4%.
    last = re.fullmatch(r"[^:]+: coverage ([0-9.]+)%, mean width ([0-9.]+)( minutes)?", printed.splitlines()[-1])
    assert 86 < float(last[1]) < 94
    assert float(last[2]) > 0


def test_every_example_is_run_and_listed():
    names = {file.stem for file in EXAMPLES.glob("*.py")}
    assert names == {*SCRIPTS, "spark_scoring", "read_model"}  # test_documents.py runs the reader of model files
    readme = (EXAMPLES / "README.md").read_text()
    for name in names:
        assert f"[{name}.py]({name}.py)" in readme
        assert f"`python examples/{name}.py`" in readme


def test_every_example_begins_with_a_title_and_a_summary():
    for file in EXAMPLES.glob("*.py"):
        title, underline, blank, summary = file.read_text().splitlines()[1:5]
        assert underline == "=" * len(title)
        assert (blank, bool(summary)) == ("", True)


@pytest.mark.parametrize("name", SCRIPTS)
def test_example_prints_what_it_shows(name, tmp_path):
    for module in SCRIPTS[name]:
        pytest.importorskip(module)
    file = EXAMPLES / f"{name}.py"
    done = subprocess.run(
        [sys.executable, "-B", file],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    check(file, done.stdout)


@pytest.mark.distributed
def test_example_of_spark_prints_what_it_shows(spark, tmp_path, monkeypatch, capsys):
    """In this process, with the session of the other tests: starting Spark takes longer than the example."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(type(spark), "stop", lambda session: None)
    file = EXAMPLES / "spark_scoring.py"
    runpy.run_path(str(file))
    check(file, capsys.readouterr().out)
