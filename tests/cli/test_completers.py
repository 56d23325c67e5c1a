"""Tests of the completions that a shell gets when a person presses TAB."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from kapy._aio.clock import system_clock
from kapy.api.machine import Machine
from kapy.apps.all_in_one import management_plane
from kapy.apps.pidfile import claim
from kapy.apps.settings import Folder, Serving, Settings
from kapy.cli.root import ROOT
from kapy.client import kubeconfig_files
from kapy.client.kubeconfig import Kubeconfig, with_context


def told(*words: str) -> list[tuple[str, str]]:
    """Kind and value of what completes the last word."""
    shell = ShellComplete(ROOT, {}, "kapy", "_KAPY_COMPLETE")
    *before, begun = words
    return [
        (completion.type, completion.value)
        for completion in shell.get_completions(list(before), begun)
    ]


def values(*words: str) -> list[str]:
    return [value for _, value in told(*words)]


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kubeconfig"
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


def write(path: Path, *contexts: str, server: str = "https://127.0.0.1:1") -> None:
    access = Kubeconfig(server=server, token="x")
    for name in contexts:
        kubeconfig_files.edit(path, partial(with_context, name=name, to=access))


def test_contexts_are_completed_from_the_selected_kubeconfig(
    kubeconfig: Path, tmp_path: Path
) -> None:
    write(kubeconfig, "kapy", "kapy-two", "other")
    write(tmp_path / "second", "there")
    assert values("describe", "cluster", "--kubeconfig-context", "kapy") == ["kapy", "kapy-two"]
    second = str(tmp_path / "second")
    assert values("plan", "--kubeconfig", second, "--kubeconfig-context", "") == ["there"]
    assert values("move", "--to-kubeconfig", second, "--to-kubeconfig-context", "") == ["there"]


@pytest.mark.parametrize("text", ["", "a: [", "contexts: [{}]", "contexts: 7", "- x"])
def test_an_invalid_kubeconfig_completes_nothing(kubeconfig: Path, text: str) -> None:
    assert values("init", "--kubeconfig-context", "") == []
    kubeconfig.write_text(text)
    assert values("init", "--kubeconfig-context", "") == []
    assert values("describe", "cluster", "") == []


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("plan", "-f"), "file"),
        (("quickstart", "--file"), "file"),
        (("init", "--kubeconfig"), "file"),
        (("init", "--config"), "file"),
        (("up", "--audit-policy-file"), "file"),
        (("up", "--data-dir"), "dir"),
        (("move", "--to-directory"), "dir"),
        (("restore",), "file"),
        (("convert",), "file"),
    ],
)
def test_files_and_folders_are_left_to_the_shell(words: tuple[str, ...], kind: str) -> None:
    assert told(*words, "some") == [(kind, "some")]


def test_planes_are_completed_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAPY_HOME", str(tmp_path))
    for name in ("default", "two"):
        with claim(Folder(tmp_path / name)):
            pass
    assert values("down", "--name", "") == ["default", "two"]
    assert values("logs", "--name", "t") == ["two"]


@pytest.fixture
async def served(kubeconfig: Path) -> AsyncIterator[None]:
    """A kubeconfig of a plane with Clusters."""
    settings = Settings(serving=Serving())
    async with management_plane(settings, clock=system_clock) as plane:
        for name in ("capybara", "caiman", "bison"):
            await plane.client.raw(
                "POST",
                "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters",
                body={
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "kind": "Cluster",
                    "metadata": {"name": name},
                    "spec": {"infrastructureRef": {"apiGroup": "a.b", "kind": "C", "name": "d"}},
                },
            )
        machine = {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Machine",
            "metadata": {"name": "capybara-md-0-x", "namespace": "default"},
            "spec": {
                "clusterName": "capybara",
                "bootstrap": {"dataSecretName": "d"},
                "infrastructureRef": {"apiGroup": "a.b", "kind": "M", "name": "m"},
            },
        }
        await plane.client.create(Machine.RESOURCE, machine)
        assert plane.kubeconfig is not None
        access = plane.kubeconfig
        kubeconfig_files.edit(kubeconfig, lambda document: with_context(document, "kapy", access))
        yield


def test_sources_of_machine_logs_are_completed() -> None:
    assert values("logs", "machine", "x", "--source", "b") == ["bootstrap", "boot"]
    assert "machine" in values("logs", "")


@pytest.mark.sockets
@pytest.mark.usefixtures("served")
async def test_clusters_of_the_management_cluster_are_completed() -> None:
    loop = asyncio.get_running_loop()
    results = await loop.run_in_executor(None, values, "describe", "cluster", "ca")
    assert results == ["caiman", "capybara"]
    results = await loop.run_in_executor(None, values, "get", "kubeconfig", "-n", "other", "")
    assert results == []
    for words in (("logs", "machine", "capy"), ("exec", "c"), ("exec", "-i", "")):
        assert await loop.run_in_executor(None, values, *words) == ["capybara-md-0-x"]
