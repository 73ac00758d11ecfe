"""The command `widthwise`: runs the command line of the C++ library in this process."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path


def main() -> None:
    """Run the command; ends this process."""
    spec = importlib.util.find_spec("xgboost")
    if spec is not None and spec.submodule_search_locations:
        library = Path(spec.submodule_search_locations[0]) / "lib" / "libxgboost.so"
        os.environ.setdefault("WIDTHWISE_XGBOOST", str(library))
    # OpenBLAS starts threads when NumPy is imported, and interrupts the process if it cannot. The command needs none.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from widthwise import _core

    if not hasattr(_core, "run_command"):
        sys.exit("widthwise: this build has no command line; configure with -DWIDTHWISE_CLI=ON")
    _core.run_command([os.fsencode(word) for word in ("widthwise", *sys.argv[1:])])


if __name__ == "__main__":
    main()
