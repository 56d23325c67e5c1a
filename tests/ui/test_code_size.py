"""The page is small: its own code has fewer than 3,000 lines, its assets are few.

A line counts if it has code: of Python, no blank lines, comments and docstrings; of templates,
styles and scripts, no blank lines and comments. Vendored files (`*.min.js`) do not count.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path
from typing import Final

import kapy.ui

FOLDER: Final = Path(kapy.ui.__file__).parent
LIMIT: Final = 3000
NO_CODE: Final = frozenset(
    (
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
)  # fmt: skip


def lines_of(path: Path) -> int:
    """The lines of code of a file; 0 for files that are no code of ours."""
    if path.suffix == ".py":
        return _python_lines(path.read_text())
    if path.suffix not in (".html", ".js", ".css") or ".min." in path.name:
        return 0
    texts = (line.strip() for line in path.read_text().splitlines())
    return sum(bool(text) and not text.startswith(("//", "{#")) for text in texts)


def _python_lines(text: str) -> int:
    code, documentation = set[int](), set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            documentation.update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(code - documentation)


def test_the_code_of_the_page_has_fewer_than_3000_lines() -> None:
    counts = {path.name: lines_of(path) for path in FOLDER.rglob("*") if path.is_file()}
    assert counts["application.py"] > 100
    assert counts["cluster.html"] > 100
    assert sum(counts.values()) < LIMIT


def test_all_files_that_a_browser_loads_have_at_most_400_kilobytes() -> None:
    sizes = [path.stat().st_size for path in (FOLDER / "assets").iterdir()]
    assert len(sizes) > 5
    assert sum(sizes) <= 400_000


def test_only_lines_of_code_count() -> None:
    text = '"""A\nmodule."""\n\n# a comment\nA = (\n    1\n)\n"""What it is."""\n'
    assert _python_lines(text) == 3
