"""Run the Python examples of a Markdown file, and compare their output with the file.

The ```python blocks run in order, in one namespace and an empty folder. A ```text block right after one of them is its
expected output: the same words, and numbers that differ by at most 2% (other processors and library versions round
differently). With `commands`, the commands `$ widthwise ...` of ```console blocks run as well, in the same folder, and the
lines after a command are its expected output. Other commands are not run, and neither is a block right after
`<!-- test: NAME -->`, which a test of its own runs.

    python tests/python/markdown.py README.md               # run and compare
    python tests/python/markdown.py --write docs/flights.md # run, and write the output into the file
"""

import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(
    r"^```(?P<kind>python|console)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<text>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?")
OWN_TEST = re.compile(r"<!-- test: \w+ -->\n\Z")
TOLERANCE = 0.02


def words_and_numbers(text):
    """The text with # in place of numbers and without line breaks, and the numbers."""
    numbers = [float(number.replace(",", "")) for number in NUMBER.findall(text)]
    return " ".join(NUMBER.sub("#", text).split()), numbers


def same(expected, found, words=False):
    """Whether two texts have the same words and nearly the same numbers."""
    expected_words, expected_numbers = words_and_numbers(expected)
    found_words, found_numbers = words_and_numbers(found)
    if expected_words != found_words or len(expected_numbers) != len(found_numbers):
        return False
    return words or all(
        abs(a - b) <= TOLERANCE * max(abs(a), abs(b)) for a, b in zip(expected_numbers, found_numbers, strict=True)
    )


def run_code(code, name, line, namespace):
    """Run a block of Python; return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(
            compile("\n" * (line - 1) + code, name, "exec"), namespace
        )  # errors show line numbers of the Markdown file
    return printed.getvalue()


def run_commands(text):
    """Run the commands of a console block; return the block with their output."""
    lines = []
    for step in re.split(r"^(?=\$ )", text, flags=re.MULTILINE):
        command = step.partition("\n")[0].removeprefix("$ ")
        if not command.startswith("widthwise "):
            lines.append(step)
            continue
        done = subprocess.run(
            command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
        )
        lines.append(f"$ {command}\n{done.stdout}")
    return "".join(lines)


def run(file, commands):
    """Run the blocks of a file. Yield each block, what the file says of its output, and the output."""
    namespace = {"__name__": "__main__"}
    text = Path(file).read_text()
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block in BLOCK.finditer(text):
                before = text[: block.start()]
                if OWN_TEST.search(before):
                    continue
                line = before.count("\n") + 2
                if block["kind"] == "python":
                    yield block, block["text"] or "", run_code(block["code"], str(file), line, namespace)
                elif commands:
                    yield block, block["code"], run_commands(block["code"])
        finally:
            os.chdir(home)


def differences(file, commands=False, words=False):
    """The differences between the output and the file, as a list of texts."""
    return [
        f"{file} says\n{expected}\nbut this is printed:\n{printed}"
        for _, expected, printed in run(file, commands)
        if not same(expected, printed, words)
    ]


def with_output(block, printed):
    """A block with its output."""
    if block["kind"] == "console":
        return f"```console\n{printed}```\n"
    return f"```python\n{block['code']}```\n" + (f"\n```text\n{printed}```\n" if printed else "")


def write(file, commands=False):
    """Write the output into the file."""
    text = Path(file).read_text()
    for block, _, printed in list(run(file, commands)):
        text = text.replace(block[0], with_output(block, printed))
    Path(file).write_text(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put what is printed into the file")
    parser.add_argument("--commands", action="store_true", help="also run the commands of the program")
    parser.add_argument("--words", action="store_true", help="compare no numbers, for other versions of the libraries")
    parser.add_argument("files", nargs="+", type=lambda name: Path(name).resolve())
    arguments = parser.parse_args()
    problems = []
    for markdown in arguments.files:
        if arguments.write:
            write(markdown, arguments.commands)
        else:
            problems += differences(markdown, arguments.commands, arguments.words)
    sys.exit("\n".join(problems) or None)
