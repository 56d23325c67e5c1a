"""The Pod of the built-in infrastructure manager: it forwards ports to in-memory clusters.

Upstream's test framework reaches such clusters through this Pod: it forwards the port of a
cluster's endpoint. Clusters with loopback addresses of their own share one port; then the target is
ambiguous and the connection is refused.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from kapy._aio.byte_streams import ByteStream, Channel
from kapy.apiserver.kubelet.port_forward import is_port_forward, port_forward
from kapy.apiserver.request.request_info import request_info
from kapy.kube import Key
from kapy.kube.http import Reply, Request
from kapy.providers.inmemory import InMemoryClusters

POD: Final = Key("capd-system", "capd-controller-manager-0")
_CHUNK_BYTES: Final = 1 << 16


class ManagerPod:
    """Forwards ports of the built-in manager's Pod, which has no kubelet. clusters: the in-memory
    clusters that serve at these ports."""

    def __init__(self, clusters: InMemoryClusters) -> None:
        self._clusters = clusters

    def __call__(self, request: Request) -> Reply | None:
        if not is_port_forward(request):
            return None
        info = request_info(request)
        if Key(info.namespace, info.name) != POD:
            return None
        return port_forward(request, self._connect)

    async def _connect(self, port: int, stream: ByteStream) -> None:
        result = self._clusters.on_port(port)
        if len(result) != 1:
            raise ConnectionRefusedError(_refusal(port, len(result)))
        assert isinstance(stream, Channel)
        reader, writer = await asyncio.open_connection(*result[0].endpoint)
        try:
            await _relay(reader, writer, stream)
        finally:
            writer.close()


def _refusal(port: int, clusters: int) -> str:
    if not clusters:
        return f"no workload cluster in memory listens on port {port}"
    return (
        f"{clusters} workload clusters share port {port}, each at an address of its own; start the "
        "plane with the environment variable POD_IP set to an address of this machine, and each "
        "cluster has a port of its own"
    )


async def _relay(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stream: Channel
) -> None:
    """Copy bytes in both directions until the cluster or the client closes the connection."""

    async def to_client() -> None:
        with suppress(OSError):
            while data := await reader.read(_CHUNK_BYTES):
                stream.write(data)
                await stream.drain()

    async def to_cluster() -> None:
        with suppress(OSError):
            while data := await stream.read():
                writer.write(data)
                await writer.drain()

    async with asyncio.TaskGroup() as group:
        ways = [group.create_task(to_client()), group.create_task(to_cluster())]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for item in ways:
            item.cancel()
