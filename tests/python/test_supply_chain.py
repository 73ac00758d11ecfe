"""The build uses pinned packages, and every library that is compiled in has a notice."""

import importlib.metadata
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hardening import check_hardening

import widthwise

ROOT = Path(__file__).parents[2]
OWN = re.compile(r"widthwise/")
SYSTEM = re.compile(
    r"[a-z_0-9]+$|(sys|net|netinet|arpa)/|(unistd|fcntl|poll|dirent|sched|link|dlfcn|pthread|emmintrin)\.h$"
)
SYSTEM_LIBRARY = re.compile(r"lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s)\.so|ld-linux")


def packages(file):
    """The names and versions in a requirements file."""
    found = re.findall(r"^([\w-]+)(?:\[\w+\])?==(\S+)", (ROOT / "tests" / file).read_text(), re.MULTILINE)
    return {name.lower().replace("_", "-"): version for name, version in found}


def test_the_lock_file_has_the_pins_and_a_hash_for_each():
    pins, locked = packages("requirements.txt"), packages("requirements.lock")
    assert {name: locked.get(name) for name in pins} == {**pins, "torch": None}, "run tools/lock"
    blocks = re.split(r"^(?=[\w-]+==)", (ROOT / "tests/requirements.lock").read_text(), flags=re.MULTILINE)[1:]
    assert len(blocks) == len(locked)
    assert all("--hash=sha256:" in block for block in blocks)
    build = re.search(r"^requires = \[(.*)\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    for requirement in re.findall(r'"([^"]+)"', build):
        name, _, version = requirement.partition("==")
        assert locked[name.replace("_", "-")] == (version or locked[name.replace("_", "-")])


@pytest.fixture(scope="module")
def installed():
    """Files of the installed wheel, by path in its metadata folder."""
    try:
        files = importlib.metadata.distribution("widthwise").files or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("widthwise is not installed as a wheel")
    return {str(file).partition(".dist-info/")[2]: Path(file.locate()) for file in files}


@pytest.fixture(scope="module")
def components(installed):
    bill = json.loads(installed["sboms/widthwise.cdx.json"].read_text())
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["version"] == widthwise.__version__
    return bill["components"]


def values(components, name):
    return [p["value"] for component in components for p in component["properties"] if p["name"] == name]


def test_every_library_compiled_in_is_in_the_bill_of_materials(components):
    known = values(components, "widthwise:headers")
    sources = [file for folder in ("src", "include", "cli", "python/src") for file in (ROOT / folder).rglob("*.?pp")]
    included = {
        header
        for file in sources
        if not {"torch", "libarrow"} & set(file.relative_to(ROOT).parts) and file.stem != "torch"
        for header in re.findall(r"^#include <([^>]+)>", file.read_text(), re.MULTILINE)
    }
    foreign = {header for header in included if not OWN.match(header) and not SYSTEM.match(header)}
    assert [header for header in sorted(foreign) if not header.startswith(tuple(known))] == []
    unused = [name for name in known if not any(header.startswith(name) for header in foreign)]
    assert unused == ["tsl/"], "nanobind compiles its own copy of robin-map in"


def test_every_library_linked_is_in_the_bill_of_materials(components, needed_libraries):
    known = tuple(values(components, "widthwise:library"))
    foreign = {library for library in needed_libraries if not SYSTEM_LIBRARY.match(library)}
    assert [library for library in foreign if not library.startswith(known)] == []


@pytest.fixture(scope="module")
def needed_libraries():
    """The libraries with which the module is linked."""
    if shutil.which("readelf") is None:
        pytest.skip("there is no readelf")
    folder = Path(widthwise.__file__).parent
    needed = set()
    for file in folder.glob("_core*.so"):
        done = subprocess.run(["readelf", "--dynamic", file], capture_output=True, text=True, check=True)
        needed |= set(re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout))
    assert needed
    return needed


def test_every_library_in_the_bill_has_a_version_and_a_notice(components, installed):
    for component in components:
        version = component.get("version", "unknown")
        assert component["name"] == "robin-map" or re.fullmatch(r"\d+\.\d+\.\d+", version), (
            "a part of nanobind has none"
        )
        assert component["purl"].partition("/")[2] in (f"{component['name'].lower()}@{version}", "robin-map")
        notice = installed[f"licenses/licenses/{component['name']}.txt"].read_text()
        assert "Copyright" in notice or component["name"] == "Boost"
    assert "BSD 3-Clause" in installed["licenses/LICENSE"].read_text()


def test_the_module_is_hardened():
    files = list(Path(widthwise.__file__).parent.glob("_core*.so"))
    assert files
    for file in files:
        check_hardening(file)


def test_the_module_exports_only_its_entry_point():
    """Another copy of a library in the same process cannot clash with what is compiled in."""
    if shutil.which("nm") is None:
        pytest.skip("there is no nm")
    for file in Path(widthwise.__file__).parent.glob("_core*.so"):
        command = ["nm", "--dynamic", "--defined-only", "--format=posix", file]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert [line.split()[0] for line in done.stdout.splitlines()] == ["PyInit__core"]
