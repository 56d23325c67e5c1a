"""The planes that a user has, and their removal."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from kapy.apps.pidfile import NoPlane, PlaneIsRunning, PlaneRecord, announce, claim, write_record
from kapy.apps.planes import delete_plane, plane_state, planes_in, size_of
from kapy.apps.settings import Folder
from kapy.cli.root import run
from kapy.client import kubeconfig_files
from kapy.client.kubeconfig import Kubeconfig, with_context

PRESENCE = PlaneRecord(7, "https://127.0.0.1:6443", "kapy", "none", "2030-01-02T03:04:05Z", "1.2")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAPY_HOME", str(tmp_path))
    return tmp_path


def stopped(base: Path, name: str) -> Folder:
    folder = Folder(base / name)
    with claim(folder), announce(folder, PRESENCE):
        folder.data.mkdir()
        (folder.data / "store.db").write_bytes(b"x" * 1000)
    return folder


def test_planes_are_listed_with_their_state(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["planes"]) == 0
    assert "there is no management plane" in capsys.readouterr().err
    stopped(home, "a")
    (home / "notes").mkdir()
    (home / "file").write_text("")
    running = Folder(home / "b")
    with claim(running):
        assert [(plane.name, plane.state) for plane in planes_in(home)] == [
            ("a", "stopped"),
            ("b", "starting"),
        ]
        with announce(running, PRESENCE):
            assert run(["planes"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "STATE", "PORT", "SINCE", "VERSION", "FOLDER"]
    assert first.split()[:3] == ["a", "stopped", "-"]
    assert first.split()[4:] == ["1.2", str(home / "a")]
    assert second.split() == ["b", "running", "6443", PRESENCE.started, "1.2", str(running.path)]


@pytest.mark.parametrize("command", ["status", "down", "logs"])
def test_a_command_for_no_plane_names_those_that_run(
    command: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped(home, "a")
    running = Folder(home / "b")
    with claim(running), announce(running, PRESENCE):
        assert run([command]) == 1
    assert capsys.readouterr().err.endswith(" (there are others: --name b)\n")


def test_a_plane_is_deleted_without_foreign_files(home: Path) -> None:
    folder = stopped(home, "a")
    assert size_of(folder) >= 1000
    (folder.path / "mine").write_text("x")
    assert run(["down", "--delete", "--yes", "--name", "a"]) == 0
    assert os.listdir(folder.path) == ["mine"]
    with pytest.raises(NoPlane):
        delete_plane(folder)
    other = stopped(home, "b")
    assert delete_plane(other) == []
    assert not other.path.exists()


def test_nothing_is_deleted_without_an_answer(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stopped(home, "a")
    assert run(["down", "--delete", "--name", "a"]) == 1
    assert "say --yes" in capsys.readouterr().err
    assert run(["down", "--yes", "--name", "a"]) == 1
    assert folder.data.exists()
    assert run(["down", "--delete", "--yes", "--name", "none"]) == 1
    assert "`kapy planes` lists" in capsys.readouterr().err
    assert not (home / "none").exists()


def test_a_plane_that_runs_is_not_deleted_under_it(home: Path) -> None:
    folder = stopped(home, "a")
    with claim(folder), pytest.raises(PlaneIsRunning):
        delete_plane(folder)
    assert folder.data.exists()


def test_the_context_of_a_killed_plane_is_removed(home: Path) -> None:
    kubeconfig = home / "kubeconfig"
    access = Kubeconfig(server=PRESENCE.server, token="x")
    kubeconfig_files.edit(kubeconfig, lambda document: with_context(document, "kapy", access))
    folder = stopped(home, "a")
    write_record(folder, replace(PRESENCE, kubeconfig=str(kubeconfig)))  # as kill -9 leaves it
    assert plane_state(folder).state == "stopped"
    assert "kapy" in kubeconfig.read_text()
    delete_plane(folder)
    assert "127.0.0.1" not in kubeconfig.read_text()


def test_links_are_removed_without_their_targets(home: Path) -> None:
    folder = stopped(home, "a")
    elsewhere = home / "disk"
    folder.data.rename(elsewhere)
    folder.data.symlink_to(elsewhere)
    delete_plane(folder)
    assert (elsewhere / "store.db").exists()
