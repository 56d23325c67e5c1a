"""Tests that providers import public modules of the SDK, as import-linter requires, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import kapy.providers
from tests.library.surface import MODULES

_FORBIDDEN: Final = tuple(
    f"kapy.{item}" for item in ("core", "engine", "contract", "conditions", "client", "topology")
)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_providers_rely_on_nothing_of_core() -> None:
    folders = [Path(text) for text in kapy.providers.__path__]
    modules = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(modules) > 50
    results = {
        (path.name, name)
        for path in modules
        for name in _imported(path)
        if any(name == text or name.startswith(f"{text}.") for text in _FORBIDDEN)
    }
    assert results == set()


def test_providers_use_the_public_modules_of_the_sdk() -> None:
    root = Path(__file__).resolve().parents[2]
    folders = [*map(Path, kapy.providers.__path__), root / "providers", root / "examples"]
    results = {
        (path.name, name)
        for folder in folders
        for path in folder.rglob("*.py")
        for name in _imported(path)
        if name.startswith("kapy.sdk") and name not in MODULES
    }
    assert results == set()
