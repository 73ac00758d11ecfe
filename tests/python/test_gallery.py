"""The Python examples of examples/ run as written, and print coverage and widths that make sense."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import markdown
import pytest

ROOT = Path(__file__).parents[2]
# Each example with the modules it needs.
EXAMPLES = {
    "catboost_prefit": ["catboost", "pandas"],
    "drift_stream": [],
    "duckdb_sql": ["duckdb", "pandas"],
    "lightgbm_quantiles": ["lightgbm"],
    "onnx_runtime": ["onnx", "onnxruntime"],
    "sklearn_pipeline": ["pandas"],
    "spark_scoring": ["pandas", "pyspark"],
    "torch_network": ["torch"],
}
PRINTED = re.compile(r"\n# Output:\n((?:#.*\n)+)$")


def test_every_example_is_tested_and_listed():
    files = {file.stem for file in (ROOT / "examples").glob("*.py")}
    assert files == {*EXAMPLES, "read_model"}  # test_documents.py tests the reader
    readme = (ROOT / "examples/README.md").read_text()
    assert "[read_model.py](read_model.py)" in readme
    for name in EXAMPLES:
        assert f"[{name}.py]({name}.py)" in readme
        assert f"`python examples/{name}.py`" in readme


def test_every_example_begins_with_a_title_and_a_summary():
    for name in EXAMPLES:
        title, underline, blank, summary = (ROOT / f"examples/{name}.py").read_text().splitlines()[1:5]
        assert underline == "=" * len(title)
        assert (blank, bool(summary)) == ("", True)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.cluster] if "spark" in name else []) for name in EXAMPLES]
)
def test_example_prints_what_its_last_lines_say(name, tmp_path):
    for module in EXAMPLES[name]:
        pytest.importorskip(module)
    if "spark" in name and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, which is not installed")
    file = ROOT / f"examples/{name}.py"
    done = subprocess.run(
        [sys.executable, "-B", file],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1", "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr or "spark" in name, done.stderr  # Spark warns of this and that
    shown = PRINTED.search(file.read_text())[1].replace("# ", "").replace("#\n", "\n")
    assert markdown.same(shown, done.stdout), done.stdout
    # The 2,000 or 3,000 new rows and the calibration rows together vary by about a percentage point.
    last = re.fullmatch(r"[^:]+: coverage ([0-9.]+)%, mean width ([0-9.]+).*", done.stdout.splitlines()[-1])
    assert 87 < float(last[1]) < 93
    assert float(last[2]) > 0
