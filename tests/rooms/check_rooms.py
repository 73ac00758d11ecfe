#!/usr/bin/env python3
"""Check every #include of the C++ sources against the rooms of ARCHITECTURE.md.

The rooms are the lines of the one fenced block opened by ```rooms, the lowest first:

    conformal | base | level score transform

The folder src/conformal and the public headers include/widthwise/{level,score,transform}.hpp are one room. It may use
itself and the rooms named in the middle, which are above it in the list. Every public header is in one room, except
widthwise.hpp, which includes all of widthwise::core. No header includes itself, directly or through others.

The programs in cli/, python/src/ and bench/ are above all rooms. They may include public headers, headers of their own
folder, and the private headers in the one fenced block opened by ```private, one line per header or folder.

Usage: check_rooms.py [ROOT]. Prints one line for each violation, file:line: what to do; exits with 1 if there is any.
"""

import re
import sys
from pathlib import Path

DOCUMENT = "ARCHITECTURE.md"
PUBLIC = "include/widthwise/"
PRIVATE = "src/"
PROGRAMS = ("cli/", "python/src/", "bench/")
EVERYTHING = PUBLIC + "widthwise.hpp"
OTHER_LIBRARIES = ("train/torch.hpp", "train/xgboost.hpp", "io/table.hpp")
FENCE = "```"

COMMENT_OR_LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.DOTALL)
INCLUDE = re.compile(r"""^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]""", re.MULTILINE)


def without_comments(text):
    """Blank out comments, keeping literals and line numbers."""

    def blank(match):
        found = match.group()
        return "\n" * found.count("\n") if found.startswith(("//", "/*")) else found

    return COMMENT_OR_LITERAL.sub(blank, text)


def includes_of(path):
    """Yield (line number, name as written, whether in quotes) of every #include of a file."""
    text = without_comments(path.read_text(encoding="utf-8"))
    for match in INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start(2)) + 1, match.group(2), match.group(1) == '"'


