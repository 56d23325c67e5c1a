"""Audit lines on their way to a file: none is lost without being counted, none holds anybody up."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from kapy._aio.clock import EPOCH, Clock
from kapy.apiserver.audit import log as logs
from kapy.apiserver.audit.log import MEGABYTE, LogFile, LogNotWritable, LogQueue, Rotation

LINE = b"x" * (MEGABYTE // 2) + b"\n"


async def test_lines_are_written_in_order_and_the_rest_at_the_end() -> None:
    written: list[bytes] = []
    log = LogQueue(written.extend, lost=lambda _: None)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(log.run())
        assert log.put(b"1")
        assert log.put(b"2")
        await asyncio.sleep(1)
        assert written == [b"1", b"2"]
        log.put(b"3")
        running.cancel()
    assert written == [b"1", b"2", b"3"]


@pytest.mark.parametrize("bound", ["LINES", "BYTES"])
async def test_a_full_queue_loses_the_newest_lines(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, bound, 3)
    written: list[bytes] = []
    log = LogQueue(written.extend, lost=lambda _: None)
    assert [log.put(b"%d" % number) for number in range(5)] == [True] * 3 + [False] * 2
    log.close()
    assert log.put(b"5")
    log.close()
    assert written == [b"0", b"1", b"2", b"5"]


async def test_lines_lost_to_a_full_disk_are_counted() -> None:
    lost: list[int] = []

    def full(lines: Sequence[bytes]) -> None:
        raise OSError(28, "No space left on device")

    log = LogQueue(full, lost=lost.append)
    log.put(b"1")
    log.put(b"2")
    log.close()
    assert lost == [2]


def ticking(seconds: float = 1) -> Clock:
    """A clock that goes on with every look."""
    looks = itertools.count()
    return lambda: EPOCH + timedelta(seconds=seconds * next(looks))


def test_a_full_log_file_is_rotated_and_old_files_are_deleted(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "audit.log", Rotation(megabytes=1, backups=2), ticking())
    for _ in range(6):
        file.write([LINE])
    file.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [
        *("audit-2026-01-01T00-00-03.000.log", "audit-2026-01-01T00-00-04.000.log", "audit.log"),
    ]
    assert all(path.stat().st_size <= MEGABYTE for path in tmp_path.iterdir())
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_files_are_dropped_by_age(tmp_path: Path) -> None:
    file = LogFile(tmp_path / "audit.log", Rotation(megabytes=1, days=2), lambda: EPOCH)
    for name, days in (("audit-old.log", 3), ("audit-young.log", 1)):
        moment = EPOCH.timestamp() - days * 86_400
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (moment, moment))
    file.write([LINE, LINE])
    file.close()
    names = {path.name for path in tmp_path.iterdir()}
    assert "audit-young.log" in names
    assert "audit-old.log" not in names


def test_an_existing_log_file_is_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "new" / "audit.log"
    for number in range(2):
        file = LogFile(path, Rotation(), ticking())
        file.write([b"%d\n" % number])
        file.close()
    assert path.read_text() == "0\n1\n"


def test_a_path_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LogNotWritable, match=r"the audit log .* cannot be written"):
        LogFile(tmp_path / "file" / "audit.log", Rotation(), ticking())
