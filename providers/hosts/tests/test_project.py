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
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return modules | {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}


@pytest.mark.parametrize("path", sorted(SOURCE.glob("*.py")), ids=lambda path: path.name)
def test_a_module_uses_only_public_names_of_kapy(path: Path) -> None:
    assert {module for module in imports(path) if module.split(".")[0] == "kapy"} <= PUBLIC | {"kapy.cli.provider"}


def test_only_one_module_imports_the_ssh_library() -> None:
    assert [path.name for path in SOURCE.glob("*.py") if "asyncssh" in imports(path)] == ["ssh.py"]


def test_the_source_has_less_than_2500_lines_of_code() -> None:
    files = [file for file in SOURCE.rglob("*") if file.suffix in (".py", ".sh")]
    assert sum(map(lines_of_code, files)) < MAX_LINES


def lines_of_code(path: Path) -> int:
    """Return the lines of a file without blank ones, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    return len(lines) - (docstring_lines(text) if path.suffix == ".py" else 0)


def docstring_lines(text: str) -> int:
    """Return how many lines the docstrings have that are not blank."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Module | ast.ClassDef | FUNCTION)]
    docs = [ast.get_docstring(node, clean=False) or "" for node in nodes]
    return sum(bool(line.strip()) for doc in docs for line in doc.splitlines())
