"""The build uses pinned packages, and every library that is compiled in has a notice."""

import hashlib
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


LOCKS = ["requirements", "build", "wheels"]
PINNED_ACTION = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+(\.\d+)*$")
PINNED_IMAGE = re.compile(r"[\w./:-]+@sha256:[0-9a-f]{64}$")


def packages(file):
    """The names and versions in a requirements file."""
    found = re.findall(r"^([\w-]+)(?:\[\w+\])?==(\S+)", (ROOT / "tests" / file).read_text(), re.MULTILINE)
    return {name.lower().replace("_", "-"): version for name, version in found}


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_file_has_the_pins_and_a_hash_for_each(name):
    pins, locked = packages(f"{name}.txt"), packages(f"{name}.lock")
    assert pins
    assert {package: locked.get(package) for package in pins if package != "torch"} == {
        package: version for package, version in pins.items() if package != "torch"
    }, "run tools/lock"
    assert "torch" not in locked
    blocks = re.split(r"^(?=[\w-]+==)", (ROOT / f"tests/{name}.lock").read_text(), flags=re.MULTILINE)[1:]
    assert len(blocks) == len(locked)
    assert all("--hash=sha256:" in block for block in blocks)


@pytest.mark.parametrize("name", ["requirements", "build"])
def test_the_lock_files_contain_the_build_requirements(name):
    locked = packages(f"{name}.lock")
    build = re.search(r"^requires = \[(.*)\]", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
    for requirement in re.findall(r'"([^"]+)"', build):
        name, _, version = requirement.partition("==")
        assert locked[name.replace("_", "-")] == (version or locked[name.replace("_", "-")])


def test_packages_of_two_lock_files_have_the_same_version():
    found = {}
    for name in LOCKS:
        for package, version in packages(f"{name}.lock").items():
            found.setdefault(package, set()).add(version)
    assert {package: versions for package, versions in found.items() if len(versions) > 1} == {}


def test_workflows_install_with_hashes_and_pin_actions_and_images():
    for file in (ROOT / ".github/workflows").glob("*.yml"):
        text = file.read_text()
        for line in re.findall(r"^.*pip install.*$", text, re.MULTILINE):
            assert "--require-hashes" in line, (file.name, line)
        assert [used for used in re.findall(r"uses: (.*)", text) if not PINNED_ACTION.match(used)] == []
        assert [image for image in re.findall(r"container: (.*)", text) if not PINNED_IMAGE.match(image)] == []
        assert "permissions: {}" in text  # a job asks for what it needs
    settings = (ROOT / "pyproject.toml").read_text()
    images = re.findall(r'^manylinux-\w+-image = "(.*)"', settings, re.MULTILINE)
    assert len(images) == 2 and all(PINNED_IMAGE.match(image) for image in images)
    assert '"--no-isolation"' in settings, "a build in isolation installs packages without hashes"
    assert "--require-hashes" in re.search(r'^before-build = "(.*)"', settings, re.MULTILINE)[1]


def test_wheels_are_attested_by_a_job_without_build_steps():
    jobs = re.split(r"^  (?=\w+:\n)", (ROOT / ".github/workflows/wheels.yml").read_text(), flags=re.MULTILINE)
    attesting = [job for job in jobs if "actions/attest-build-provenance@" in job]
    assert len(attesting) == 1
    assert "id-token: write" in attesting[0] and "attestations: write" in attesting[0]
    assert "run:" not in attesting[0]
    assert all("write" not in job for job in jobs if job not in attesting)


def test_the_bill_of_materials_has_the_hash_of_every_library(tmp_path):
    """That of its headers, as sha256sum computes it."""
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("there is no cmake")
    headers = {
        "boost/math/a.hpp": "a",
        "boost/math/b/c.hpp": "c",
        "boost/other.hpp": "not compiled in",
        "CLI/Version.hpp": '#define CLI11_VERSION "2.1.2"\n',
        "fmt/core.h": "#define FMT_VERSION 90100\n",
        "nlohmann/json.hpp": "json",
        "xxhash.h": "".join(
            f"#define XXH_VERSION_{part} {n}\n" for n, part in enumerate(("MAJOR", "MINOR", "RELEASE"))
        ),
        "nanobind/include/nanobind.h": "nanobind",
        "nanobind/src/nb.cpp": "source",
        "nanobind/ext/robin_map/include/tsl/robin_map.h": "robin",
    }
    folder = tmp_path / "include"
    for name, text in headers.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    libraries = ("BOOST_MATH", "CLI11", "FMT", "NLOHMANN_JSON", "XXHASH")
    variables = [f"-DWIDTHWISE_{name}_INCLUDE_DIR={folder}" for name in libraries] + [f"-DNB_DIR={folder / 'nanobind'}"]
    subprocess.run([cmake, *variables, "-P", ROOT / "python/sbom.cmake"], cwd=tmp_path, check=True)
    found = json.loads((tmp_path / "widthwise.cdx.json").read_text())["components"]
    hashes = {component["name"]: component["hashes"] for component in found}

    def expected(base, *names):
        lines = "".join(
            f"{hashlib.sha256((folder / base / name).read_bytes()).hexdigest()}  {name}\n" for name in names
        )
        return [{"alg": "SHA-256", "content": hashlib.sha256(lines.encode()).hexdigest()}]

    assert hashes == {
        "Boost": expected(".", "boost/math/a.hpp", "boost/math/b/c.hpp"),
        "CLI11": expected(".", "CLI/Version.hpp"),
        "fmt": expected(".", "fmt/core.h"),
        "nanobind": expected("nanobind", "include/nanobind.h", "src/nb.cpp"),
        "nlohmann-json": expected(".", "nlohmann/json.hpp"),
        "robin-map": expected("nanobind/ext/robin_map/include", "tsl/robin_map.h"),
        "xxHash": expected(".", "xxhash.h"),
    }


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
        assert [re.fullmatch("[0-9a-f]{64}", one["content"]) is not None for one in component["hashes"]] == [True]
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
