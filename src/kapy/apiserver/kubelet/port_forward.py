"""The subresource `portforward`: a request that becomes a SPDY connection to a pod's ports.

The component that runs pods answers with `PortForward`. The connection then carries pairs of
streams: the data of one connection to a port, and its errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from kapy._aio.byte_streams import ByteStream, Channel
from kapy._aio.spdy_protocol import SpdyProtocol
from kapy.kube.http import Reply, Request

PROTOCOL: Final = "portforward.k8s.io"

Connect = Callable[[int, ByteStream], Awaitable[None]]
"""Serves a connection to a port until it ends. The client receives the message of an OSError."""


@dataclass(slots=True)
class PortForward(Reply):
    """A reply that turns the connection into streams to the ports of a pod."""

    connect: Connect | None = None


def is_port_forward(request: Request) -> bool:
    """Report whether a request is for `portforward` over SPDY."""
    upgrade = request.headers.get("upgrade", "").lower()
    return request.path.endswith("/portforward") and upgrade == "spdy/3.1"


def response_head() -> bytes:
    """Return the head of the 101 response, after which the connection speaks SPDY."""
    return (
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        f"X-Stream-Protocol-Version: {PROTOCOL}\r\n\r\n"
    ).encode()


class _StreamPair(NamedTuple):
    port: int
    data: Channel
    trouble: Channel


class PortForwardConnection(SpdyProtocol):
    """The SPDY connection of one client to the ports of one pod."""

    def __init__(self) -> None:
        super().__init__(client=False)
        self._halves: dict[str, dict[str, tuple[Mapping[str, str], Channel]]] = {}
        self._pairs: asyncio.Queue[_StreamPair | None] = asyncio.Queue()

    async def serve(self, connect: Connect) -> None:
        """Serve all port connections until the client disconnects."""
        async with asyncio.TaskGroup() as group:
            tasks = set()
            while (pair := await self._pairs.get()) is not None:
                task = group.create_task(_copy_streams(pair, connect))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            for task in tasks:
                task.cancel()

    async def aclose(self) -> None:
        """Close the connection."""
        self.close()

    def on_stream(self, headers: Mapping[str, str], channel: Channel) -> None:
        halves = self._halves.setdefault(headers.get("requestid", ""), {})
        halves[headers.get("streamtype", "")] = headers, channel
        if "data" not in halves or "error" not in halves:
            return
        del self._halves[headers.get("requestid", "")]
        told, data = halves["data"]
        port = told.get("port", "")
        self._pairs.put_nowait(
            _StreamPair(int(port) if port.isdigit() else 0, data, halves["error"][1])
        )

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._pairs.put_nowait(None)


async def _copy_streams(pair: _StreamPair, connect: Connect) -> None:
    try:
        await connect(pair.port, pair.data)
    except OSError as error:
        pair.trouble.write(f"error forwarding port {pair.port}: {error}".encode())
    finally:
        pair.trouble.close()
        pair.data.close()
