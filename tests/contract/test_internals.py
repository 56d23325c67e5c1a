"""What providers rely on: the SDK, as import-linter has it, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import kapy.providers

_FORBIDDEN: Final = tuple(
    f"kapy.{one}" for one in ("core", "engine", "contract", "conditions", "client", "topology")
)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_providers_rely_on_nothing_of_core() -> None:
    folders = [Path(one) for one in kapy.providers.__path__]
    modules = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(modules) > 50
    found = {
        (path.name, name)
        for path in modules
        for name in _imported(path)
        if any(name == one or name.startswith(f"{one}.") for one in _FORBIDDEN)
    }
    assert found == set()
