"""Settings of the documentation site; tools/site builds it."""

from __future__ import annotations

import os
import re
from importlib.metadata import version as version_of
from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "widthwise"
author = "The widthwise developers"
copyright = author  # noqa: A001
release = version = os.environ.get("WIDTHWISE_VERSION") or version_of("widthwise")

extensions = [
    "breathe",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["README.md", "gallery-source"]  # README is the first page
default_role = "code"  # docstrings have single backticks
suppress_warnings = ["duplicate_declaration.cpp"]  # the namespace, once for each header

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4

autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc shows the types of the docstrings
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

breathe_projects = {"widthwise": os.environ["WIDTHWISE_DOXYGEN"]}
breathe_default_project = "widthwise"
breathe_show_include = False
breathe_domain_by_extension = {"hpp": "cpp"}

sphinx_gallery_conf = {
    "examples_dirs": "gallery-source",
    "gallery_dirs": "gallery",
    "filename_pattern": "sklearn_pipeline|lightgbm_quantiles|drift_stream",  # run here; all are run by the tests
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
}

html_theme = "furo"
html_title = f"widthwise {version}"
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def break_names(app: Sphinx, page: str, template: str, context: dict[str, Any], document: Any) -> None:
    """Let long names break between their words instead of anywhere."""
    if "body" in context:
        names = r'(?<=<span class="pre">)[^<]+(?=</span>)'
        context["body"] = re.sub(
            names, lambda name: re.sub(r"(?<=[^\W_])(::|[_./(=])(?=\w)", r"\1<wbr>", name[0]), context["body"]
        )


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", break_names)
    for name in ("rooms", "private"):  # lists in ARCHITECTURE.md that a test reads
        app.add_lexer(name, TextLexer)
