#!/usr/bin/env python3
"""Check every #include of the C++ sources against the lists in ARCHITECTURE.md.

The layer list is the one fenced block opened by ```layers. Each line begins with a header, the rest is free text; the lowest
layer comes first:

    error.hpp               a public header, include/widthwise/error.hpp
    src/base/vector_math.hpp     a private header that belongs to no public one
    transform.hpp           owns src/conformal/transform.cpp and everything in src/conformal/transform/
    dense_net.hpp           owns src/functions/dense_net.cpp and src/functions/dense_net_inputs.hpp, whose name begins like its own
    train/xgboost.hpp       owns src/train/engines/xgboost.cpp, and so in every folder of ROOMS

A header may include only headers above it. The files it owns may also include it and each other.
version.hpp (below everything) and widthwise.hpp (above everything, it includes all of widthwise::core) are not listed.

The programs in cli/, python/src/ and bench/ are above all layers. They may include public headers, headers of their own
folder, and the private headers in the one fenced block opened by ```private, one line per header:

    src/base/text.hpp            a private header that programs may include

Usage: check_layers.py [ROOT]. Prints one line for each violation, file:line: what to do; exits with 1 if there is any.
"""

import re
import sys
from pathlib import Path

DOCUMENT = "ARCHITECTURE.md"
PUBLIC = "include/widthwise/"
PRIVATE = "src/"
PROGRAMS = ("cli/", "python/src/", "bench/")
ROOMS = ("src/train/engines", "src/train/workers", "src/train/fit")
LOWEST = "version.hpp"
HIGHEST = "widthwise.hpp"
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


