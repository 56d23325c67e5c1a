"""The kubeconfig context of a plane comes and goes without harm to others."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from kapy.apps.context import kubeconfig_path, write_context
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube.yaml import dump, load

ACCESS = Kubeconfig("https://127.0.0.1:6443", client_key=b"key", client_certificate=b"crt")
OTHER = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "other", "cluster": {"server": "https://other"}}],
    "contexts": [{"name": "other", "context": {"cluster": "other", "user": "me"}}],
    "users": [{"name": "me", "user": {"token": "t"}}],
    "current-context": "other",
}


def document(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = load(path.read_text())
    return result


def names(path: Path) -> list[str]:
    return [context["name"] for context in document(path)["contexts"]]


def test_the_context_is_current_while_the_plane_runs_and_then_removed(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(dump(OTHER))
    with write_context(path, "kapy", ACCESS):
        assert names(path) == ["other", "kapy"]
        assert document(path)["current-context"] == "kapy"
    assert document(path) == OTHER


def test_a_context_that_the_user_chose_meanwhile_stays_current(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(dump({**OTHER, "current-context": ""}))
    with write_context(path, "kapy", ACCESS):
        path.write_text(dump({**document(path), "current-context": "other"}))
    assert document(path)["current-context"] == "other"


def test_a_context_that_another_plane_took_over_stays(tmp_path: Path) -> None:
    path = tmp_path / "config"
    later = Kubeconfig("https://127.0.0.1:7777")
    with write_context(path, "kapy", later), write_context(path, "kapy", ACCESS):
        pass
    assert names(path) == []
    with write_context(path, "kapy", ACCESS):
        inner = write_context(path, "kapy", later)
        inner.__enter__()
    assert names(path) == ["kapy"]


def test_a_context_of_the_same_name_comes_back_after_the_plane(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(dump(OTHER))
    with write_context(path, "other", ACCESS):
        assert document(path)["clusters"][0]["cluster"]["server"] == ACCESS.server
    assert document(path) == OTHER


def test_the_context_of_a_plane_that_runs_comes_back_and_that_of_an_ended_one_does_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "config"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        first = Kubeconfig(f"https://127.0.0.1:{listening.getsockname()[1]}")
        running = write_context(path, "kapy", first)
        running.__enter__()
        with write_context(path, "kapy", ACCESS):
            pass
        assert document(path)["clusters"][0]["cluster"]["server"] == first.server
        assert document(path)["current-context"] == "kapy"
    with write_context(path, "kapy", ACCESS):
        pass
    assert names(path) == []


def test_the_context_that_a_killed_plane_left_does_not_come_back(tmp_path: Path) -> None:
    path = tmp_path / "config"
    own = Kubeconfig("https://plane.example.com:6443")
    killed = write_context(path, "kapy", own)
    killed.__enter__()
    with write_context(path, "kapy", own):
        pass
    assert names(path) == []


@pytest.mark.parametrize(
    ("flag", "environ", "expected"),
    [
        ("/x/config", "/y/config", "/x/config"),
        ("", "/y/config:/z/config", "/z/config"),
        ("", "", "/home/me/.kube/config"),
    ],
)
def test_the_context_is_written_to_kubectls_file(
    flag: str, environ: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("KUBECONFIG", environ)
    assert kubeconfig_path(flag) == Path(expected)
