"""Tests of check_rooms.py, check_schemes.py and check_sizes.py on small trees."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import check_rooms
import check_schemes
import check_sizes

ARCHITECTURE = """# Architecture

```rooms
base      |      | error version
transform | base | transform
train     | base transform | objective train/xgboost
```

```private
src/base/vector_math.hpp     for benchmarks
```
"""

GOOD_TREE = {
    "ARCHITECTURE.md": ARCHITECTURE,
    "include/widthwise/version.hpp": "#pragma once\n",
    "include/widthwise/error.hpp": "#pragma once\n#include <string>\n#include <widthwise/version.hpp>\n",
    "include/widthwise/transform.hpp": '#pragma once\n#include "widthwise/error.hpp"\n',
    "include/widthwise/objective.hpp": "#pragma once\n#include <widthwise/transform.hpp>\n",
    "include/widthwise/train/xgboost.hpp": "#pragma once\n#include <widthwise/objective.hpp>\n",
    "include/widthwise/widthwise.hpp": "#pragma once\n"
    + "".join(f"#include <widthwise/{name}.hpp>\n" for name in ("error", "objective", "transform", "version")),
    "src/base/vector_math.hpp": "#pragma once\n#include <widthwise/error.hpp>\n",
    "src/base/vector_math.cpp": '#include "base/vector_math.hpp"\n',
    "src/transform/scale.hpp": '#pragma once\n#include <widthwise/transform.hpp>\n#include "affine.hpp"\n',
    "src/transform/affine.hpp": '#pragma once\n#include "../base/vector_math.hpp"\n',
    "src/transform/scale.cpp": '#include "scale.hpp"\n#include "boost/math/tools/roots.hpp"\n#include <gtest/gtest.h>\n',
    "src/train/engines/engine.cpp": '#include <widthwise/train/xgboost.hpp>\n#include "transform/scale.hpp"\n',
    "cli/fit.cpp": '#include <widthwise/widthwise.hpp>\n#include "output.hpp"\n#include "CLI/CLI.hpp"\n',
    "cli/output.hpp": "#include <widthwise/error.hpp>\n",
    "python/src/bind/fit.cpp": '#include "bindings.hpp"\n',
    "python/src/bindings.hpp": "",
    "bench/ratios.cpp": '#include "base/vector_math.hpp"\n',
}


class CheckRooms(unittest.TestCase):
    def problems_of(self, changes):
        """Return the problems of the good tree after changes: a file's new text, or None to remove it."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**GOOD_TREE, **changes}.items():
                if text is not None:
                    path = Path(folder, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
            return check_rooms.check(folder)

    def assert_one_problem(self, changes, place, *words):
        problems = self.problems_of(changes)
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(place + ": "), problems[0])
        for word in words:
            self.assertIn(word, problems[0])

    def test_a_tree_that_keeps_to_its_rooms_has_no_problems(self):
        self.assertEqual(self.problems_of({}), [])

    def test_a_room_uses_only_those_that_it_may_use(self):
        for file in ("include/widthwise/transform.hpp", "src/transform/affine.hpp", "src/transform/scale.cpp"):
            self.assert_one_problem(
                {file: "#include <widthwise/version.hpp>\n\n#include <widthwise/train/xgboost.hpp>\n"},
                file + ":3",
                "transform may not use train",
            )
        self.assert_one_problem(
            {"src/base/vector_math.cpp": '#include "transform/scale.hpp"\n'},
            "src/base/vector_math.cpp:1",
            "base may not use transform",
        )

    def test_no_header_includes_itself(self):
        self.assert_one_problem(
            {"include/widthwise/version.hpp": "#include <widthwise/error.hpp>\n"},
            "include/widthwise/error.hpp:3",
            "circle",
        )
        self.assert_one_problem(
            {"src/transform/affine.hpp": '#include "transform/scale.hpp"\n'},
            "src/transform/affine.hpp:1",
            "circle: src/transform/affine.hpp -> src/transform/scale.hpp -> src/transform/affine.hpp",
        )

    def test_a_public_header_may_not_include_a_private_one(self):
        self.assert_one_problem(
            {"include/widthwise/transform.hpp": '#include "base/vector_math.hpp"\n'},
            "include/widthwise/transform.hpp:1",
            "not installed",
        )

    def test_widthwise_hpp_includes_every_header_of_core_and_is_included_by_none(self):
        self.assert_one_problem(
            {"src/transform/scale.cpp": "#include <widthwise/widthwise.hpp>\n"},
            "src/transform/scale.cpp:1",
            "include the headers it uses",
        )
        everything = GOOD_TREE["include/widthwise/widthwise.hpp"].replace("#include <widthwise/transform.hpp>\n", "")
        self.assert_one_problem(
            {"include/widthwise/widthwise.hpp": everything}, "include/widthwise/widthwise.hpp:1", "transform.hpp"
        )

    def test_an_include_of_a_header_that_does_not_exist_is_reported(self):
        for file in ("src/transform/scale.cpp", "cli/fit.cpp"):
            self.assert_one_problem({file: "#include <widthwise/ghost.hpp>\n"}, file + ":1", "correct the name")

    def test_a_file_in_no_room_is_reported(self):
        for file in ("src/misc.cpp", "src/misc/detail.hpp", "include/widthwise/io/table.hpp"):
            self.assert_one_problem({file: ""}, file + ":1", "in no room")

    def test_lines_that_are_no_rooms_are_reported(self):
        for line, words in (
            ("train | base", "expected 'room | rooms it may use | public headers'"),
            ("io | report |", "not above it"),
            ("io | base | ghost", "does not exist"),
            ("io | base | error", "also in base"),
        ):
            text = ARCHITECTURE.replace("train/xgboost\n", f"train/xgboost\n{line}\n")
            self.assert_one_problem({"ARCHITECTURE.md": text}, "ARCHITECTURE.md:7", words)

    def test_programs_include_public_headers_and_the_listed_private_ones(self):
        for name in ("transform/scale.hpp", "../src/transform/scale.hpp"):
            self.assert_one_problem(
                {"cli/output.hpp": f'\n#include "{name}"\n'},
                "cli/output.hpp:2",
                f"private '{name}'",
                "add a line 'src/transform/scale.hpp'",
            )
        both = '#include "base/vector_math.hpp"\n#include "../cli/output.hpp"\n'
        self.assert_one_problem({"bench/ratios.cpp": both}, "bench/ratios.cpp:2", "another program")
        self.assert_one_problem(
            {"src/transform/scale.cpp": '#include "../../cli/output.hpp"\n'},
            "src/transform/scale.cpp:1",
            "of a program",
        )

    def test_the_list_of_private_headers_may_have_folders(self):
        text = ARCHITECTURE.replace("vector_math.hpp ", " ")
        self.assertEqual(self.problems_of({"ARCHITECTURE.md": text}), [])

    def test_the_list_of_private_headers_has_only_used_private_headers(self):
        for line, words in (
            ("error.hpp", "not a private header"),
            ("src/base/ghost.hpp", "not a private header"),
            ("src/base/vector_math.hpp", "also on line 10"),
            ("src/transform/scale.hpp", "no program includes"),
        ):
            text = ARCHITECTURE.replace("for benchmarks\n", f"for benchmarks\n{line}\n")
            self.assert_one_problem({"ARCHITECTURE.md": text}, "ARCHITECTURE.md:11", words)

    def test_the_document_must_have_one_closed_list(self):
        self.assert_one_problem({"ARCHITECTURE.md": None}, "ARCHITECTURE.md:1", "no such file")
        self.assert_one_problem({"ARCHITECTURE.md": "# Architecture\n"}, "ARCHITECTURE.md:1", "0 blocks")
        self.assert_one_problem({"ARCHITECTURE.md": ARCHITECTURE * 2}, "ARCHITECTURE.md:14", "2 blocks")
        self.assert_one_problem(
            {"ARCHITECTURE.md": ARCHITECTURE.rstrip().removesuffix("```")}, "ARCHITECTURE.md:9", "not closed"
        )

    def test_comments_are_not_includes(self):
        text = '// #include <widthwise/objective.hpp>\n/* of src/*.cpp:\n#include <widthwise/objective.hpp>\n*/\nchar t[] = "/*";\n'
        self.assertEqual(self.problems_of({"src/base/error.cpp": text}), [])
        self.assert_one_problem(
            {"src/base/error.cpp": text + "#include <widthwise/objective.hpp>\n"}, "src/base/error.cpp:6", "may not use"
        )

    def test_the_program_prints_problems_and_exits_with_1(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
            self.assertEqual(check_rooms.main([folder]), 1)
        self.assertIn("ARCHITECTURE.md:1: no such file", output.getvalue())


class CheckSchemes(unittest.TestCase):
    def found_in(self, file, line):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, file)
            path.parent.mkdir(parents=True)
            path.write_text(f"void f() {{ {line} }}\n", encoding="utf-8")
            return len(list(check_schemes.violations(Path(folder))))

    def test_branches_of_the_model_are_found(self):
        for line in (
            "if (folds_ != nullptr) return;",
            "return parts_.folds.empty() ? 1 : 2;",
            "if (n > 0 && !rows.groups.empty()) refuse();",
            "if (rows.clusters.empty()) add();",
            "if (one && scheme_->weighs_new_rows()) weigh();",
        ):
            self.assertEqual(self.found_in("src/model/model.cpp", line), 1, line)
            self.assertEqual(self.found_in("src/model/one_model.cpp", line), 1, line)
            self.assertEqual(self.found_in("src/model/row_predictor.cpp", line), 0, line)

    def test_questions_about_the_kind_are_found_outside_the_schemes(self):
        for line in ("if (model.clustered()) f();", "if (sample.keys() == RowKeys::kGroups) f();"):
            self.assertEqual(self.found_in("cli/fit.cpp", line), 1, line)
            self.assertEqual(self.found_in("src/conformal/schemes/groups.cpp", line), 0, line)


class CheckSizes(unittest.TestCase):
    def found_in(self, text, min_lines):
        with tempfile.TemporaryDirectory() as folder:
            for file in check_sizes.SENTENCES:
                path = Path(folder, file)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return list(check_sizes.violations(Path(folder), min_lines))

    def test_small_files_are_found(self):
        self.assertEqual(self.found_in("int x;\n" * 10, 10), [])
        (found,) = self.found_in("int x;\n" * 9, 10)
        self.assertIn("9.0 lines per file", found)

    def test_numbers_outside_a_format_string_are_found(self):
        for line in ("text += count_of(n, thing);", "return internal::percent(share);"):
            self.assertEqual(len(self.found_in(line + "\n", 1)), len(check_sizes.SENTENCES), line)
        for line in ("text = written(Count{n});", "coverage.count(j);", "written_percent(share);", "// percent(x)"):
            self.assertEqual(self.found_in(line + "\n", 1), [], line)


if __name__ == "__main__":
    unittest.main()
