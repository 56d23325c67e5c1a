"""The log of boot data: written by a real shell, read by moment."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kapy.kube.boot import RunCommand
from kapy.providers.docker.boot_log import PATH, since, with_log


def run(folder: Path, script: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A command with its log in a folder."""
    command = with_log(RunCommand(("/bin/sh", "-c", script), "runcmd[0]"))
    argv = [one.replace(PATH, f"{folder}/log/boot.log") for one in command.argv]
    return subprocess.run(argv, input=stdin, capture_output=True, check=False, timeout=60)


def test_both_outputs_reach_the_caller_and_the_log(tmp_path: Path) -> None:
    done = run(tmp_path, "echo out; echo err >&2; cat; exit 3", b"input\n")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\ninput\n", b"err\n")
    path = tmp_path / "log" / "boot.log"
    first, *middle, last = path.read_text().splitlines()
    assert re.fullmatch(r"== \S+Z runcmd\[0\]: begins", first)
    assert sorted(middle) == ["err", "input", "out"]
    assert re.fullmatch(r"== \S+Z runcmd\[0\]: exit status 3", last)
    assert path.stat().st_mode & 0o777 == 0o600  # kubeadm prints tokens


@pytest.mark.parametrize(
    ("script", "code"), [("true", 0), ("kill -9 $$", 137), ("exec no-such-program", 127)]
)
def test_the_exit_code_is_that_of_the_command(tmp_path: Path, script: str, code: int) -> None:
    assert run(tmp_path, script).returncode == code


def test_commands_add_to_the_log(tmp_path: Path) -> None:
    run(tmp_path, "echo one")
    run(tmp_path, "umask; echo two")
    text = (tmp_path / "log" / "boot.log").read_text()
    assert text.index("one") < text.index("two")
    assert "0077" not in text  # of the log, not of the command


def marked(*lines: str) -> str:
    return "".join(f"{one}\n" for one in lines)


LOG: Sequence[str] = (
    "== 2026-01-01T10:00:00Z write_files[0] (/a): begins",
    "== 2026-01-01T10:00:01Z write_files[0] (/a): exit status 0",
    "== 2026-01-01T10:00:02Z runcmd[0]: begins",
    "working",
    "== 2026-01-01T10:05:00Z runcmd[0]: exit status 0",
    "== 2026-01-01T10:06:00Z runcmd[1]: begins",
    "still working",
)


@pytest.mark.parametrize(("minute", "first"), [(0, 0), (1, 2), (4, 2), (5, 2), (6, 5), (59, 5)])
def test_commands_that_ended_before_a_moment_are_left_out(minute: int, first: int) -> None:
    moment = datetime(2026, 1, 1, 10, minute, tzinfo=UTC)
    assert since(marked(*LOG), moment) == marked(*LOG[first:])


def test_a_log_of_another_program_is_kept_whole() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert since("Cloud-init v. 25\n== no mark\n", moment) == "Cloud-init v. 25\n== no mark\n"
    assert since(marked(*LOG[:5]), datetime(2027, 1, 1, tzinfo=UTC)) == ""
