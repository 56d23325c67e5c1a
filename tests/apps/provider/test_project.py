"""A new provider of each type runs its own tests, which judge it by the contracts.

The tutorial does so with one of infrastructure: `tests/e2e/test_write_a_provider.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from kapy.apps.new_project import CannotMake
from kapy.apps.provider.project import make_provider
from kapy.sdk.provider import ProviderType

TYPES: list[ProviderType] = [arg for arg in get_args(ProviderType) if arg != "infrastructure"]


def test_new_providers_keep_the_contracts(tmp_path: Path) -> None:
    folders = []
    for of_type in TYPES:
        folder = tmp_path / of_type
        provider = make_provider(f"new-{of_type}", of_type, folder)
        module = f"new_{of_type.replace('-', '_')}"
        assert {Path("pyproject.toml"), Path("Containerfile"), Path(module, "kinds.py")} <= {
            *provider
        }
        folders.append(folder)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-Werror::DeprecationWarning",  # of a former name of the SDK
            "--override-ini=asyncio_default_fixture_loop_scope=function",
            "--import-mode=importlib",
            *map(str, folders),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert "7 passed" in done.stdout


def test_an_unusable_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotMake, match='"My Cloud" cannot be the name of a project'):
        make_provider("My Cloud", "infrastructure", tmp_path / "new")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a-file").touch()
    with pytest.raises(CannotMake, match="is there already"):
        make_provider("cloud", "infrastructure", tmp_path / "there")
