"""Tests of tools/check_lengths on small files."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools/check_lengths"


def output_of(source):
    """Return the exit code and the output of the script for one file of a folder."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "module.py").write_text(source, encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.replace(folder, "").strip()


class CheckLengths(unittest.TestCase):
    def test_sixty_lines_after_a_docstring_are_accepted(self):
        body = "    x = 1\n" * 60
        self.assertEqual(output_of(f'def short(\n    x,\n):\n    """Text.\n\n    More.\n    """\n{body}'), (0, ""))

    def test_a_longer_function_is_named_with_its_line_and_length(self):
        body = "        x = 1\n" * 61
        code, output = output_of(f"class A:\n    def long(self):\n{body}")
        self.assertEqual((code, output), (1, "/module.py:2: long has 61 lines; expected at most 60"))


if __name__ == "__main__":
    unittest.main()
