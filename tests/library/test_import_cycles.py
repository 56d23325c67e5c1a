"""No module imports itself through others, also not under TYPE_CHECKING or inside functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import kapy

SOURCES = Path(kapy.__file__).parent
_IMPORT = re.compile(
    r"^[ \t]*(from [\w.]+ import (?:\([^)]*\)|[^\n(]+)|import [^\n]+)", re.MULTILINE
)
KNOWN = {
    frozenset(
        f"kapy.kube.cel.{name}"
        for name in ("calls", "compiler", "literals", "logic", "macros", "members")
    ),
}
"""The compiler of CEL expressions calls itself for the parts of each. No other cycle is needed."""


def imports_of(
    source: str, modules: Mapping[str, object], parse: Callable[[str], ast.AST] = ast.parse
) -> Iterator[str]:
    """Yield the modules of `modules` that a source text imports anywhere."""
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in modules:
                    yield name
                elif node.module is not None and node.module in modules:
                    yield node.module


def import_statements(source: str) -> ast.AST:
    """Parse the import statements of a formatted source only, also those of examples in docstrings.

    To parse the rest takes most of the time.
    """
    try:
        return ast.parse("\n".join(_IMPORT.findall(source)))
    except SyntaxError:  # a sentence of a docstring looks like an import
        return ast.parse(source)


def import_graph(parse: Callable[[str], ast.AST]) -> dict[str, set[str]]:
    """Return the imports of each module of the package."""
    files = {}
    for path in SOURCES.rglob("*.py"):
        parts = path.relative_to(SOURCES.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {
        name: set(imports_of(path.read_text(encoding="utf-8"), files, parse)) - {name}
        for name, path in files.items()
    }


def cycles(graph: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """Return the sets of modules that import each other (strongly connected components)."""
    order: list[str] = []
    visited: set[str] = set()
    for start in graph:
        stack = [(start, iter(graph[start]))] if start not in visited else []
        visited.add(start)
        while stack:
            node, rest = stack[-1]
            following = next((item for item in rest if item not in visited), None)
            if following is None:
                order.append(node)
                stack.pop()
            else:
                visited.add(following)
                stack.append((following, iter(graph[following])))
    importers: dict[str, set[str]] = {name: set() for name in graph}
    for name, imported in graph.items():
        for text in imported:
            importers[text].add(name)
    components: set[frozenset[str]] = set()
    placed: set[str] = set()
    for start in reversed(order):
        component, waiting = set(), [start] if start not in placed else []
        while waiting:
            node = waiting.pop()
            if node not in placed:
                placed.add(node)
                component.add(node)
                waiting.extend(importers[node])
        if len(component) > 1:
            components.add(frozenset(component))
    return components


@pytest.mark.parametrize("parse", [ast.parse, import_statements])
def test_a_cycle_through_lazy_and_type_imports_is_found(parse: Callable[[str], ast.AST]) -> None:
    texts = {
        "a": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import b\n",
        "b": "def load():\n    from c import value\n    return value\n",
        "c": "from a import (  # a comment\n    value,\n    other,\n)\n",
        "d": "import a\n",
    }
    graph = {name: set(imports_of(text, texts, parse)) for name, text in texts.items()}
    assert cycles(graph) == {frozenset("abc")}


def test_no_modules_import_each_other() -> None:
    results = cycles(import_graph(import_statements))
    if results != KNOWN:
        results = cycles(import_graph(ast.parse))
    assert not results - KNOWN, "break the cycle: inject the dependency or move what both need"
    assert not KNOWN - results, "a cycle was broken: remove it from KNOWN"
