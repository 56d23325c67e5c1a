"""`kubectl exec`: commands in containers of Pods, as SPDY streams on the request's connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from kapy._aio.byte_streams import Channel
from kapy.client.credentials import tls_context
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import Document
from kapy.kube.errors import ApiError
from kapy.kube.names import PODS
from kapy.remote.port_forward import PodPorts
from tests.node_agent.fake_engine import FakeEngine
from tests.node_agent.objects import SPACE
from tests.node_agent.test_container_plane import available, engine, install, plane

__all__ = ["engine"]
pytestmark = pytest.mark.sockets

PROTOCOL = "v4.channel.k8s.io"


class Client:
    """A connection for one command. what: query parameters and, one each, the command's words."""

    def __init__(self, access: Kubeconfig, pod: str, *command: str, **what: str) -> None:
        self._access = access
        words = "&".join(f"command={quote(item)}" for item in command)
        more = "".join(f"&{name}={value}" for name, value in what.items())
        self._path = f"{PODS.path(SPACE, pod, 'exec')}?{words}{more}"
        self.connection = PodPorts()
        self.streams: dict[str, Channel] = {}

    async def open(self, *streams: str, protocol: str = PROTOCOL) -> None:
        """Begin; raises ApiError where the server refuses."""
        url, tls = urlsplit(self._access.server), tls_context(self._access)
        loop = asyncio.get_running_loop()
        host, port = url.hostname or "", url.port or 443
        await loop.create_connection(lambda: self.connection, host, port, ssl=tls)
        lines = [
            f"POST {self._path} HTTP/1.1", f"Host: {url.netloc}", "Content-Length: 0",
            "Connection: Upgrade", "Upgrade: SPDY/3.1",
            f"X-Stream-Protocol-Version: {protocol}", "", "",
        ]  # fmt: skip
        await self.connection.upgrade("\r\n".join(lines).encode())
        for name in ("error", *streams):
            self.streams[name] = self.connection.open({"streamtype": name})

    async def said(self, name: str) -> bytes:
        """All that comes on a stream."""
        result = b""
        while piece := await self.streams[name].read():
            result += piece
        return result

    async def outcome(self) -> Document:
        """Return the final status of the command, from the error stream."""
        document: Document = json.loads(await self.said("error"))
        return document


async def test_a_command_runs_with_its_streams_and_without_more_rights(
    tmp_path: Path, engine: FakeEngine
) -> None:
    async with plane(tmp_path) as running:
        await install(running)
        pod = (await available(running))["metadata"]["name"]
        assert running.kubeconfig is not None
        flags = {"stdin": "true", "stdout": "true", "stderr": "true"}
        client = Client(running.kubeconfig, pod, "sh", "-c", "a\nb; exit", "3", **flags)
        await client.open("stdin", "stdout", "stderr")
        client.streams["stdin"].write(b"hello")
        client.streams["stdin"].close()
        assert await client.said("stdout") == b"HELLO"
        assert await client.said("stderr") == b"bye"
        outcome = await client.outcome()
        cause = {"reason": "ExitCode", "message": "3"}
        assert (outcome["status"], outcome["details"]["causes"]) == ("Failure", [cause])
        assert engine.diary[-1] == "session ['sh', '-c', 'a\\nb; exit', '3']"
        terminal = Client(running.kubeconfig, pod, "0", stdout="true", tty="true", stdin="false")
        await terminal.open("stdout", "resize")
        terminal.streams["resize"].write(b'{"Width":80,"He')
        terminal.streams["resize"].write(b'ight":24}\n')
        assert await terminal.said("stdout") == b"(24, 80)bye"
        assert (await terminal.outcome())["status"] == "Success"


@pytest.mark.parametrize(
    ("what", "protocol", "words"),
    [
        ({"container": "other"}, PROTOCOL, "container other is not valid"),
        ({}, "channel.k8s.io", "v4.channel.k8s.io"),
    ],
)
async def test_invalid_commands_are_refused(
    tmp_path: Path, engine: FakeEngine, what: Mapping[str, str], protocol: str, words: str
) -> None:
    async with plane(tmp_path) as running:
        await install(running)
        pod = (await available(running))["metadata"]["name"]
        assert running.kubeconfig is not None
        client = Client(running.kubeconfig, pod, "0", **what)
        with pytest.raises(ApiError, match=words):
            await client.open(protocol=protocol)


async def test_a_disconnected_client_ends_the_wait_for_its_command(
    tmp_path: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    removal = asyncio.Event()

    async def never(*_: object) -> int:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            removal.set()
        return 0

    monkeypatch.setattr(engine, "run_session", never)
    async with plane(tmp_path) as running:
        await install(running)
        pod = (await available(running))["metadata"]["name"]
        assert running.kubeconfig is not None
        client = Client(running.kubeconfig, pod, "0", stdout="true")
        await client.open("stdout")
        client.connection.close()
        async with asyncio.timeout(60):
            await removal.wait()
