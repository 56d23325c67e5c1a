"""Every timer has its line in `docs/reference/timers.md`: how long, and why it is no watch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import kapy

SOURCE = Path(kapy.__file__).parent
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "timers.md"
TIMERS = {
    "requeue",
    "requeue_if",
    "sleep",
    "call_later",
    "call_at",
    "timeout",
    "timeout_at",
    "wait_for",
}
NOT_RUN = ("testing",)
"""Packages that no plane runs."""


def _is_timer(call: ast.Call) -> bool:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in TIMERS:
        return False
    gives_way = call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
    return not gives_way


def _timers(path: Path) -> Iterator[str]:
    """The functions of a module that start a timer."""
    module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    text = path.read_text()
    if not any(f"{name}(" in text for name in TIMERS):
        return  # as in nearly all modules, which take seconds to parse
    for scope in ast.walk(ast.parse(text)):
        if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
            calls = (node for node in ast.walk(scope) if isinstance(node, ast.Call))
            if any(_is_timer(call) for call in calls):
                yield f"{module}.{scope.name}"


def test_the_list_of_timers_is_complete() -> None:
    timers = {
        timer
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in NOT_RUN
        for timer in _timers(path)
    }
    matches = re.findall(r"^\| `(kapy\.[^`]*)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(timers) == sorted(matches)


def test_every_timer_has_a_reason() -> None:
    for line in PAGE.read_text().splitlines():
        if line.startswith("| `"):
            assert all(cell.strip() for cell in line.strip("|").split("|")), line
