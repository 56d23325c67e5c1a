"""Python's `re` runs our own patterns only, and none of them takes long on a text of others."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import kapy
from kapy.api import patterns
from tests.kube.regexp.backtracking import Endless, Steps, characters

SOURCE: Final = Path(kapy.__file__).parent
FUNCTIONS: Final = frozenset(
    ("compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")
)
SEARCHING: Final = ("search", "sub", "subn", "split", "findall", "finditer")

IMPORT: Final = re.compile(r"^\s*(import re\b|from re import\b)", re.MULTILINE)
"""To parse the modules that do not import `re` would take seconds."""

GIVEN: Final = frozenset(
    (
        "conditions/foreign.py",  # the elements of a time, from a table beside the call
        "kube/schema/formats.py",  # formats, from a table beside the call
        "kube/yaml.py",  # tags of scalars, each from a constant
    )
)
"""Modules in which a pattern comes to `re` through a parameter, and where from."""

SHORT: Final = {
    "apiserver/resources/jsonpath.py",  # of definitions and requests, a few hundred characters
    "cli/",  # what a user writes to the program itself
    "clusterctl/",
    "kube/plural.py",
    "testing/",
    "apps/new_project.py",
    "apps/provider/",
}
"""Modules whose patterns may be quadratic, because their texts are short or the user's own."""


NOT_OF_OTHERS: Final = frozenset(
    (
        ("kube/cel/overloads.py", "_PART"),  # our own signatures
        ("kube/cel/functions/times.py", "_PART"),  # of what `_WHOLE` has matched
        ("kube/cel/functions/times.py", "_WORD_PART"),  # of what the format has accepted
        ("kube/duration.py", "_PART"),  # the same
        ("kube/yaml.py", "_DIGITS_AT_END"),  # of keys that are compared
    )
)
"""Patterns that never see a text that may be long or that nothing has checked."""


class Call(NamedTuple):
    """A call of `re`. source: the expression that is its pattern."""

    module: str
    line: int
    function: str
    source: ast.expr
    name: str


def _calls(path: Path) -> Iterator[Call]:
    text = path.read_text()
    if not IMPORT.search(text):
        return
    nodes = list(ast.walk(ast.parse(text)))
    module = str(path.relative_to(SOURCE))
    aliases = {
        alias.asname or alias.name: alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "re"
        for alias in node.names
    }
    names = {
        id(node.value): target.id
        for node in nodes
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        if not isinstance(node, ast.Call) or not node.args:
            continue
        function = _function(node.func, aliases)
        if function in FUNCTIONS:
            name = names.get(id(node), "")
            yield Call(module, node.lineno, function, node.args[0], name)


def _function(called: ast.expr, aliases: dict[str, str]) -> str:
    if isinstance(called, ast.Name):
        return aliases.get(called.id, "")
    if (
        isinstance(called, ast.Attribute)
        and isinstance(called.value, ast.Name)
        and called.value.id == "re"
    ):
        return called.attr
    return ""


def _is_ours(source: ast.expr) -> bool:
    """Whether an expression is made of literals and constants of modules only."""
    return all(
        isinstance(node, (ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.Add))
        or (isinstance(node, ast.Name) and node.id.isupper())
        or (isinstance(node, ast.Attribute) and node.attr == "pattern")
        or isinstance(node, (ast.Load, ast.expr_context))
        for node in ast.walk(source)
    )


@cache
def all_calls() -> tuple[Call, ...]:
    return tuple(call for path in sorted(SOURCE.rglob("*.py")) for call in _calls(path))


def test_no_pattern_of_others_comes_to_python_s_engine() -> None:
    assert len(all_calls()) > 100
    foreign = [
        f"{call.module}:{call.line}"
        for call in all_calls()
        if not _is_ours(call.source) and call.module not in GIVEN
    ]
    assert foreign == []


def _given_elsewhere() -> Iterator[tuple[str, str, bool]]:
    for name, value in vars(patterns).items():
        if name.isupper() and isinstance(value, str):
            yield f"api/patterns.py {name}", value, not value.startswith("^")
    from kapy.conditions import foreign

    for _, item in foreign._ELEMENTS:
        yield "conditions/foreign.py", item.pattern, False


def _cases() -> list[tuple[str, str, bool]]:
    """Each pattern with its place, and whether the text is searched for it."""
    cases: dict[tuple[str, str], bool] = {}
    for call in all_calls():
        if (call.module, call.name) in NOT_OF_OTHERS or not _is_ours(call.source):
            continue
        if (text := _text(call)) is None:
            continue
        where = f"{call.module} {text}"
        cases[where, text] = cases.get((where, text), False) or _searches(call)
    for where, text, searches in _given_elsewhere():
        cases[where, text] = searches
    return [(where, text, searches) for (where, text), searches in cases.items()]


def _text(call: Call) -> str | None:
    """The pattern; None for one of bytes that are no text."""
    value: Any
    if isinstance(call.source, ast.Constant):
        value = call.source.value
    else:
        name = "kapy." + call.module.removesuffix(".py").replace("/", ".")
        module = sys.modules.get(name) or importlib.import_module(name)
        value = eval(compile(ast.Expression(call.source), "", "eval"), vars(module))
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _searches(call: Call) -> bool:
    if call.function != "compile":
        return call.function in SEARCHING
    text = (SOURCE / call.module).read_text()
    if not call.name:
        return call.module != "kube/yaml.py"  # PyYAML matches its resolvers' patterns
    return any(f"{call.name}.{method}(" in text for method in SEARCHING)


def _attacks(pattern: str, length: int) -> Iterator[str]:
    letters = characters(pattern)
    pumps = [*letters, *(a + b for a in letters[:4] for b in letters[:4] if a != b)]
    for pump in pumps:
        for before in ("", *letters[:2]):
            for after in ("\0", ""):
                yield before + pump * (length // len(pump)) + after


def growth(pattern: str, *, searches: bool) -> float:
    """Return the largest factor by which the time grows when a text is twice as long."""
    flags = re.VERBOSE if "\n    |" in pattern else 0
    steps, worst = Steps(pattern, flags), 0.0
    for short, long in zip(_attacks(pattern, 16), _attacks(pattern, 32), strict=True):
        few = steps.match(short, whole=not searches, search=searches)
        many = steps.match(long, whole=not searches, search=searches)
        worst = max(worst, (many + 25) / (few + 25))
    return worst


def test_built_in_patterns_are_fast_on_hostile_text() -> None:
    """All in one test: each worker would parse the source to count tests of a pattern."""
    cases = _cases()
    assert len(cases) > 250
    slow = [
        where
        for where, pattern, searches in cases
        if growth(pattern, searches=searches) >= (5.0 if where.startswith(tuple(SHORT)) else 2.7)
    ]
    assert slow == []


@pytest.mark.parametrize(
    "pattern", [r"(a+)+$", r"(a|a)*b", r"a*a*b", r"(?:a+b?)+c", r"\s*,\s*x|\s*\s*y"]
)
def test_a_slow_pattern_is_found(pattern: str) -> None:
    try:
        assert growth(pattern, searches=False) > 2.7
    except Endless:
        return