class Layers:
    """The layer list of one tree, and the problems found in it. Paths are relative to the root, with slashes."""

    def __init__(self, root):
        self.root = Path(root)
        self.problems = []
        self.line_of = {}  # listed file -> its line in the document; a smaller line is a lower layer
        self.shared = {}  # private header that programs may include -> its line in the document
        self.used = set()  # the private headers that programs do include
        self.files = sorted(
            path.relative_to(self.root).as_posix()
            for folder in (PUBLIC, PRIVATE, *PROGRAMS)
            for path in (self.root / folder).rglob("*")
            if path.suffix in (".hpp", ".cpp")
        )

    def report(self, file, line, message):
        self.problems.append(f"{file}:{line}: {message}")

    def read_lists(self):
        """Read both lists; return whether they are there."""
        document = self.root / DOCUMENT
        if not document.is_file():
            self.report(DOCUMENT, 1, f"no such file; write it, with a block opened by {FENCE}layers")
            return False
        lines = document.read_text(encoding="utf-8").splitlines()
        return self.read_block(lines, "layers", self.read_layer) and self.read_block(lines, "private", self.read_shared)

    def read_block(self, lines, kind, read_entry):
        starts = [number for number, line in enumerate(lines, 1) if line.strip() == FENCE + kind]
        if len(starts) != 1:
            place = starts[1] if starts else 1
            self.report(DOCUMENT, place, f"{len(starts)} blocks opened by {FENCE}{kind}; there must be one")
            return False
        for number, line in enumerate(lines[starts[0] :], starts[0] + 1):
            if line.strip().startswith(FENCE):
                return True
            if line.strip():
                read_entry(number, line.split()[0])
        self.report(DOCUMENT, starts[0], f"the block is not closed; end it with {FENCE}")
        return False

    def read_layer(self, number, name):
        if name in (LOWEST, HIGHEST):
            self.report(DOCUMENT, number, f"{name} has a fixed place; remove this line")
            return
        self.read_entry(self.line_of, number, name, name if name.startswith(PRIVATE) else PUBLIC + name)

    def read_shared(self, number, name):
        if not name.startswith(PRIVATE):
            self.report(DOCUMENT, number, f"'{name}' is not a private header; begin each line with one, in {PRIVATE}")
            return
        self.read_entry(self.shared, number, name, name)

    def read_entry(self, entries, number, name, file):
        if not name.endswith(".hpp"):
            self.report(DOCUMENT, number, f"'{name}' is not a header; begin each line with one, such as error.hpp")
            return
        if file in entries:
            self.report(DOCUMENT, number, f"{name} is also on line {entries[file]}; remove one of the two")
            return
        entries[file] = number
        if file not in self.files:
            self.report(DOCUMENT, number, f"{file} does not exist; remove this line or add the header")

    def owner_of(self, file):
        """Return the header whose layer a file is in, or None."""
        if file.startswith(PUBLIC):
            return file if file in self.line_of or file in (PUBLIC + LOWEST, PUBLIC + HIGHEST) else None
        if file in self.line_of:
            return file
        stem = file[len(PRIVATE) :].rsplit(".", 1)[0]
        folder, _, name = stem.rpartition("/")
        words = name.split("_")
        stems = [f"{folder}/{'_'.join(words[:count])}".lstrip("/") for count in range(len(words), 0, -1)]
        while folder:
            stems.append(folder)
            folder = folder.rpartition("/")[0]
        for stem in stems:
            for header in self.headers_of(stem):
                if header in self.line_of or header in (PUBLIC + LOWEST, PUBLIC + HIGHEST):
                    return header
        return None

    def headers_of(self, stem):
        """Return the headers that may own src/<stem>.cpp and src/<stem>/."""
        folder, _, name = stem.rpartition("/")
        outside = f"{folder.rpartition('/')[0]}/{name}" if PRIVATE + folder in ROOMS else stem
        return f"{PRIVATE}{stem}.hpp", f"{PUBLIC}{stem}.hpp", f"{PUBLIC}{outside}.hpp"

    def rank_of(self, owner):
        """Return a number that grows from the lowest layer to the highest."""
        if owner == PUBLIC + LOWEST:
            return 0
        return sys.maxsize if owner == PUBLIC + HIGHEST else self.line_of[owner]

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
            if target is None or target.startswith(program) or target in self.shared:
                self.used.add(target)
            elif target not in self.files:
                self.report(file, line, f"includes '{name}', which does not exist; correct the name")
            elif target.startswith(PRIVATE):
                self.report(
                    file,
                    line,
                    f"includes the private '{name}'; use a public header, or add a line '{target}' to the block "
                    f"{FENCE}private of {DOCUMENT}",
                )
            elif not target.startswith(PUBLIC):
                self.report(file, line, f"includes '{name}' of another program; move what is needed to {PRIVATE}")

    def check_file(self, file):
        program = next((program for program in PROGRAMS if file.startswith(program)), None)
        if program is not None:
            self.check_program(file, program)
            return
        owner = self.owner_of(file)
        public = file.startswith(PUBLIC)
        if owner is None:
            if public:
                self.report(file, 1, f"not in the layer list of {DOCUMENT}; add a line '{file[len(PUBLIC) :]}' there")
            elif file.endswith(".hpp"):
                self.report(
                    file,
                    1,
                    f"belongs to no layer; add a line '{file}' to the layer list of {DOCUMENT}, "
                    "or move it to the folder of the header it serves",
                )
            else:
                self.report(
                    file,
                    1,
                    "belongs to no layer; name it after a header in the layer list of "
                    f"{DOCUMENT}, or move it to the folder of one",
                )
            return
        for line, name, quoted in includes_of(self.root / file):
            target = self.resolve(file, name, quoted)
            if target is not None:
                self.check_include(file, owner, line, name, target)

    def check_include(self, file, owner, line, name, target):
        if target not in self.files:
            self.report(file, line, f"includes '{name}', which does not exist; correct the name")
            return
        if target.startswith(PROGRAMS):
            self.report(file, line, f"includes '{name}' of a program; programs are above all layers of {DOCUMENT}")
            return
        if target == PUBLIC + HIGHEST:
            self.report(file, line, f"includes '{name}', which includes everything; include the headers it uses")
            return
        if file.startswith(PUBLIC) and target.startswith(PRIVATE):
            self.report(
                file,
                line,
                f"a public header includes the private '{name}', which is not installed; "
                "include it in a source instead",
            )
            return
        target_owner = self.owner_of(target)
        if target_owner is None:
            return  # reported for the target itself
        # The files a header owns may include it and each other; the header itself includes neither.
        highest = self.rank_of(owner) - (file == owner)
        if self.rank_of(target_owner) > highest:
            self.report(
                file,
                line,
                f"includes '{name}' against the layers of {DOCUMENT}: "
                f"{self.describe(owner)} may not include {self.describe(target_owner)}; "
                "move what is needed to a lower layer, or move the line in the list",
            )

    def describe(self, owner):
        return f"{owner} (line {self.line_of[owner]})" if owner in self.line_of else owner

    def check_highest(self):
        """The highest header includes all others of its library."""
        if PUBLIC + HIGHEST not in self.files:
            return
        found = {name for _, name, _ in includes_of(self.root / PUBLIC / HIGHEST)}
        for file in self.files:
            name = file[len(PUBLIC) :]
            if file.startswith(PUBLIC) and name not in (*OTHER_LIBRARIES, HIGHEST) and "widthwise/" + name not in found:
                self.report(
                    PUBLIC + HIGHEST, 1, f"does not include {name}, which belongs to widthwise::core; include it"
                )

    def check(self):
        if self.read_lists():
            self.check_highest()
            for file in self.files:
                self.check_file(file)
            for header, line in self.shared.items():
                if header in self.files and header not in self.used:
                    self.report(DOCUMENT, line, f"no program includes {header}; remove this line")
        return self.problems


def check(root):
    """Return the violations in a tree, each as 'file:line: what to do'."""
    return Layers(root).check()


def main(arguments):
    if len(arguments) > 1:
        print(__doc__, file=sys.stderr)
        return 2
    layers = Layers(arguments[0] if arguments else ".")
    problems = layers.check()
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{len(layers.files)} files keep to the {len(layers.line_of)} layers of {DOCUMENT}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
