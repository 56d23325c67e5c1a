"""The provider is written with public names only, and stays small."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "kapy_hosts"
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
MAX_LINES = 2500
SURFACE = SOURCE.parents[2] / "docs" / "reference" / "public-surface.md"
PUBLIC = {line.removeprefix("## ") for line in SURFACE.read_text(encoding="utf-8").splitlines()}


def imports(path: Path) -> set[str]:
    """Return the modules that a file imports."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    found = {one.module or "" for one in nodes if isinstance(one, ast.ImportFrom)}
    return found | {name.name for one in nodes if isinstance(one, ast.Import) for name in one.names}


@pytest.mark.parametrize("path", sorted(SOURCE.glob("*.py")), ids=lambda path: path.name)
def test_a_module_uses_only_public_names_of_kapy(path: Path) -> None:
    assert {one for one in imports(path) if one.split(".")[0] == "kapy"} <= PUBLIC | {"kapy.cli.provider"}


def test_one_module_knows_the_library_for_ssh() -> None:
    assert [path.name for path in SOURCE.glob("*.py") if "asyncssh" in imports(path)] == ["ssh.py"]


def test_the_source_has_less_than_2500_lines_of_code() -> None:
    files = [one for one in SOURCE.rglob("*") if one.suffix in (".py", ".sh")]
    assert sum(map(lines_of_code, files)) < MAX_LINES


def lines_of_code(path: Path) -> int:
    """Return the lines of a file without blank ones, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    return len(lines) - (docstring_lines(text) if path.suffix == ".py" else 0)


def docstring_lines(text: str) -> int:
    """Return how many lines the docstrings have that are not blank."""
    nodes = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Module | ast.ClassDef | FUNCTION)]
    docs = [ast.get_docstring(one, clean=False) or "" for one in nodes]
    return sum(bool(line.strip()) for doc in docs for line in doc.splitlines())
