"""Steps as commands of a shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kapy.kube.boot import RunCommand, WriteFile, as_command, as_commands, read_boot_data

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


def test_files_that_follow_each_other_are_one_command(tmp_path: Path) -> None:
    names = ["a", "b c", "$(id)", "'EOF'", "-n"]
    contents = [b"\0" * 100, b"EOF\n", b"", b"x" * 100_000, b"y"]
    files = [
        WriteFile(str(tmp_path / "f" / name), content, f"entry '{name}'", mode=0o600, owner=_ME)
        for name, content in zip(names, contents, strict=True)
    ]
    more = WriteFile(files[0].path, b"more", "more", owner=_ME, append=True)
    run = RunCommand(("true",), "runcmd[0]")
    first, second, last = as_commands([*files, run, more])
    assert (first.repeatable, second, last) == (True, run, as_command(more))
    assert first.entry == "entry 'a' to entry '-n'"
    assert _run(first) == 0
    assert [Path(file.path).read_bytes() for file in files] == contents
    assert Path(files[3].path).stat().st_mode & 0o7777 == 0o600
    (together,) = as_commands([*files, more])
    assert not together.repeatable
    assert _run(together) == 0
    assert Path(files[0].path).read_bytes() == contents[0] + b"more"


def test_the_file_that_could_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    good = WriteFile(str(tmp_path / "good"), b"", "good", owner=_ME)
    bad = WriteFile(str(tmp_path / "file" / "bad"), b"", "write_files[1] (it's)", owner=_ME)
    (command,) = as_commands([good, bad, good])
    done = subprocess.run(command.argv, input=command.stdin, check=False, capture_output=True)
    assert done.returncode == 1
    assert done.stderr.decode().endswith("write_files[1] (it's): the file could not be written\n")


def test_only_replacing_steps_may_be_repeated() -> None:
    assert as_command(WriteFile("/a", b"", "x")).repeatable
    assert not as_command(WriteFile("/a", b"", "x", append=True)).repeatable


def test_a_file_that_cannot_be_written_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert _run(as_command(WriteFile(str(tmp_path / "file" / "a"), b"", "x", owner=_ME))) != 0
    nobody = WriteFile(str(tmp_path / "b"), b"", "x", owner="no-such-user-here")
    assert _run(as_command(nobody)) != 0


def test_a_command_stays_unchanged() -> None:
    (step,) = read_boot_data(b"runcmd: [exit 3]").steps
    command = as_command(step)
    assert command is step
    assert _run(command) == 3
