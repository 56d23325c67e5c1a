"""A WebSocket client of one request for a Pod's streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlencode

from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

from kapy.client.credentials import tls_context
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube.names import PODS
from tests.node_agent.objects import SPACE


@asynccontextmanager
async def websocket(
    access: Kubeconfig, pod: str, part: str, protocol: str, *query: tuple[str, str]
) -> AsyncIterator[ClientWebSocketResponse]:
    """A WebSocket to a subresource of a Pod. Raises aiohttp.WSServerHandshakeError."""
    url = f"{access.server}{PODS.path(SPACE, pod, part)}?{urlencode(query)}"
    headers = {"authorization": f"Bearer {access.token}"} if access.token else {}
    async with (
        ClientSession(headers=headers) as session,
        session.ws_connect(url, protocols=[protocol], ssl=tls_context(access)) as socket,
    ):
        yield socket


async def streams_of(connection: ClientWebSocketResponse) -> Sequence[bytes]:
    """Return the data of each numbered stream until the server closed the connection."""
    streams = [bytearray() for _ in range(8)]
    async for message in connection:
        assert message.type is WSMsgType.BINARY
        streams[message.data[0]] += message.data[1:]
    return [bytes(stream) for stream in streams]
