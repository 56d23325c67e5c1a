"""Functions have at most 65 lines, their docstrings included, and files at most 500."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

import pytest

from tests.library.sentences import files

TREES: Final = ("src", "providers", "tests", "benchmarks", "examples")
RECORDED: Final = "tests/data/"
"""Copies of recorded files, which stay as they are."""
GRAMMARS: Final = "tests/differential/areas/"
"""Grammars of random requests: tables of values that are functions."""
FUNCTION_LINES: Final = 65
FILE_LINES: Final = 500


def oversized(path: str, text: str) -> Iterator[str]:
    """Yield `path: count` for a file that is too long, and `path:line: name` for each function."""
    if (count := len(text.splitlines())) > FILE_LINES:
        yield f"{path}: {count}"
    if count <= FUNCTION_LINES:
        return
    for node in _functions(ast.parse(text)):
        assert node.end_lineno is not None
        if node.end_lineno - node.lineno >= FUNCTION_LINES and not path.startswith(GRAMMARS):
            yield f"{path}:{node.lineno}: {node.name}"


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions at any depth. Expressions, which have none, are nine nodes of ten."""
    rest: list[ast.AST] = [tree]
    while rest:
        node = rest.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        for blocks in ("body", "orelse", "finalbody", "handlers", "cases"):
            statements = getattr(node, blocks, ())
            if isinstance(statements, list):
                rest.extend(statements)


def test_functions_and_files_keep_their_sizes() -> None:
    sizes = [
        size
        for path, text in files(TREES, ".py")
        if not path.startswith(RECORDED)
        for size in oversized(path, text)
    ]
    assert sizes == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("def f():\n" + "    pass\n" * 64, 0),
        ("def f():\n" + "    pass\n" * 65, 1),
        ('async def f():\n    """A.\n' + "\n" * 64 + '    """\n', 1),
        ("class A:\n    def f(self):\n" + "        pass\n" * 65, 1),
        ("if x:\n    f = lambda: 1\nelse:\n    def f():\n" + "        pass\n" * 65, 1),
        ("try: ...\nexcept E:\n    def f():\n" + "        pass\n" * 65, 1),
        ("#\n" * 500, 0),
        ("#\n" * 501, 1),
    ],
)
def test_a_function_or_file_that_is_too_long_is_reported(text: str, count: int) -> None:
    assert len(list(oversized("x.py", text))) == count
