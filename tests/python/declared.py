"""Run a script with only the packages of an extra importable, as after `pip install 'widthwise[EXTRA]'`.

    python tests/python/declared.py EXTRA SCRIPT [ARGUMENTS]     # SCRIPT may be - for standard input

The requirements of an extra come from pyproject.toml, and those of its packages from their metadata. All other
installed packages are hidden. This is exact and needs no second environment.
"""

import importlib.metadata
import re
import runpy
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

import tomllib
from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements_of(name, extras):
    """The requirements of a distribution with these extras."""
    if canonical(name) == PROJECT["name"]:
        texts = [
            *PROJECT["dependencies"],
            *(text for extra in extras for text in PROJECT["optional-dependencies"][extra]),
        ]
        return [Requirement(text) for text in texts]
    found = map(Requirement, importlib.metadata.requires(name) or [])
    return [
        requirement
        for requirement in found
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras))
    ]


def closure(name, extras):
    """The distributions that `pip install name[extras]` installs."""
    seen = set()
    waiting = [(name, frozenset(extras))]
    while waiting:
        entry = waiting.pop()
        if entry in seen:
            continue
        seen.add(entry)
        waiting += [(canonical(needed.name), frozenset(needed.extras)) for needed in requirements_of(*entry)]
    return {canonical(found) for found, _ in seen}


class Hidden(MetaPathFinder):
    """Rejects the import of modules of other distributions."""

    def __init__(self, extra):
        allowed = closure(PROJECT["name"], [extra])
        self.extra = extra
        self.modules = {
            module
            for module, distributions in importlib.metadata.packages_distributions().items()
            if not allowed & set(map(canonical, distributions))
        }

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.modules:
            text = f"No module named {name!r} among those of widthwise[{self.extra}]"
            raise ModuleNotFoundError(text, name=name)


if __name__ == "__main__":
    _, extra, script, *arguments = sys.argv
    hidden = Hidden(extra)
    for module in list(sys.modules):  # imported while collecting the requirements
        if module.partition(".")[0] in hidden.modules:
            del sys.modules[module]
    sys.meta_path.insert(0, hidden)
    sys.argv = [script, *arguments]
    if script == "-":
        exec(compile(sys.stdin.read(), "<stdin>", "exec"), {"__name__": "__main__"})
    else:
        sys.path.insert(0, str(Path(script).parent))
        runpy.run_path(script, run_name="__main__")
