"""Check with readelf that a program or a shared library has the properties of cmake/hardening.cmake."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ENDBR64 = b"\xf3\x0f\x1e\xfa"  # valid target of an indirect call or jump


def readelf(file, *options):
    if shutil.which("readelf") is None:
        pytest.skip("there is no readelf")
    return subprocess.run(["readelf", "--wide", *options, str(file)], capture_output=True, text=True, check=True).stdout


def check_hardening(file):
    """Fail unless the file is hardened."""
    dynamic = readelf(file, "--dynamic")
    assert re.search(r"\(FLAGS\).*BIND_NOW|\(BIND_NOW\)|\(FLAGS_1\).*NOW", dynamic), "functions are bound when called"
    for paths in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
        assert all(path.startswith(("/", "$ORIGIN")) for path in paths.split(":")), f"a path of any folder: {paths}"
    segments = readelf(file, "--program-headers")
    assert "GNU_RELRO" in segments
    assert not re.search(r"GNU_STACK.*RWE", segments), "the stack can be executed"
    assert re.search(r"Elf file type is DYN", segments), "the addresses are fixed"
    symbols = readelf(file, "--dyn-syms")
    assert "__stack_chk_fail" in symbols, "no stack protector"
    assert re.search(r"__\w+_chk\b", symbols.replace("__stack_chk_fail", "")), "no _FORTIFY_SOURCE"
    if "libstdc++" in dynamic:  # the checks of libc++ need no function
        assert "__glibcxx_assert_fail" in symbols, "no _GLIBCXX_ASSERTIONS"
    if "X86-64" in readelf(file, "--file-header"):
        # Linkers mark the file only if the startup code of the C library is compiled with CET as well.
        functions = readelf(file, "--debug-dump=frames").count(" FDE ")
        assert Path(file).read_bytes().count(ENDBR64) > functions > 0, "no -fcf-protection"
