"""A finder of parameters and local variables that are named by a participle or a pronoun.

Such a name (`known`, `one`) does not say what its value is, so a reader has to look for the line
that assigned it. `left` beside `right` is a side, and stays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

VAGUE: Final = frozenset(
    ("one", "found", "told", "made", "known", "given", "asked", "kept", "seen", "left", "gone")
)
_NAMES: Final = "|".join(sorted(VAGUE))
# A file that cannot bind such a name is not parsed, which takes most of the time.
_BINDING: Final = re.compile(
    rf"\b(?:{_NAMES})\b\s*(?:[-+*/|&^%@<>:]*=[^=]|[:,)\]|]|if\b|in\b|$)", re.M
)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def vague_names(path: str, text: str) -> Iterator[str]:
    """Yield `path:line: name` for each parameter or local variable with such a name."""
    if not _BINDING.search(text):
        return
    tree = ast.parse(text)
    places = {
        (node.lineno, name)
        for scope in ast.walk(tree)
        if isinstance(scope, (*_FUNCTIONS, *_COMPREHENSIONS))
        for node, name in _vague(scope)
    }
    yield from (f"{path}:{line}: {name}" for line, name in sorted(places))


def _vague(scope: ast.AST) -> Iterator[tuple[ast.expr | ast.arg | ast.pattern, str]]:
    bindings = list(_bindings(scope))
    has_sides = any(name == "right" for _, name in bindings)
    for node, name in bindings:
        if name in VAGUE and not (name == "left" and has_sides):
            yield node, name


def _bindings(scope: ast.AST) -> Iterator[tuple[ast.expr | ast.arg | ast.pattern, str]]:
    """Names that are bound in a function or comprehension, not in those within it."""
    rest = list(ast.iter_child_nodes(scope))
    while rest:
        node = rest.pop()
        match node:
            case ast.arg(arg=name):
                yield node, name
            case ast.Name(id=name, ctx=ast.Store()):
                yield node, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node, name
        if not isinstance(node, (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)):
            rest.extend(ast.iter_child_nodes(node))
