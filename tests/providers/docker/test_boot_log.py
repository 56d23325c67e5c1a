"""The log of boot data: written by a real shell, read by moment."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kapy.kube.boot import RunCommand
from kapy.providers.docker.boot_log import (
    MOST,
    OLDER,
    PATH,
    last_lines,
    log_past,
    read_command,
    since,
    with_log,
)


def of_folder(folder: Path, argv: Sequence[str]) -> list[str]:
    """A command whose log is in a folder."""
    return [text.replace(PATH, f"{folder}/log/boot.log") for text in argv]


def run(folder: Path, script: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A command with its log in a folder."""
    command = with_log(RunCommand(("/bin/sh", "-c", script), "runcmd[0]"))
    argv = of_folder(folder, command.argv)
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


def test_a_command_that_prints_without_an_end_does_not_fill_the_disk(tmp_path: Path) -> None:
    lines = 3 * MOST // 8
    done = run(tmp_path, f"seq -f %07.0f 1 {lines}")
    assert done.stdout.count(b"\n") == lines
    newer, older = (tmp_path / "log" / name for name in ("boot.log", "boot.log.1"))
    assert OLDER.removeprefix(PATH) == ".1"
    for path in (newer, older):
        assert path.stat().st_size <= MOST + (3 << 20)
        assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(item.name for item in newer.parent.iterdir()) == ["boot.log", "boot.log.1"]
    *_, last, end = newer.read_text().splitlines()
    assert (last, end.rpartition(" ")[2]) == (f"{lines:07}", "0")
    assert ": goes on after a rotation\n" in newer.read_text()


def test_a_log_that_cannot_be_written_is_no_failure_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "log" / "boot.log").mkdir(parents=True)
    done = run(tmp_path, "seq 100000; exit 3")
    assert (done.returncode, done.stdout.count(b"\n")) == (3, 100_000)


def read(folder: Path, most: int) -> bytes:
    """Return the part of the log that the command prints before the mark."""
    argv = of_folder(folder, read_command(most, "MARK", follow=False))
    done = subprocess.run(argv, capture_output=True, check=True, timeout=60)
    assert done.stderr == b""
    before, _, after = done.stdout.partition(b"MARK\n")
    assert after == b""
    return before


def test_both_parts_of_a_log_are_read(tmp_path: Path) -> None:
    log = tmp_path / "log" / "boot.log"
    log.parent.mkdir()
    past = log_past(read(tmp_path, 10))
    assert past is not None
    assert not past.exists
    log.write_bytes(b"newer")
    past = log_past(read(tmp_path, 10))
    assert past is not None
    assert past == (-1, 5, b"newer")
    assert not past.is_cut(10)
    log.with_suffix(".log.1").write_bytes(b"this is older ")
    past = log_past(read(tmp_path, 10))
    assert past == (14, 5, b" is older newer")
    assert past is not None
    assert past.is_cut(10)
    log.write_bytes(b"")
    assert log_past(read(tmp_path, 100)) == (14, 0, b"this is older ")
    log.write_bytes(b"x" * 100 + b"end")
    assert log_past(read(tmp_path, 10)) == (14, 103, b" is older " + b"x" * 7 + b"end")
    assert log_past(b"/bin/sh: tail: not found\n") is None


def test_a_log_is_followed_across_a_rotation(tmp_path: Path) -> None:
    log = tmp_path / "log" / "boot.log"
    log.parent.mkdir()
    log.write_bytes(b"one\n")
    argv = of_folder(tmp_path, read_command(100, "MARK", follow=True))
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert [reader.stdout.readline() for _ in range(3)] == [b"-1 4\n", b"one\n", b"MARK\n"]
        with log.open("ab") as file:
            file.write(b"two\n")
        assert reader.stdout.readline() == b"two\n"
        log.rename(log.with_suffix(".log.1"))
        log.write_bytes(b"three\n")
        assert reader.stdout.readline() == b"three\n"
        reader.kill()


@pytest.mark.parametrize(
    ("number", "lines"), [(0, b""), (1, b"c\r d\n"), (2, b"b\nc\r d\n"), (9, b"a\nb\nc\r d\n")]
)
def test_the_last_lines_of_a_log_are_read(number: int, lines: bytes) -> None:
    assert last_lines(b"a\nb\nc\r d\n", number) == lines
    assert last_lines(b"a\nb\nc\r d", number) == lines.removesuffix(b"\n")


def marked(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


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
    odd = "== 2026-99-99T99:99:99Z x: exit status 0\n"
    assert since(odd, moment) == odd
    assert since(marked(*LOG[:5]), datetime(2027, 1, 1, tzinfo=UTC)) == ""
