"""The documents agree with the sources and with each other."""

import importlib.util
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

from widthwise import Predictor

ROOT = Path(__file__).parents[2]
SOURCES = ("src/**/*.cpp", "src/**/*.hpp", "cli/*.cpp", "python/**/*.py", "python/src/**/*.cpp", "python/src/**/*.hpp")


def joined_strings(text):
    """The text without the breaks between adjacent string literals."""
    return re.sub(r'"\s*\n\s*f?"', "", text)


def test_the_errors_page_quotes_real_messages():
    sources = "\n".join(joined_strings(file.read_text()) for pattern in SOURCES for file in ROOT.glob(pattern))
    page = (ROOT / "docs/errors.md").read_text()
    quoted = [
        message for row in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for message in re.findall("`([^`]+)`", row)
    ]
    assert len(quoted) > 30
    assert [message for message in quoted if message not in sources] == []


def test_every_page_has_a_place_on_the_site():
    index = (ROOT / "docs/site/index.md").read_text()
    pages = {file.relative_to(ROOT).with_suffix("").as_posix() for file in ROOT.glob("docs/**/*.md")}
    assert {page for page in pages if page not in index} == {"docs/site/index"}


def test_the_page_on_extending_quotes_code_that_is_tested():
    tests = (ROOT / "tests/xgboost/extending_test.cpp").read_text()
    parts = re.findall(r"^ *// \[\w+\]\n(.*?)^ *// \[end\]\n", tests, re.MULTILINE | re.DOTALL)
    page = (ROOT / "docs/extending.md").read_text()
    quoted = re.findall(r"^```cpp\n(.*?)^```\n", page, re.MULTILINE | re.DOTALL)
    assert sorted(quoted) == sorted(textwrap.dedent(part) for part in parts)


@pytest.fixture(scope="module")
def reader():
    spec = importlib.util.spec_from_file_location("read_model", ROOT / "examples/read_model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("feature", ["trees", "online", "sketches", "outcome-step"])
@pytest.mark.parametrize("level", ["0.5", "0.9", "0.999"])
@pytest.mark.filterwarnings("ignore:intervals of level 0.999 are infinite")
def test_a_reader_in_plain_python_computes_the_same_intervals(reader, feature, level):
    file = ROOT / f"tests/golden/model-{feature}.safetensors"
    rows = np.random.default_rng(0).normal(0, 5, (50, 3))
    rows[::7, 1] = np.nan
    predictor = Predictor.load(file)
    predictions, bounds = predictor.predict_interval(rows, confidence_level=float(level))
    read = np.array([reader.interval(file, level, row) for row in rows.tolist()])
    assert np.array_equal(read[:, 0], predictions)
    np.testing.assert_allclose(read[:, 1:], bounds[:, :, 0], rtol=1e-12, atol=1e-12)


SCHEMES = {"weights", "weight-column", "folds", "groups", "clusters", "cluster-rows", "group-clusters"}


@pytest.mark.parametrize("feature", sorted({"guarantee", "categories", "net", "quantiles", "predictions"} | SCHEMES))
def test_the_reader_refuses_what_it_does_not_know(reader, feature):
    """A field that it does not read would make its intervals wrong. Groups and clusters need not have a name."""
    file = ROOT / f"tests/golden/model-{feature}.safetensors"
    with pytest.raises(SystemExit, match="this reader knows only trees"):
        reader.interval(file, "0.9", [1, 2, 3])
    _, arrays = reader.read_file(file)
    if feature in SCHEMES:
        with pytest.raises(SystemExit, match="only calibrations without groups"):
            reader.calibration_scores([*arrays["calibration"], *bytes(64)])


def test_the_page_names_the_format_that_is_written():
    written = (ROOT / "include/widthwise/model_file.hpp").read_text()
    number = int(re.search(r"kModelFormat = (\d+);", written)[1])
    page = " ".join((ROOT / "docs/model-file.md").read_text().split())
    assert f"The format is number {number}." in page


def test_the_page_on_cpp_shows_the_example_and_its_output(reader):
    page = (ROOT / "docs/cpp.md").read_text()
    for kind, file in {"c++": "main.cpp", "cmake": "CMakeLists.txt"}.items():
        assert f"```{kind}\n{(ROOT / 'examples/find_package' / file).read_text()}```\n" in page
    row, shown = re.search(r"build/intervals (\S+ .*)\nwidthwise [\d.]+: (.*)\n", page).groups()
    file, *numbers = row.split()
    found = reader.interval(ROOT / "tests/golden" / file, "0.9", [float(number) for number in numbers])
    assert shown == "{:.6g}, 90%: {:.6g} to {:.6g}".format(*found)
