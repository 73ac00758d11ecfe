"""Run the Python examples of a Markdown file, and compare their output with the file.

The ```python blocks run in order, in one namespace and an empty folder. A ```text block right after one of them is its
expected output: the same words, and numbers that differ by at most 2% (other processors and library versions round
differently).

    python tests/python/markdown.py README.md               # run and compare
    python tests/python/markdown.py --write docs/flights.md # run, and write the output into the file
"""

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<text>.*?)^```\n)?", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?")
TOLERANCE = 0.02


def words_and_numbers(text):
    """The text with # in place of numbers and without line breaks, and the numbers."""
    numbers = [float(number.replace(",", "")) for number in NUMBER.findall(text)]
    return " ".join(NUMBER.sub("#", text).split()), numbers


def same(expected, found):
    """Whether two texts have the same words and nearly the same numbers."""
    expected_words, expected_numbers = words_and_numbers(expected)
    found_words, found_numbers = words_and_numbers(found)
    if expected_words != found_words or len(expected_numbers) != len(found_numbers):
        return False
    return all(
        abs(a - b) <= TOLERANCE * max(abs(a), abs(b)) for a, b in zip(expected_numbers, found_numbers, strict=True)
    )


def run(file):
    """Run the blocks of a file. Yield each block with its output."""
    namespace = {"__name__": "__main__"}
    text = Path(file).read_text()
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in BLOCK.finditer(text):
                line = text[: block.start()].count("\n") + 2
                # Errors then show line numbers of the Markdown file.
                code = compile("\n" * (line - 1) + block["code"], str(file), "exec")
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(code, namespace)
                yield block, printed.getvalue()
        finally:
            os.chdir(home)


def differences(file):
    """The differences between the output and the file, as a list of texts."""
    found = []
    for block, printed in run(file):
        if block["text"] is not None and not same(block["text"], printed):
            found.append(f"{file} says\n{block['text']}\nbut this is printed:\n{printed}")
        if block["text"] is None and printed:
            found.append(f"{file} says nothing of what is printed:\n{printed}")
    return found


def write(file):
    """Write the output into the file."""
    text = Path(file).read_text()
    for block, printed in list(run(file)):
        code = f"```python\n{block['code']}```\n"
        new = code + (f"\n```text\n{printed}```\n" if printed else "")
        text = text.replace(block[0], new)
    Path(file).write_text(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put what is printed into the file")
    parser.add_argument("files", nargs="+", type=lambda name: Path(name).resolve())
    arguments = parser.parse_args()
    problems = []
    for markdown in arguments.files:
        if arguments.write:
            write(markdown)
        else:
            problems += differences(markdown)
    sys.exit("\n".join(problems) or None)
