"""Kubeconfigs of clusters whose servers this computer has no route to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kapy.apps import consoles
from kapy.cli import get
from kapy.client.client import Client
from kapy.client.kubeconfig import parse
from kapy.clusterctl import server_from_here
from kapy.clusterctl.kubeconfig import may_be_hidden
from kapy.clusterctl.server_from_here import any_machine, usable_kubeconfig, with_server
from kapy.kube import Document, Key
from kapy.kube.http import Reply, Request
from kapy.kube.yaml import dump, load
from kapy.sdk.console import ConsoleUnavailable, LogRequest, MachineConsole, MachineTarget

CLUSTER = Key("fleet", "shop")
SERVER = "https://172.18.0.3:6443"
URL = "https://127.0.0.1:32768"
MACHINE: Document = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "Machine",
    "metadata": {"name": "m", "namespace": "fleet"},
    "spec": {
        "clusterName": "shop",
        "infrastructureRef": {"apiGroup": "paper.io", "kind": "PaperMachine", "name": "p"},
    },
}
INFRA: Document = {"kind": "PaperMachine", "apiVersion": "paper.io/v1", "metadata": {"name": "p"}}


def kubeconfig(server: str = SERVER) -> str:
    return dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "shop", "cluster": {"server": server}},
                {"name": "other", "cluster": {"server": "https://other:6443"}},
            ],
            "contexts": [{"name": "a", "context": {"cluster": "shop", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "current-context": "a",
        }
    )


class PaperConsole(MachineConsole):
    """Knows a way (or fails)."""

    def __init__(self, answer: str | Exception | None) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []
        self.is_closed = False

    def serves(self, infra: Document) -> bool:
        return bool(infra["kind"] == "PaperMachine")

    async def logs(self, target: MachineTarget, wanted: LogRequest) -> AsyncIterator[bytes]:
        yield b""

    async def server_from_here(self, target: MachineTarget, server: str) -> str:
        self.asked.append((str(target.cluster), server))
        if self.answer is None:
            await asyncio.Event().wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return str(self.answer)

    async def aclose(self) -> None:
        self.is_closed = True


def client(*, refused: bool = False) -> Client:
    """Of a management cluster with one Machine."""

    async def answer(request: Request) -> Reply:
        if refused:
            return Reply(403, {"kind": "Status", "message": "forbidden", "code": 403})
        if request.path.endswith("/machines"):
            return Reply(
                200,
                {"kind": "MachineList", "metadata": {"resourceVersion": "1"}, "items": [MACHINE]},
            )
        if request.path.endswith("/papermachines/p"):
            return Reply(200, INFRA)
        if request.path == "/apis/paper.io":
            preferred = {"groupVersion": "paper.io/v1", "version": "v1"}
            return Reply(200, {"kind": "APIGroup", "preferredVersion": preferred})
        resources = [{"name": "papermachines", "kind": "PaperMachine", "namespaced": True}]
        return Reply(200, {"kind": "APIResourceList", "resources": resources})

    return Client(answer)


async def test_the_server_address_is_replaced_by_that_of_the_console() -> None:
    console = PaperConsole(URL)
    text = await usable_kubeconfig(client(), CLUSTER, kubeconfig(), lambda _: console)
    access = parse(text)
    assert (access.server, access.tls_server_name, access.token) == (URL, "172.18.0.3", "t")
    assert load(text)["clusters"][1] == load(kubeconfig())["clusters"][1]
    assert console.asked == [("fleet/shop", SERVER)]
    assert console.is_closed


@pytest.mark.parametrize("answer", ["", ConsoleUnavailable("no engine"), None])
async def test_an_undiscoverable_address_leaves_the_kubeconfig_unchanged(
    answer: str | Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_from_here, "WITHIN", 0.01)
    text, console = kubeconfig(), PaperConsole(answer)
    assert await usable_kubeconfig(client(), CLUSTER, text, lambda _: console) == text
    assert console.is_closed


async def test_machines_that_cannot_be_read_change_nothing() -> None:
    console = PaperConsole(URL)
    text = kubeconfig()
    name = await usable_kubeconfig(client(refused=True), CLUSTER, text, lambda _: console)
    assert name == text
    assert console.asked == []


@pytest.mark.parametrize(
    ("server", "hidden"),
    [
        (SERVER, True),
        ("https://[fd00::2]:6443", True),
        ("https://cluster.example:443", True),
        ("https://127.0.0.7:20000", False),
        ("https://[::1]:20000", False),
        ("https://localhost:20000", False),
    ],
)
def test_servers_of_this_computer_are_not_asked_about(server: str, hidden: bool) -> None:
    assert may_be_hidden(kubeconfig(server)) is hidden
    assert not may_be_hidden("no kubeconfig")


def test_the_name_in_the_certificate_stays() -> None:
    document = load(kubeconfig())
    document["clusters"][0]["cluster"]["tls-server-name"] = "named"
    assert parse(with_server(dump(document), SERVER, URL)).tls_server_name == "named"


def test_the_command_says_that_it_names_another_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = asyncio.run(any_machine(client(), CLUSTER))
    assert target is not None
    monkeypatch.setattr(consoles, "console_of", lambda _: PaperConsole(URL))
    changed = get._from_here(kubeconfig(), target)
    assert parse(changed).server == URL
    err = capsys.readouterr().err
    assert err == (
        f"{SERVER} is not reached from here: the kubeconfig names {URL} (--as-stored keeps the "
        "first one)\n"
    )
    monkeypatch.setattr(consoles, "console_of", lambda _: PaperConsole(""))
    assert get._from_here(kubeconfig(), target) == kubeconfig()
    assert capsys.readouterr().err == ""
