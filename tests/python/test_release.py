"""The version is stated once in each file, tools/release changes all of them, and the files of .github are valid."""

import importlib.machinery
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATED = [
    "include/widthwise/version.hpp",
    "CITATION.cff",
    "docs/cpp.md",
    "packaging/vcpkg/widthwise/vcpkg.json",
    "CHANGELOG.md",
]


@pytest.fixture(scope="module")
def release():
    """tools/release as a module."""
    loader = importlib.machinery.SourceFileLoader("release", str(ROOT / "tools/release"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    loader.exec_module(module)
    return module


@pytest.fixture
def copy(tmp_path):
    """The files that state the version, and a new entry in the changelog."""
    for name in STATED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("## [Unreleased]\n", "## [Unreleased]\n\n- An entry.\n", 1))
    return tmp_path


def stated_versions(root):
    """The version in each file but the changelog."""
    header = (root / "include/widthwise/version.hpp").read_text()
    [minor] = re.findall(r"find_package\(widthwise ([\d.]+)", (root / "docs/cpp.md").read_text())
    return {
        "macros": ".".join(re.findall(r"#define WIDTHWISE_VERSION_\w+ (\d+)", header)),
        "kVersion": re.search(r'kVersion = "(.*)"', header)[1],
        "CITATION.cff": re.search(r"^version: (.*)$", (root / "CITATION.cff").read_text(), re.MULTILINE)[1],
        "vcpkg.json": json.loads((root / "packaging/vcpkg/widthwise/vcpkg.json").read_text())["version"],
        "docs/cpp.md": f"{minor}.",
        "output in docs/cpp.md": re.search(r"^widthwise ([\d.]+): ", (root / "docs/cpp.md").read_text(), re.MULTILINE)[
            1
        ],
    }


def check_versions(root, version):
    for place, stated in stated_versions(root).items():
        assert version.startswith(stated) if place == "docs/cpp.md" else stated == version, place


def test_all_files_state_the_same_version(release):
    check_versions(ROOT, release.current_version(ROOT))


def test_a_release_changes_all_files(release, copy):
    assert sorted(release.write_version(copy, "1.20.3", "2030-01-31")) == sorted(STATED)
    check_versions(copy, "1.20.3")
    assert "\ndate-released: 2030-01-31\n" in (copy / "CITATION.cff").read_text()
    assert "## [Unreleased]\n\n## [1.20.3] - 2030-01-31\n" in (copy / "CHANGELOG.md").read_text()


def test_a_second_release_needs_new_entries_in_the_changelog(release, copy):
    release.write_version(copy, "1.20.3", "2030-01-31")
    with pytest.raises(release.ReleaseError, match="Unreleased is empty"):
        release.write_version(copy, "1.21.0", "2030-02-28")
    release.write_version(copy, "1.21.0", "2030-02-28", dry_run=True)


def test_versions_are_three_numbers(release):
    assert release.next_minor("0.9.4") == "0.10.0"
    with pytest.raises(release.ReleaseError, match="expected three numbers"):
        release.parse("1.0rc1")


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("github-workflows", ".github/workflows/*.yml"),
        ("dependabot", ".github/dependabot.yml"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/*.yml"),
        ("citation-file-format", "CITATION.cff"),
    ],
)
def test_files_follow_their_schema(schema, pattern):
    pytest.importorskip("check_jsonschema")
    files = [file for file in sorted(ROOT.glob(pattern)) if file.name != "config.yml"]
    assert files
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_have_no_known_weakness():
    program = Path(sys.executable).with_name("zizmor")
    if not program.exists():
        pytest.skip("zizmor is not installed")
    command = [program, "--offline", "--no-progress", ROOT / ".github"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
