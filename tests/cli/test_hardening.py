"""The program is hardened against memory errors."""

import os

import pytest
from hardening import check_hardening


def test_the_program_is_hardened():
    program = os.environ.get("WIDTHWISE_PROGRAM")
    if not program:
        pytest.skip("WIDTHWISE_PROGRAM is not set")
    check_hardening(program)
