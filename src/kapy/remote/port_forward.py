"""Connections to ports of pods in a workload cluster, through its API server.

    async with forwarded(access, "kube-system", "etcd-node-1") as ports:
        stream = ports.stream(2379)

Kubernetes' port forwarding (`pods/portforward`) over SPDY/3.1, which every API server and kubelet
speaks: a pair of streams for each connection, one for the bytes and one for what goes wrong.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, urlsplit

from kapy._aio.byte_streams import ByteStream
from kapy._aio.spdy_protocol import SpdyProtocol
from kapy.client.credentials import tls_context
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube.errors import Unreachable, error_of
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.kube.names import PODS

PROTOCOL: Final = "portforward.k8s.io"
CONNECT_TIMEOUT: Final = 10.0
CONTEXTS: Final = 64
_HEAD_LIMIT: Final = 1 << 16
_CODE: Final = re.compile(rb"[1-5][0-9]{2}")


@asynccontextmanager
async def port_forward(access: Kubeconfig, namespace: str, pod: str) -> AsyncIterator[PodPorts]:
    """Open port forwarding to a pod while the context is open. Raises Unreachable and ApiError.

    Proxies are not supported.
    """
    if access.proxy:
        raise Unreachable(f"ports of pods are not reached through a proxy ({access.server})")
    ports = PodPorts()
    url = urlsplit(access.server)
    tls = _context(access) if url.scheme == "https" else None
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT):
            await loop.create_connection(
                lambda: ports,
                url.hostname or "",
                url.port or (443 if tls else 80),
                ssl=tls,
                server_hostname=(access.tls_server_name or url.hostname) if tls else None,
            )
            await ports.upgrade(_head(access, url.netloc, url.path, namespace, pod))
    except (OSError, TimeoutError) as error:
        ports.close()
        raise Unreachable(f"cannot reach {url.netloc}: {str(error) or 'no answer'}") from None
    try:
        yield ports
    finally:
        ports.close()


@lru_cache(maxsize=CONTEXTS)
def _context(access: Kubeconfig) -> ssl.SSLContext | bool:
    """Return the TLS context for an access, cached: loading its certificate costs more than a
    connection.
    """
    return tls_context(access)


class PodPorts(SpdyProtocol):
    """A connection to the ports of one pod."""

    def __init__(self) -> None:
        super().__init__(client=True)
        self._head: bytearray | None = bytearray()
        self._answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count = 0

    async def upgrade(self, head: bytes) -> None:
        """Request the protocol upgrade. Raises ApiError and OSError."""
        assert self._transport is not None
        self._transport.write(head)
        await self._answer

    def stream(self, port: int) -> ByteStream:
        """Open a connection to a port. Its errors are raised on reading."""
        shared = {"port": str(port), "requestid": str(self._count)}
        self._count += 1
        trouble = self.open({"streamtype": "error", **shared})
        trouble.close()
        data = self.open({"streamtype": "data", **shared})
        trouble.set_listener(
            lambda result: data.fail(OSError(result.decode("utf-8", "replace").strip()))
        )
        return data

    def data_received(self, data: bytes) -> None:
        if self._head is None:
            super().data_received(data)
            return
        self._head += data
        head, end, rest = bytes(self._head).partition(b"\r\n\r\n")
        if end and not self._answer.done():
            self._judge(head, rest)
        elif len(self._head) > _HEAD_LIMIT:
            self._fail(ConnectionError("the answer's head is too large"))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._fail(exc or ConnectionResetError("the other side hung up"))

    def _judge(self, head: bytes, rest: bytes) -> None:
        """Check whether the server accepted the upgrade; its refusal is one document."""
        status = head.split(b" ", 2)[1:2]
        if status == [b"101"]:
            self._head = None
            self._answer.set_result(None)
            if rest:
                super().data_received(rest)
            return
        code = int(status[0]) if status and _CODE.fullmatch(status[0]) else 502
        self._fail(error_of(code, _status(rest)))
        self.close()

    def _fail(self, error: Exception) -> None:
        if not self._answer.done():
            self._answer.set_exception(error)


def _head(access: Kubeconfig, host: str, root: str, namespace: str, pod: str) -> bytes:
    path = quote(root.rstrip("/") + PODS.path(namespace, pod, "portforward"))
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {host}",
        "Content-Length: 0",
        "Connection: Upgrade",
        "Upgrade: SPDY/3.1",
        f"X-Stream-Protocol-Version: {PROTOCOL}",
    ]
    if access.token:
        lines.append(f"Authorization: Bearer {access.token}")
    return "\r\n".join([*lines, "", ""]).encode()


def _status(body: bytes) -> Any:
    try:
        json = decode_json(body)
    except BadJson:
        json = None
    result = body.decode("utf-8", "replace").strip()
    return json if isinstance(json, dict) else {"message": result or "the upgrade was refused"}
