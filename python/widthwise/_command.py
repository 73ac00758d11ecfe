"""The command `widthwise`: starts the C++ program of this package with the libraries of this Python."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

ARROW = "libarrow.so.2600"  # the library that the program is linked with


def _folder_of(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or []) if spec else []
    return Path(folders[0]) if folders else None


def main() -> int:
    """Replace this process with the program."""
    program = Path(__file__).with_name("bin") / "widthwise"
    arrow = _folder_of("pyarrow")
    if arrow is None or not (arrow / ARROW).exists():
        found = "there is none here" if arrow is None else "another is installed"
        print(
            f"widthwise: the command reads tables with pyarrow {ARROW[-4:-2]}, and {found}: "
            "pip install 'widthwise[command]'",
            file=sys.stderr,
        )
        return 1
    environment = dict(os.environ)
    folders = [str(arrow), *filter(None, [environment.get("LD_LIBRARY_PATH")])]
    environment["LD_LIBRARY_PATH"] = os.pathsep.join(folders)
    xgboost = _folder_of("xgboost")
    if xgboost is not None:
        environment.setdefault("WIDTHWISE_XGBOOST", str(xgboost / "lib" / "libxgboost.so"))
    os.execve(program, [sys.argv[0], *sys.argv[1:]], environment)


if __name__ == "__main__":
    sys.exit(main())
