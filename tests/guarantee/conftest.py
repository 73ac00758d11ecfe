"""See README.md for how the suite works."""

import checks


def pytest_report_header():
    form = "long" if checks.FULL else "short"
    size = f"{len(checks.CHECKS)} checks, {checks.CELLS} cells"
    return f"guarantee: {form} form, {size}, each of which fails below p = {checks.THRESHOLD:.2g}"
