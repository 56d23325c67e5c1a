"""Executables that become commands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kapy.cli.root import plugin_for


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("clusterctl-foo", "clusterctl-foo-bar", "kapy-own", "clusterctl-a_b"):
        path = tmp_path / name
        path.write_text(f'#!/bin/sh\necho "{name} $*"\nexit 7\n')
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "expected_name"),
    [
        (["foo"], ("clusterctl-foo", 1)),
        (["foo", "x"], ("clusterctl-foo", 1)),
        (["foo", "bar", "--flag"], ("clusterctl-foo-bar", 2)),
        (["foo", "--flag", "bar"], ("clusterctl-foo", 1)),
        (["a-b"], ("clusterctl-a_b", 1)),
        (["own"], ("kapy-own", 1)),
        (["other"], None),
    ],
)
def test_the_longest_name_counts(
    arguments: list[str], expected_name: tuple[str, int] | None, folder: Path
) -> None:
    expected = None if expected_name is None else (str(folder / expected_name[0]), expected_name[1])
    assert plugin_for(arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (["foo", "bar", "--x", "1"], "clusterctl-foo-bar --x 1\n", 7),
        (["version"], "kapy ", 0),
    ],
)
def test_a_plugin_adds_a_command_and_never_replaces_one(
    arguments: list[str], said: str, code: int, folder: Path
) -> None:
    assert folder
    command = [sys.executable, "-m", "kapy.cli.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith(said)
    assert done.returncode == code
