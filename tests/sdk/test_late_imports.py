"""Public names that are imported at their first use."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import kapy.sdk
from kapy.sdk import machine_control_plane


def names_for_type_checkers(module: ModuleType) -> dict[str, str]:
    """Return the module of each name that type checkers see."""
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_text())
    block = next(
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {
        alias.name: node.module or ""
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("module", [kapy.sdk, machine_control_plane])
def test_names_at_run_time_are_those_of_type_checkers(module: ModuleType) -> None:
    homes = {name: home for home, names in vars(module)["_NAMES"].items() for name in names}
    assert homes == names_for_type_checkers(module)
    assert sorted(homes) == sorted(vars(module)["__all__"])
    assert [name for name in homes if getattr(module, name, None) is None] == []
    assert callable(kapy.sdk.pool_result)


def test_a_name_imports_only_what_it_needs() -> None:
    script = (
        "import sys; from kapy.sdk import pick_fewest\n"
        "print([name for name in sys.modules if name.endswith('_controller')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_name_that_is_nowhere_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        machine_control_plane.no_such_name  # type: ignore[attr-defined]  # noqa: B018
