"""`exec`, `attach` and `portforward` over WebSockets: as kubectl since 1.31 and as libraries do."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from aiohttp import WSMsgType, WSServerHandshakeError

from kapy._aio.spdy import DataReceived, Session
from kapy._aio.websocket_protocol import WebSocketProtocol
from kapy.apiserver.kubelet.command_connection import (
    CommandSession,
    SpdyCommand,
    WebSocketCommand,
)
from kapy.apiserver.kubelet.exec import CommandRequest, CommandStreams
from kapy.apiserver.kubelet.upgrade import negotiate_upgrade
from kapy.apps.all_in_one import ManagementPlane
from kapy.client.kubeconfig import with_context
from kapy.kube.errors import BadRequest
from kapy.kube.http import Request
from tests.absent import has_kubectl
from tests.node_agent.fake_engine import FakeEngine
from tests.node_agent.objects import SPACE
from tests.node_agent.test_container_plane import available, engine, install, plane
from tests.node_agent.websocket_client import streams_of, websocket

__all__ = ["engine"]
STDIN, STDOUT, STDERR, ERROR, RESIZE, END = 0, 1, 2, 3, 4, 255
V4, V5 = "v4.channel.k8s.io", "v5.channel.k8s.io"
TUNNEL = "SPDY/3.1+portforward.k8s.io"
FLAGS = [("stdin", "true"), ("stdout", "true"), ("stderr", "true")]


async def echo_server() -> asyncio.Server:
    """A server at a port of the Pod's address, the loopback interface."""

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read(100)).upper())
        writer.close()

    return await asyncio.start_server(shout, "0.0.0.0")


def port_of(server: asyncio.Server) -> int:
    return int(server.sockets[0].getsockname()[1])


async def a_command_runs(running: ManagementPlane, pod: str) -> None:
    assert running.kubeconfig is not None
    words = [("command", "sh"), ("command", "3")]
    async with websocket(running.kubeconfig, pod, "exec", V5, *FLAGS, *words) as connection:
        assert (await connection.receive()).data == bytes([STDOUT]), "the streams are there"
        await connection.send_bytes(bytes([STDIN]) + b"hello")
        await connection.send_bytes(bytes([END, STDIN]))
        streams = await streams_of(connection)
        assert (streams[STDOUT], streams[STDERR]) == (b"HELLO", b"bye")
        assert json.loads(streams[ERROR])["details"]["causes"][0]["message"] == "3"
        assert connection.close_code == 1000
    flags = [("stdout", "true"), ("tty", "true"), ("command", "0")]
    async with websocket(running.kubeconfig, pod, "exec", V4, *flags) as terminal:
        await terminal.send_bytes(bytes([RESIZE]) + b'{"Width":80,"Height":24}')
        streams = await streams_of(terminal)
        assert streams[STDOUT] == b"(24, 80)bye"
        assert json.loads(streams[ERROR])["status"] == "Success"


async def a_container_is_attached_to(running: ManagementPlane, pod: str) -> None:
    assert running.kubeconfig is not None
    async with websocket(running.kubeconfig, pod, "attach", V5, *FLAGS) as connection:
        streams = await streams_of(connection)
        assert streams[STDOUT] == b"here ", "without input, as the container reads none"
        assert json.loads(streams[ERROR])["status"] == "Success"


async def ports_are_forwarded_in_a_tunnel(running: ManagementPlane, pod: str) -> None:
    assert running.kubeconfig is not None
    server, session = await echo_server(), Session(client=True)
    shared = {"port": str(port_of(server)), "requestid": "0"}
    session.open({"streamtype": "error", **shared})
    data = session.open({"streamtype": "data", **shared})
    session.send(data, b"hello")
    answer = b""
    async with (
        server,
        websocket(running.kubeconfig, pod, "portforward", TUNNEL) as connection,
        asyncio.timeout(30),
    ):
        content = session.pending()
        await connection.send_bytes(content[:7])
        await connection.send_bytes(content[7:])
        while len(answer) < len(b"HELLO"):
            message = await connection.receive()
            assert message.type is WSMsgType.BINARY
            for event in session.receive(message.data):
                if isinstance(event, DataReceived) and event.stream == data:
                    answer += event.data
    assert answer == b"HELLO"


async def ports_are_forwarded_by_number(running: ManagementPlane, pod: str) -> None:
    assert running.kubeconfig is not None
    first, second = await echo_server(), await echo_server()
    ports = [port_of(first), 1, port_of(second)]
    query = ("ports", ",".join(map(str, ports)))
    async with (
        first,
        second,
        websocket(running.kubeconfig, pod, "portforward", V4, query) as connection,
        asyncio.timeout(30),
    ):
        await connection.send_bytes(bytes([0]) + b"one")
        await connection.send_bytes(bytes([4]) + b"two")
        streams = await streams_of(connection)
    numbers = [port.to_bytes(2, "little") for port in ports]
    assert [streams[0], streams[4]] == [numbers[0] + b"ONE", numbers[2] + b"TWO"]
    assert streams[2:4][0] == numbers[1]
    assert b"error forwarding port 1:" in streams[3]


@pytest.mark.sockets
async def test_clients_of_websockets_are_served(tmp_path: Path, engine: FakeEngine) -> None:
    async with plane(tmp_path) as running:
        await install(running)
        pod = (await available(running))["metadata"]["name"]
        await a_command_runs(running, pod)
        await a_container_is_attached_to(running, pod)
        await ports_are_forwarded_in_a_tunnel(running, pod)
        await ports_are_forwarded_by_number(running, pod)
        assert running.kubeconfig is not None
        with pytest.raises(WSServerHandshakeError, match="400"):
            async with websocket(running.kubeconfig, pod, "exec", "v1.x", ("command", "0")):
                pass


