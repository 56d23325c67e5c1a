"""A command pays for what it uses: none imports a kind before it runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kapy.api.kinds import KINDS

MODULES = sorted({f"kapy.api.{kind.module}" for kind in KINDS})
_IMPORTED = """
import sys
{code}
print("\\n".join(name for name in {modules} if name in sys.modules))
"""
RUN = "from kapy.cli.root import run\nassert run({!r}) == 0"


def imported(code: str) -> list[str]:
    script = _IMPORTED.format(code=code, modules=MODULES)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return [line for line in done.stdout.splitlines() if line in MODULES]


@pytest.mark.parametrize(
    "command",
    [
        "version",
        "--help",
        "status --help",
        "down --help",
        "logs --help",
        "backup --help",
        "restore --help",
        "crds --help",
        "get kubeconfig --help",
        "describe cluster --help",
        "generate cluster --help",
        "generate provider --help",
        "generate yaml --help",
        "convert --help",
    ],
)
def test_a_command_that_needs_no_kind_imports_none(command: str) -> None:
    assert imported(RUN.format(command.split())) == []
