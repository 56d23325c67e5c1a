"""The site of the documentation: `make docs` builds it into build/docs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import kapy

project = "kapy"
copyright = "the authors of kapy"
version = release = kapy.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["dashboards"]
html_theme = "furo"
html_title = "kapy"
html_show_sourcelink = False

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
suppress_warnings = [
    "misc.highlighting_failure",
    "myst.xref_missing",  # links to folders; tests/apps/test_documents.py looks at every link
    "ref.python",  # a field named `type` is not what the annotation `type` means
]

# Docstrings are plain text with `names` in single backticks.
default_role = "code"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True


def mark_examples(*arguments: Any) -> None:
    """Make a literal block of each indented paragraph of a docstring: it is an example."""
    lines = arguments[-1]
    found: list[str] = []
    for before, line in zip(["", *lines], lines, strict=False):
        text_before = next((one for one in reversed(found) if one.strip()), "")
        if line.startswith("    ") and not before.strip() and not text_before.startswith("    "):
            found += ["::", ""]
        found.append(line)
    lines[:] = found


def setup(app: Any) -> None:
    """Sphinx calls it."""
    for name in ("kapy.api", "kapy.client", "kapy.testing"):  # they import when a name is used
        module = import_module(name)
        vars(module).update({one: getattr(module, one) for one in module.__all__})
    app.connect("autodoc-process-docstring", mark_examples)