async def kubectl(config: Path, *words: str, text: bytes = b"") -> tuple[bytes, bytes]:
    """Return the standard output and standard error of kubectl."""
    process = await asyncio.create_subprocess_exec(
        "kubectl", "--kubeconfig", str(config), "-n", SPACE, *words,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    return await process.communicate(text)


@pytest.mark.sockets
@pytest.mark.skipif(not has_kubectl(), reason="kubectl is not installed")
@pytest.mark.parametrize("websockets", ["true", "false"], ids=["WebSocket", "SPDY"])
async def test_kubectl_runs_commands_and_attaches(
    tmp_path: Path, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, websockets: str
) -> None:
    unused = "SpdyCommand" if websockets == "true" else "WebSocketCommand"
    monkeypatch.setenv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", websockets)
    async with plane(tmp_path) as running:
        await install(running)
        pod = (await available(running))["metadata"]["name"]
        assert running.kubeconfig is not None
        config = tmp_path / "kubeconfig"
        config.write_text(json.dumps(with_context({}, "plane", running.kubeconfig)))
        monkeypatch.delattr(f"kapy.apiserver.kubelet.connections.{unused}")
        output, errors = await kubectl(config, "exec", "-i", pod, "--", "sh", "3", text=b"hello")
        assert output == b"HELLO"
        assert b"exit code 3" in errors
        output, errors = await kubectl(config, "attach", pod)
        assert (output, b"rror" in errors) == (b"here ", False), errors


class PausedTransport(asyncio.Transport):
    """Counts the pauses."""

    def __init__(self) -> None:
        super().__init__()
        self.is_paused = self.is_closed = False

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        del data

    def close(self) -> None:
        self.is_closed = True


def frame(payload: bytes) -> bytes:
    """A binary frame of a client, masked with zeros."""
    return b"\x82\xff" + len(payload).to_bytes(8, "big") + bytes(4) + payload


@pytest.mark.parametrize("is_websocket", [True, False], ids=["WebSocket", "SPDY"])
async def test_an_unread_input_holds_its_client_back(*, is_websocket: bool) -> None:
    wanted = CommandRequest(["cat"], stdin=True, stdout=False, stderr=False, tty=False)
    session, transport, client = CommandSession(wanted), PausedTransport(), Session(client=True)
    read = asyncio.Event()

    async def run(_: Sequence[str], streams: CommandStreams) -> int:
        await read.wait()
        assert streams.input is not None
        return len(await anext(streams.input)) >> 20

    connection: SpdyCommand | WebSocketCommand = SpdyCommand(session)
    if is_websocket:
        connection = WebSocketCommand(session, wanted, V5)
    connection.connection_made(transport)
    client.open({"streamtype": "error"})
    stdin = client.open({"streamtype": "stdin"})
    async with asyncio.TaskGroup() as group:
        group.create_task(session.serve(run))
        for _ in range(2):
            assert not transport.is_paused
            client.send(stdin, bytes(1 << 20))
            content = frame(bytes(1 + (1 << 20))) if is_websocket else client.pending()
            connection.data_received(content)
        assert transport.is_paused
        read.set()
    assert not transport.is_paused


async def test_a_client_that_does_not_read_is_not_read() -> None:
    protocol, transport = WebSocketProtocol(), PausedTransport()
    protocol.connection_made(transport)
    protocol.pause_writing()
    assert transport.is_paused, "each of its pings would be answered"
    protocol.pause_reading()
    protocol.resume_writing()
    assert transport.is_paused, "its input is unread"
    protocol.resume_reading()
    assert not transport.is_paused


async def test_a_message_that_is_too_long_ends_a_websocket() -> None:
    protocol, transport = WebSocketProtocol(), PausedTransport()
    protocol.connection_made(transport)
    protocol.data_received(b"\x82\xff" + (1 << 40).to_bytes(8, "big"))
    protocol.connection_lost(None)
    assert transport.is_closed


KEY = base64.b64encode(bytes(16)).decode()
GOOD = {
    "upgrade": "WebSocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": KEY,
    "sec-websocket-protocol": "other, v4.channel.k8s.io",
}


def upgrade_request(headers: Mapping[str, str], method: str = "GET") -> Request:
    return Request(method, "/api/v1/namespaces/a/pods/b/exec", {}, dict(headers))


def test_the_first_protocol_of_the_client_that_is_served_is_chosen() -> None:
    upgrade = negotiate_upgrade(upgrade_request(GOOD), spdy=(V4,), websocket=(V5, V4))
    assert (upgrade.kind, upgrade.protocol) == ("websocket", V4)
    assert b"Sec-WebSocket-Accept: ICX+Yqv66kxgM0FcWaLWlFLwTAI=\r\n" in upgrade.response_head()


@pytest.mark.parametrize(
    ("changes", "method", "words"),
    [
        ({"upgrade": "h2c"}, "GET", "Upgrade request required"),
        ({"upgrade": ""}, "GET", "Upgrade request required"),
        ({}, "POST", "GET request"),
        ({"sec-websocket-version": "8"}, "GET", "has to be 13"),
        ({"sec-websocket-key": "x"}, "GET", "16 bytes in base64"),
        ({"sec-websocket-key": "ü" * 24}, "GET", "16 bytes in base64"),
        ({"sec-websocket-protocol": "base64.channel.k8s.io"}, "GET", "offers base64.channel"),
        ({"sec-websocket-protocol": ""}, "GET", "offers none"),
        ({"upgrade": "SPDY/3.1"}, "POST", "over SPDY/3.1, .* offers none"),
    ],
)
def test_another_upgrade_is_refused(changes: Mapping[str, str], method: str, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        negotiate_upgrade(
            upgrade_request({**GOOD, **changes}, method), spdy=(V4,), websocket=(V5, V4)
        )
