"""Tests of check_examples.py with a shell script in place of the compiler."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import check_examples

DOCUMENT = """# Title

```console
$ make
```

```cpp
int main() {}
```

```text
hello
```

Not a program:

```cpp
a + b
```

<!-- test: second -->

```cpp
// second
```

Text between does not matter.

````output
```
````
"""


class ExamplesOf(unittest.TestCase):
    def test_the_first_and_the_named_blocks_are_examples(self):
        examples = check_examples.examples_of(DOCUMENT)
        self.assertEqual([example.name for example in examples], ["first", "second"])
        self.assertEqual([example.code for example in examples], ["int main() {}\n", "// second\n"])
        self.assertEqual([example.line for example in examples], [8, 24])
        self.assertEqual([example.output for example in examples], ["hello\n", "```\n"])

    def test_an_example_without_output_is_only_run(self):
        (example,) = check_examples.examples_of("```cpp\n```\n```cpp\n```\n```text\nother\n```\n")
        self.assertIsNone(example.output)

    def test_a_first_block_may_have_a_name(self):
        (example,) = check_examples.examples_of("<!-- test: quick-start -->\n```cpp\n```\n")
        self.assertEqual(example.name, "quick-start")

    def test_mistakes_in_the_document_are_reported_with_their_line(self):
        for text, words in (
            ("# Title\n", "line 1: no ```cpp block"),
            ("\n```cpp\n", "line 2: the block is not closed"),
            ("```cpp\n```\n<!-- test: a -->\ntext\n", "line 4: no ```cpp block follows"),
            ("```cpp\n```\n<!-- test: a -->\n```text\n```\n", "line 4: the block after 'test: a' is not ```cpp"),
            ("<!-- test: a -->\n```cpp\n```\n<!-- test: a -->\n```cpp\n```\n", "line 6: a second example"),
        ):
            with self.assertRaises(check_examples.DocumentError) as caught:
                check_examples.examples_of(text)
            self.assertIn(words, str(caught.exception))


class Main(unittest.TestCase):
    def run_on(self, document, program="echo hello", compiler_exit=0):
        """Return the exit code and the output for a document, with a fake compiler."""
        with tempfile.TemporaryDirectory() as folder:
            compiler = Path(folder, "compiler")
            compiler.write_text(
                "#!/bin/sh\n"
                "for last; do :; done\n"
                f'printf \'#!/bin/sh\\n{program}\\n\' > "$last"; chmod +x "$last"; exit {compiler_exit}\n',
                encoding="utf-8",
            )
            compiler.chmod(0o755)
            path = Path(folder, "README.md")
            if document is not None:
                path.write_text(document, encoding="utf-8")
            with contextlib.redirect_stdout(io.StringIO()) as output:
                code = check_examples.main([str(path), "--work-dir", folder, "--", str(compiler), "-O1"])
            return code, output.getvalue()

    def test_the_output_shown_must_be_the_output_printed(self):
        shown = "```cpp\n```\n```text\nhello\n```\n"
        self.assertEqual(self.run_on(shown)[0], 0)
        code, output = self.run_on(shown, program="echo Hello")
        self.assertEqual(code, 1)
        self.assertIn("README.md:2", output)
        self.assertIn("-hello\n+Hello", output)

    def test_an_example_that_does_not_compile_or_run_fails(self):
        self.assertEqual(self.run_on("```cpp\n```\n", compiler_exit=1)[0], 1)
        code, output = self.run_on("```cpp\n```\n", program="exit 3")
        self.assertEqual(code, 1)
        self.assertIn("exited with 3", output)

    def test_no_document_is_a_skip_and_a_document_without_examples_a_failure(self):
        code, output = self.run_on(None)
        self.assertEqual(code, check_examples.SKIPPED)
        self.assertIn("skipped: there is no", output)
        self.assertEqual(self.run_on("# Title\n")[0], 1)


if __name__ == "__main__":
    unittest.main()
