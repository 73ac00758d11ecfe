#!/usr/bin/env python3
"""Compile and run the C++ examples of a Markdown document, and compare their output with the document.

The first ```cpp block is an example, and so is every ```cpp block after a comment <!-- test: NAME -->. An example is a
complete program. If the next fenced block is ```text or ```output, the example must print exactly that.

Usage: check_examples.py DOCUMENT --work-dir DIR -- COMPILER [ARGUMENT...]
A source file is inserted after the compiler, and -o FILE at the end. Exits with 1 if an example fails, and with 77 if
there is no document.
"""

import argparse
import difflib
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SKIPPED = 77
OPENING = re.compile(r"^ {0,3}(`{3,})\s*([^\s`]*)[^`]*$")
TEST_COMMENT = re.compile(r"^\s*<!--\s*test:\s*([\w.-]+)\s*-->\s*$")


@dataclass
class Block:
    language: str
    text: str
    line: int  # line number of the first line of the text
    test: str | None  # from the comment before it


@dataclass
class Example:
    name: str
    code: str
    line: int
    output: str | None


class DocumentError(Exception):
    pass


def blocks_of(document):
    """Return the fenced blocks of a Markdown text."""
    blocks = []
    fence = None
    test = None
    for number, line in enumerate(document.splitlines(), 1):
        if fence is not None:
            if line.strip().startswith(fence) and not line.strip().strip("`"):
                fence = None
            else:
                blocks[-1].text += line + "\n"
        elif opening := OPENING.match(line):
            fence = opening.group(1)
            blocks.append(Block(opening.group(2), "", number + 1, test))
            test = None
        elif comment := TEST_COMMENT.match(line):
            test = comment.group(1)
        elif line.strip() and test is not None:
            raise DocumentError(f"line {number}: no ```cpp block follows the comment 'test: {test}'")
    if fence is not None:
        raise DocumentError(f"line {blocks[-1].line - 1}: the block is not closed")
    return blocks


def examples_of(document):
    """Return the examples of a Markdown text."""
    examples = []
    blocks = blocks_of(document)
    first = next((block for block in blocks if block.language == "cpp"), None)
    if first is None:
        raise DocumentError("line 1: no ```cpp block")
    for position, block in enumerate(blocks):
        if block.test is not None and block.language != "cpp":
            raise DocumentError(f"line {block.line - 1}: the block after 'test: {block.test}' is not ```cpp")
        if block is not first and block.test is None:
            continue
        follower = blocks[position + 1] if position + 1 < len(blocks) else None
        output = follower.text if follower is not None and follower.language in ("text", "output") else None
        name = block.test or "first"
        if name in (example.name for example in examples):
            raise DocumentError(f"line {block.line}: a second example is called '{name}'")
        examples.append(Example(name, block.text, block.line, output))
    return examples


def run(example, document, work_dir, compile_command):
    """Compile and run an example in its own folder; return the problem, or None."""
    folder = Path(work_dir, example.name)
    folder.mkdir(parents=True, exist_ok=True)
    source, program = folder / "example.cpp", folder / "example"
    # Compiler messages then show line numbers of the document.
    source.write_text(f'#line {example.line} "{document}"\n{example.code}', encoding="utf-8")
    program.unlink(missing_ok=True)
    command = [compile_command[0], str(source), *compile_command[1:], "-o", str(program)]
    compiled = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if compiled.returncode != 0:
        return f"does not compile\n{' '.join(command)}\n{compiled.stdout}"
    result = subprocess.run([str(program.resolve())], cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return f"exited with {result.returncode}\n{result.stdout}{result.stderr}"
    if example.output is not None and result.stdout != example.output:
        difference = difflib.unified_diff(
            example.output.splitlines(), result.stdout.splitlines(), "shown in the document", "printed", lineterm=""
        )
        unended = "" if result.stdout.endswith("\n") else "\n(its last line has no end)"
        return "printed something else than the document shows\n" + "\n".join(difference) + unended
    return None


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("document", type=Path)
    parser.add_argument("--work-dir", type=Path, required=True)
    parser.add_argument("compile_command", nargs="+", metavar="COMPILER [ARGUMENT...]")
    options = parser.parse_args(arguments)
    if not options.document.is_file():
        print(f"skipped: there is no {options.document}")
        return SKIPPED
    try:
        examples = examples_of(options.document.read_text(encoding="utf-8"))
    except DocumentError as error:
        print(f"{options.document}: {error}")
        return 1
    failures = 0
    for example in examples:
        problem = run(example, options.document, options.work_dir, options.compile_command)
        failures += problem is not None
        compared = "" if example.output is None else ", prints what the document shows"
        print(f"{options.document}:{example.line}: example '{example.name}' {problem or 'runs' + compared}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
