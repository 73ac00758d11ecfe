"""Tests of check_layers.py and check_schemes.py on small trees."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import check_layers
import check_schemes

ARCHITECTURE = """# Architecture

```cpp
#include <widthwise/not_a_layer.hpp>
```

```layers
error.hpp               one exception type
src/base/vector_math.hpp     loops the sources share
transform.hpp           phi
objective.hpp           loss
train/xgboost.hpp       trains
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
    "src/base/vector_math.cpp": '#include "vector_math.hpp"\n',
    "src/conformal/transform.cpp": '#include <widthwise/transform.hpp>\n#include "vector_math.hpp"\n#include "transform/scale.hpp"\n',
    "src/transform/scale.hpp": '#pragma once\n#include <widthwise/transform.hpp>\n#include "affine.hpp"\n',
    "src/transform/affine.hpp": '#pragma once\n#include "../vector_math.hpp"\n',
    "src/conformal/transform/scale.cpp": '#include "scale.hpp"\n#include "boost/math/tools/roots.hpp"\n#include <gtest/gtest.h>\n',
    "src/objective/exact.cpp": '#include <widthwise/objective.hpp>\n#include "transform/scale.hpp"\n',
    "src/train/engines/xgboost/engine.cpp": "#include <widthwise/train/xgboost.hpp>\n",
    "cli/fit.cpp": '#include <widthwise/widthwise.hpp>\n#include "output.hpp"\n#include "CLI/CLI.hpp"\n',
    "cli/output.hpp": "#include <widthwise/error.hpp>\n",
    "python/src/bind/fit.cpp": '#include "bindings.hpp"\n',
    "python/src/bindings.hpp": "",
    "bench/ratios.cpp": '#include "vector_math.hpp"\n',
}


class CheckLayers(unittest.TestCase):
    def problems_of(self, changes):
        """Return the problems of the good tree after changes: a file's new text, or None to remove it."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**GOOD_TREE, **changes}.items():
                if text is not None:
                    path = Path(folder, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
            return check_layers.check(folder)

    def assert_one_problem(self, changes, place, *words):
        problems = self.problems_of(changes)
        self.assertEqual(len(problems), 1, problems)
        self.assertTrue(problems[0].startswith(place + ": "), problems[0])
        for word in words:
            self.assertIn(word, problems[0])

    def test_a_tree_that_keeps_to_the_list_has_no_problems(self):
        self.assertEqual(self.problems_of({}), [])

    def test_a_public_header_may_not_include_a_higher_one(self):
        self.assert_one_problem(
            {"include/widthwise/error.hpp": "#pragma once\n\n#include <widthwise/objective.hpp>\n"},
            "include/widthwise/error.hpp:3",
            "'widthwise/objective.hpp'",
            "include/widthwise/error.hpp (line 8) may not include include/widthwise/objective.hpp (line 11)",
            "move what is needed to a lower layer",
        )

    def test_quotes_and_relative_names_are_includes_too(self):
        for name in ("widthwise/transform.hpp", "transform.hpp", "../widthwise/transform.hpp"):
            self.assert_one_problem(
                {"include/widthwise/error.hpp": f'#  include "{name}"\n'}, "include/widthwise/error.hpp:1", name
            )

    def test_a_public_header_may_not_include_itself(self):
        self.assert_one_problem(
            {"include/widthwise/error.hpp": "#include <widthwise/error.hpp>\n"}, "include/widthwise/error.hpp:1"
        )

    def test_a_source_may_not_include_a_higher_public_header(self):
        self.assert_one_problem(
            {"src/conformal/transform.cpp": "#include <widthwise/objective.hpp>\n"}, "src/conformal/transform.cpp:1", "may not include"
        )

    def test_a_file_of_a_folder_may_not_include_a_higher_public_header(self):
        self.assert_one_problem(
            {"src/transform/affine.hpp": "\n#include <widthwise/train/xgboost.hpp>\n"},
            "src/transform/affine.hpp:2",
            "may not include",
        )

    def test_a_source_may_not_include_a_private_header_of_a_higher_layer(self):
        self.assert_one_problem(
            {"src/objective/loop.hpp": "", "src/conformal/transform/scale.cpp": '#include "objective/loop.hpp"\n'},
            "src/conformal/transform/scale.cpp:1",
            "include/widthwise/transform.hpp (line 10) may not include include/widthwise/objective.hpp (line 11)",
        )

    def test_a_listed_private_header_keeps_to_its_line(self):
        self.assert_one_problem(
            {"src/base/vector_math.hpp": "#include <widthwise/transform.hpp>\n"}, "src/base/vector_math.hpp:1", "(line 9)"
        )
        self.assert_one_problem(
            {"src/error.cpp": '#include "vector_math.hpp"\n'}, "src/error.cpp:1", "src/base/vector_math.hpp (line 9)"
        )

    def test_a_public_header_may_not_include_a_private_one(self):
        self.assert_one_problem(
            {"include/widthwise/transform.hpp": '#include "vector_math.hpp"\n'},
            "include/widthwise/transform.hpp:1",
            "private",
            "not installed",
        )

    def test_nothing_includes_the_header_of_everything(self):
        self.assert_one_problem(
            {"src/conformal/transform.cpp": "#include <widthwise/widthwise.hpp>\n"},
            "src/conformal/transform.cpp:1",
            "include the headers it uses",
        )

    def test_the_header_of_everything_includes_every_header_of_core(self):
        self.assert_one_problem(
            {
                "include/widthwise/widthwise.hpp": "#include <widthwise/error.hpp>\n#include <widthwise/objective.hpp>\n"
                "#include <widthwise/version.hpp>\n"
            },
            "include/widthwise/widthwise.hpp:1",
            "transform.hpp",
        )

    def test_version_includes_nothing_of_ours(self):
        self.assert_one_problem(
            {
                "include/widthwise/version.hpp": "#include <widthwise/error.hpp>\n",
                "include/widthwise/error.hpp": "",
            },
            "include/widthwise/version.hpp:1",
            "may not include",
        )

    def test_an_include_of_a_header_that_does_not_exist_is_reported(self):
        self.assert_one_problem(
            {"src/conformal/transform.cpp": "#include <widthwise/transfrom.hpp>\n"}, "src/conformal/transform.cpp:1", "correct the name"
        )

    def test_a_public_header_that_is_not_listed_is_reported(self):
        self.assert_one_problem(
            {"include/widthwise/io/table.hpp": ""},
            "include/widthwise/io/table.hpp:1",
            "not in the layer list",
            "add a line 'io/table.hpp'",
        )

    def test_a_private_header_of_no_layer_is_reported(self):
        self.assert_one_problem(
            {"src/detail.hpp": ""}, "src/detail.hpp:1", "add a line 'src/detail.hpp' to the layer list"
        )

    def test_a_source_of_no_layer_is_reported(self):
        self.assert_one_problem({"src/misc.cpp": ""}, "src/misc.cpp:1", "name it after a header")

    def test_a_listed_header_that_does_not_exist_is_reported(self):
        self.assert_one_problem(
            {"ARCHITECTURE.md": ARCHITECTURE.replace("objective.hpp  ", "ghost.hpp\nobjective.hpp  ")},
            "ARCHITECTURE.md:11",
            "include/widthwise/ghost.hpp does not exist",
            "remove this line or add the header",
        )

    def test_a_line_that_is_no_header_or_comes_twice_is_reported(self):
        for line, words in (
            ("include/widthwise/", "not a header"),
            ("error.hpp", "also on line 8"),
            ("version.hpp", "fixed place"),
        ):
            self.assert_one_problem(
                {"ARCHITECTURE.md": ARCHITECTURE.replace("objective.hpp  ", f"{line}\nobjective.hpp  ")},
                "ARCHITECTURE.md:11",
                words,
            )

    def test_a_program_may_not_include_a_private_header_that_is_not_listed(self):
        for name in ("transform/scale.hpp", "../src/transform/scale.hpp"):
            self.assert_one_problem(
                {"cli/output.hpp": f'\n#include "{name}"\n'},
                "cli/output.hpp:2",
                f"private '{name}'",
                "add a line 'src/transform/scale.hpp'",
            )

    def test_a_program_may_not_include_headers_of_another(self):
        self.assert_one_problem(
            {"bench/ratios.cpp": '#include "vector_math.hpp"\n#include "../cli/output.hpp"\n'},
            "bench/ratios.cpp:2",
            "another program",
        )

    def test_a_library_may_not_include_headers_of_a_program(self):
        self.assert_one_problem(
            {"src/conformal/transform.cpp": '#include "../cli/output.hpp"\n'}, "src/conformal/transform.cpp:1", "of a program"
        )

    def test_a_program_names_public_headers_that_exist(self):
        self.assert_one_problem(
            {"cli/fit.cpp": "#include <widthwise/ghost.hpp>\n"}, "cli/fit.cpp:1", "correct the name"
        )

    def test_the_list_of_private_headers_has_only_used_private_headers(self):
        for line, words in (
            ("error.hpp", "not a private header"),
            ("src/ghost.hpp", "does not exist"),
            ("src/base/vector_math.hpp", "also on line 16"),
            ("src/transform/scale.hpp", "no program includes"),
        ):
            self.assert_one_problem(
                {"ARCHITECTURE.md": ARCHITECTURE.replace("for benchmarks\n", f"for benchmarks\n{line}\n")},
                "ARCHITECTURE.md:17",
                words,
            )

    def test_the_document_must_have_one_closed_list(self):
        self.assert_one_problem({"ARCHITECTURE.md": None}, "ARCHITECTURE.md:1", "no such file")
        self.assert_one_problem({"ARCHITECTURE.md": "# Architecture\n"}, "ARCHITECTURE.md:1", "0 blocks")
        self.assert_one_problem({"ARCHITECTURE.md": ARCHITECTURE * 2}, "ARCHITECTURE.md:24", "2 blocks")
        self.assert_one_problem(
            {"ARCHITECTURE.md": ARCHITECTURE.rstrip().removesuffix("```")}, "ARCHITECTURE.md:15", "not closed"
        )
        self.assert_one_problem(
            {"ARCHITECTURE.md": ARCHITECTURE[: ARCHITECTURE.index("```private")]}, "ARCHITECTURE.md:1", "```private"
        )

    def test_comments_are_not_includes(self):
        self.assertEqual(
            self.problems_of(
                {
                    "src/error.cpp": "// #include <widthwise/objective.hpp>\n"
                    "/* of src/*.cpp:\n#include <widthwise/objective.hpp>\n*/\n"
                    'const char* text = "/*";\n'
                }
            ),
            [],
        )
        self.assert_one_problem(
            {
                "src/error.cpp": "// of src/*.cpp\n/* two\nlines */\n#include <widthwise/objective.hpp>\n"
                'const char* text = "*/";\n'
            },
            "src/error.cpp:4",
        )

    def test_the_exit_code_says_whether_there_are_problems(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
            self.assertEqual(check_layers.main([folder]), 1)
            self.assertIn("ARCHITECTURE.md:1", output.getvalue())
            Path(folder, "ARCHITECTURE.md").write_text("```layers\n```\n```private\n```\n", encoding="utf-8")
            self.assertEqual(check_layers.main([folder]), 0)


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


if __name__ == "__main__":
    unittest.main()
