"""Planes with damaged files: every command says a sentence, and none ends another program."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest

from kapy.apps.pidfile import NoPlane, PlaneRecord, announce, claim, terminate
from kapy.apps.settings import Folder
from kapy.cli.root import run

SOUND = PlaneRecord(
    1 << 30, "https://127.0.0.1:6443", "kapy", "none", "2030-01-02T03:04:05Z", "1.2"
)
COMMANDS = (["planes"], ["planes", "-o", "json"], ["status"], ["logs"], ["down"])
DELETE = ["down", "--delete", "--yes"]


def holding(content: bytes) -> Callable[[Path], None]:
    return lambda path: _replace(path, lambda: path.write_bytes(content))


def presence(**changed: object) -> Callable[[Path], None]:
    return holding(json.dumps({**asdict(SOUND), **changed}).encode())


def directory(path: Path) -> None:
    _replace(path, lambda: (path / "x").mkdir(parents=True))


def loop(path: Path) -> None:
    _replace(path, lambda: path.symlink_to(path))


def gone(path: Path) -> None:
    _replace(path, lambda: None)


def _replace(path: Path, make: Callable[[], object]) -> None:
    path.unlink(missing_ok=True)
    make()


ANYWHERE = {"empty": holding(b""), "binary": holding(b"\xff\0"), "directory": directory}
ANYWHERE |= {"loop": loop, "gone": gone}
STATES = {
    "deep": holding(b"[" * 100_000),
    "list": holding(b"[]"),
    "process as text": presence(pid="7"),
    "everybody's process": presence(pid=-1),
    "own group's process": presence(pid=0),
    "huge process": presence(pid=1 << 80),
    "port": presence(server="https://127.0.0.1:99999"),
    "no address": presence(server="::::["),
    "no kubeconfig": presence(kubeconfig=None),
    "NUL in kubeconfig": presence(kubeconfig="a\0b"),
    "later program": presence(more="x"),
}
DAMAGES = [
    *((name, damage) for name in ("plane.lock", "plane.log") for damage in ANYWHERE.items()),
    *(
        (name, damage)
        for name in ("plane.json", "plane.last.json")
        for damage in (*ANYWHERE.items(), *STATES.items())
    ),
    ("plane.lock", ("everybody", holding(b"-1"))),
    ("data", ("file", holding(b"x"))),
]
EACH = pytest.mark.parametrize(
    ("name", "damage"),
    [(name, damage) for name, (_, damage) in DAMAGES],
    ids=[f"{name} {what}" for name, (what, _) in DAMAGES],
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setenv("KAPY_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    result = Folder(tmp_path / "default")
    with claim(result), announce(result, SOUND):
        result.log.write_text("a line\n")
    return result


def _no_signals(pid: int, _: int) -> None:
    assert pid == SOUND.pid or pid == os.getpid()


@EACH
def test_a_damaged_plane_is_listed_described_and_deleted(
    folder: Folder,
    name: str,
    damage: Callable[[Path], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "kill", _no_signals)
    damage(folder.path / name)
    for command in COMMANDS:
        run(command)
        messages = capsys.readouterr()
        assert "report" not in messages.err, (command, messages.err)
        assert command != ["planes"] or str(folder.path) in messages.out
    code = run(DELETE)
    messages = capsys.readouterr()
    assert "report" not in messages.err, messages.err
    assert (code == 0) == (not folder.path.exists()), messages.err
    assert code == 0 or str(folder.path) in messages.err


@EACH
def test_a_damaged_plane_that_runs_is_reported_and_no_other_process_is_ended(
    folder: Folder,
    name: str,
    damage: Callable[[Path], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "kill", _no_signals)
    with claim(folder), announce(folder, SOUND):
        damage(folder.path / name)
        for command in COMMANDS[:3]:
            run(command)
            messages = capsys.readouterr()
            assert "report" not in messages.err, (command, messages.err)
        with suppress(NoPlane):
            terminate(folder)


def test_an_unreadable_folder_hides_no_other(
    folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = folder.path.parent / "closed"
    closed.mkdir()
    real = Path.is_file

    def refusing(path: Path) -> bool:
        if closed in path.parents:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(Path, "is_file", refusing)
    assert run(["planes"]) == 0
    assert str(folder.path) in capsys.readouterr().out
