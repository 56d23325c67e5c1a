"""Steps as commands of a shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kapy.kube.boot import RunCommand, WriteFile, as_command, read_boot_data

_ME = f"{os.getuid()}:{os.getgid()}"


def _run(command: RunCommand) -> int:
    done = subprocess.run(command.argv, input=command.stdin, check=False, umask=0o022)
    return done.returncode


@pytest.mark.parametrize("name", ["a", "a b", "$(id)", "'quoted\"", "-n", "é\n"])
def test_a_file_is_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / "folder" / name
    first = WriteFile(str(path), b"\0one\n", "x", mode=0o640, owner=_ME)
    more = WriteFile(str(path), b"two", "x", mode=0o600, owner=_ME, append=True)
    assert _run(as_command(first)) == 0
    assert path.stat().st_mode & 0o7777 == 0o640
    assert path.parent.stat().st_mode & 0o7777 == 0o755
    assert _run(as_command(more)) == 0
    assert path.read_bytes() == b"\0one\ntwo"
    assert path.stat().st_mode & 0o7777 == 0o600
    assert _run(as_command(first)) == 0
    assert path.read_bytes() == b"\0one\n"


def test_only_what_replaces_may_be_repeated() -> None:
    assert as_command(WriteFile("/a", b"", "x")).repeatable
    assert not as_command(WriteFile("/a", b"", "x", append=True)).repeatable


def test_a_file_that_cannot_be_written_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert _run(as_command(WriteFile(str(tmp_path / "file" / "a"), b"", "x", owner=_ME))) != 0
    nobody = WriteFile(str(tmp_path / "b"), b"", "x", owner="no-such-user-here")
    assert _run(as_command(nobody)) != 0


def test_a_command_stays_as_it_is() -> None:
    (step,) = read_boot_data(b"runcmd: [exit 3]").steps
    command = as_command(step)
    assert command is step
    assert _run(command) == 3
