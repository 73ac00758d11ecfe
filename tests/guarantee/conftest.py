"""See README.md for how the suite works."""

import pytest

try:
    import checks
except ImportError as error:
    pytest.exit(
        f"{error}; tests/guarantee tests the installed package: install it and its needs as `make python` does", 4
    )


def pytest_report_header():
    form = "long" if checks.FULL else "short"
    size = f"{len(checks.CHECKS)} checks, {checks.CELLS} cells"
    return f"guarantee: {form} form, {size}, each of which fails below p = {checks.THRESHOLD:.2g}"
