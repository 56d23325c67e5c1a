"""Folders that a plane cannot use: a sentence with the way out, and nothing to report to us."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kapy._aio.clock import EPOCH, loop_clock
from kapy.apiserver.auth.tokens import ServiceAccountTokens
from kapy.apiserver.store.store import Store
from kapy.apps.credentials import issue_credentials
from kapy.apps.pidfile import PlaneRecord, claim, is_claimed, write_record
from kapy.apps.settings import Folder, Serving
from kapy.cli.background import start_plane
from kapy.cli.root import error_message
from kapy.kube.errors import KapyError

HERE = PlaneRecord(
    os.getpid(), "https://127.0.0.1:1", "kapy", "config", "2026-01-01T00:00:00Z", "1"
)


def file(path: Path) -> None:
    path.write_text("x")


def directory(path: Path) -> None:
    (path / "full").mkdir(parents=True)


def loop(path: Path) -> None:
    path.symlink_to(path)


def dangling(path: Path) -> None:
    path.symlink_to("/nowhere/at/all")


def below_a_file(path: Path) -> None:
    path.parent.joinpath("x").write_text("x")
    path.symlink_to(path.parent / "x" / "y")


async def start(folder: Folder) -> None:
    """All that `kapy up` does with its folder until it serves."""
    with claim(folder):
        store = Store.open(folder.data)
        try:
            ServiceAccountTokens(store, loop_clock(), folder.data).keys()
            issue_credentials(Serving(pki=folder.pki), EPOCH)
            write_record(folder, HERE)
        finally:
            store.close()


def said_by(error: BaseException) -> str:
    message = error_message(error)
    assert "report" not in message, message
    assert "\n" not in message
    return message


OBSTACLES = [
    *((where, make) for where in ("", "data", "pki") for make in (file, loop, dangling)),
    *((where, below_a_file) for where in ("", "data", "pki", "plane.lock", "data/store.db")),
    *((where, directory) for where in ("plane.lock", "data/lock", "data/store.db", "plane.json")),
    *((where, directory) for where in ("data/store.mark", "pki/ca.crt", "pki/ca.key")),
    *((where, loop) for where in ("plane.lock", "data/lock", "data/store.db", "data/store.mark")),
]


@pytest.mark.parametrize(
    ("where", "make"), OBSTACLES, ids=[f"{make.__name__} {where}" for where, make in OBSTACLES]
)
async def test_obstacles_in_the_folder_are_reported(
    tmp_path: Path, where: str, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "plane" / where
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    with pytest.raises((KapyError, OSError)) as refused:
        await start(Folder(tmp_path / "plane"))
    assert str(tmp_path / "plane") in said_by(refused.value)


REFUSALS = ("EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT", "EIO", "ESTALE", "EMFILE")


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize("call", ["mkdir", "chmod", "open", "replace", "fsync"])
async def test_refused_system_calls_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, name: str
) -> None:
    """The first call that changes something in the folder, then the second, and so on."""
    number, there = getattr(errno, name), str(tmp_path)
    real, kernel = getattr(os, call), os.strerror(number)
    for turn in range(20):
        calls, folder = 0, Folder(tmp_path / f"{turn}")

        def refusing(path: object, *arguments: object, **named: object) -> object:
            nonlocal calls
            writes = call != "open" or bool(
                arguments and int(str(arguments[0])) & (os.O_RDWR | os.O_CREAT)
            )
            if writes and (isinstance(path, int) or str(path).startswith(there)):
                calls += 1
                if calls == turn + 1:  # noqa: B023
                    raise OSError(number, kernel, None if isinstance(path, int) else str(path))
            return real(path, *arguments, **named)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, refusing)
            try:
                await start(folder)
            except (KapyError, OSError) as error:
                message = said_by(error)
                assert there in message
                assert kernel in message or "disk is full" in message
            else:
                assert calls <= turn
                break
    else:
        pytest.fail("it never worked")
    assert turn


@pytest.mark.parametrize("name", ["ENOLCK", "EIO", "EOPNOTSUPP"])
async def test_a_file_system_without_locks_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    number = getattr(errno, name)
    real = fcntl.flock
    for turn in range(2):
        calls = 0

        def refusing(handle: int, operation: int) -> None:
            nonlocal calls
            calls += 1
            if calls == turn + 1:  # noqa: B023
                raise OSError(number, os.strerror(number))
            real(handle, operation)

        with monkeypatch.context() as patch:
            patch.setattr(fcntl, "flock", refusing)
            with pytest.raises(KapyError, match="local file system"):
                await start(Folder(tmp_path / f"{turn}"))


def test_a_log_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "plane.log").mkdir()
    with pytest.raises(OSError, match=r"plane\.log") as refused:
        asyncio.run(start_plane(Folder(tmp_path), []))
    assert "move this one away" in said_by(refused.value)


def test_a_file_or_a_missing_folder_holds_no_plane(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert not is_claimed(Folder(tmp_path / "file"))
    assert not is_claimed(Folder(tmp_path / "nothing"))