class Rooms:
    """The rooms of one tree, and the problems found in it. Paths are relative to the root, with slashes."""

    def __init__(self, root):
        self.root = Path(root)
        self.problems = []
        self.uses = {}  # room -> the rooms that it may use, itself included
        self.room_of_header = {}  # public header -> its room
        self.shared = {}  # private header, or folder with a slash, that programs may include -> its line in the document
        self.used = set()  # those of them that programs do include
        self.below = {}  # header -> the headers that it includes
        self.files = sorted(
            path.relative_to(self.root).as_posix()
            for folder in (PUBLIC, PRIVATE, *PROGRAMS)
            for path in (self.root / folder).rglob("*")
            if path.suffix in (".hpp", ".cpp")
        )

    def report(self, file, line, message):
        self.problems.append(f"{file}:{line}: {message}")

    # ---- the lists

    def read_lists(self):
        """Read both blocks; return whether they are there."""
        document = self.root / DOCUMENT
        if not document.is_file():
            self.report(DOCUMENT, 1, f"no such file; write it, with a block opened by {FENCE}rooms")
            return False
        lines = document.read_text(encoding="utf-8").splitlines()
        return self.read_block(lines, "rooms", self.read_room) and self.read_block(lines, "private", self.read_shared)

    def read_block(self, lines, kind, read_entry):
        starts = [number for number, line in enumerate(lines, 1) if line.strip() == FENCE + kind]
        if len(starts) != 1:
            self.report(DOCUMENT, (starts + [1, 1])[1], f"{len(starts)} blocks opened by {FENCE}{kind}; expected one")
            return False
        for number, line in enumerate(lines[starts[0] :], starts[0] + 1):
            if line.strip().startswith(FENCE):
                return True
            if line.strip():
                read_entry(number, line)
        self.report(DOCUMENT, starts[0], f"the block is not closed; end it with {FENCE}")
        return False

    def read_room(self, number, line):
        parts = [part.split() for part in line.split("|")]
        if len(parts) != 3 or len(parts[0]) != 1:
            self.report(
                DOCUMENT, number, f"expected 'room | rooms it may use | public headers', found '{line.strip()}'"
            )
            return
        (room,), uses, headers = parts
        for other in uses:
            if other not in self.uses:
                self.report(DOCUMENT, number, f"{room} may use {other}, which is not above it; move one of the lines")
        self.uses[room] = {room, *uses}
        for name in headers:
            header = f"{PUBLIC}{name}.hpp"
            if header not in self.files:
                self.report(DOCUMENT, number, f"{header} does not exist; remove it, or add the header")
                continue
            if header in self.room_of_header:
                self.report(
                    DOCUMENT, number, f"{header} is also in {self.room_of_header[header]}; remove one of the two"
                )
                continue
            self.room_of_header[header] = room

    def read_shared(self, number, line):
        name = line.split()[0]
        is_folder = name.endswith("/") and any(file.startswith(name) for file in self.files)
        if not name.startswith(PRIVATE) or not (name in self.files or is_folder):
            self.report(DOCUMENT, number, f"'{name}' is not a private header; begin each line with one, in {PRIVATE}")
        elif name in self.shared:
            self.report(DOCUMENT, number, f"{name} is also on line {self.shared[name]}; remove one of the two")
        else:
            self.shared[name] = number

    # ---- files

    def room_of(self, file):
        """The room of a file of the library, or None."""
        if file.startswith(PUBLIC):
            return self.room_of_header.get(file)
        room = file.split("/")[1]
        return room if room in self.uses else None

    def resolve(self, file, name, quoted):
        """Return the file of this tree to which an #include refers, or None for another library."""
        if name.startswith("widthwise/"):
            return "include/" + name
        folders = [file.rpartition("/")[0] + "/"] if quoted else []
        folders += [program for program in PROGRAMS if file.startswith(program)]
        for folder in folders + [PRIVATE]:
            # Path.resolve() would follow links in the path of the root.
            parts = []
            for part in (folder + name).split("/"):
                if part == ".." and parts:
                    parts.pop()
                elif part not in (".", ""):
                    parts.append(part)
            if "/".join(parts) in self.files:
                return "/".join(parts)
        return None

    def check_program(self, file, program):
        """Check a file of a program: public headers, its own folder and the shared private headers."""
        for line, name, quoted in includes_of(self.root / file):
            target = self.resolve(file, name, quoted)
            shared = next((entry for entry in self.shared if target and self.names(entry, target)), None)
            if target is None or target.startswith(program) or shared:
                self.used.add(shared)
            elif target not in self.files:
                self.report(file, line, f"includes '{name}', which does not exist; correct the name")
            elif target.startswith(PRIVATE):
                advice = f"use a public header, or add a line '{target}' to the block {FENCE}private of {DOCUMENT}"
                self.report(file, line, f"includes the private '{name}'; {advice}")
            elif not target.startswith(PUBLIC):
                self.report(file, line, f"includes '{name}' of another program; move what is needed to {PRIVATE}")

    @staticmethod
    def names(entry, target):
        """Whether a line of the block of private headers names this file, or a folder that it is in."""
        return target.startswith(entry) if entry.endswith("/") else target == entry

    def check_file(self, file):
        program = next((program for program in PROGRAMS if file.startswith(program)), None)
        if program is not None:
            self.check_program(file, program)
            return
        if self.room_of(file) is None:
            if file != EVERYTHING:
                self.report(file, 1, f"is in no room; move it to the folder of one, or add it to a line of {DOCUMENT}")
            return
        for line, name, quoted in includes_of(self.root / file):
            target = self.resolve(file, name, quoted)
            if target is not None:
                self.check_include(file, line, name, target)

    def check_include(self, file, line, name, target):
        if target not in self.files:
            self.report(file, line, f"includes '{name}', which does not exist; correct the name")
        elif target.startswith(PROGRAMS):
            self.report(file, line, f"includes '{name}' of a program; programs are above all rooms of {DOCUMENT}")
        elif target == EVERYTHING:
            self.report(file, line, f"includes '{name}', which includes everything; include the headers it uses")
        elif file.startswith(PUBLIC) and target.startswith(PRIVATE):
            advice = "which is not installed; include it in a source instead"
            self.report(file, line, f"a public header includes the private '{name}', {advice}")
        else:
            self.check_rooms(file, line, name, target)

    def check_rooms(self, file, line, name, target):
        room, other = self.room_of(file), self.room_of(target)
        if other is not None and other not in self.uses[room]:
            advice = "move what is needed to a room that both may use"
            self.report(file, line, f"includes '{name}', but {room} may not use {other} ({DOCUMENT}); {advice}")
        elif file.endswith(".hpp"):
            self.below.setdefault(file, {})[target] = line

    def check_circles(self):
        """Report each header that includes itself, directly or through others, once per circle."""
        done = set()

        def visit(header, path):
            if header in path:
                circle = [*path[path.index(header) :], header]
                self.report(circle[0], self.below[circle[0]][circle[1]], f"is in a circle: {' -> '.join(circle)}")
            elif header not in done:
                for below in self.below.get(header, {}):
                    visit(below, [*path, header])
                done.add(header)

        for header in sorted(self.below):
            visit(header, [])

    def check_everything(self):
        """widthwise.hpp includes all public headers of widthwise::core."""
        if EVERYTHING not in self.files:
            return
        found = {name for _, name, _ in includes_of(self.root / EVERYTHING)}
        for header in self.room_of_header:
            name = header[len(PUBLIC) :]
            if name not in OTHER_LIBRARIES and "widthwise/" + name not in found:
                self.report(EVERYTHING, 1, f"does not include {name}, which belongs to widthwise::core; include it")

    def check(self):
        if self.read_lists():
            self.check_everything()
            for file in self.files:
                self.check_file(file)
            self.check_circles()
            for header, line in self.shared.items():
                if header not in self.used:
                    self.report(DOCUMENT, line, f"no program includes {header}; remove this line")
        return self.problems


def check(root):
    """Return the violations in a tree, each as 'file:line: what to do'."""
    return Rooms(root).check()


def main(arguments):
    if len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    rooms = Rooms(arguments[0] if arguments else ".")
    problems = rooms.check()
    for problem in problems:
        print(problem)
    if not problems:
        arrows = sum(len(uses) - 1 for uses in rooms.uses.values())
        print(f"{len(rooms.files)} files keep to the {len(rooms.uses)} rooms and {arrows} arrows of {DOCUMENT}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
