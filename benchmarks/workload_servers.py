"""Minimal API servers of workload clusters, for benchmarks of the management cluster.

`python -m benchmarks.workload_servers CERTIFICATE` prints the port at which it listens for all
clusters; each cluster has its own address. Each line of its input is a number: from then on so many
clusters, the first ones, are broken. One after the other they are silent, slow, answer with invalid
data, or close the connection.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from typing import Any, Final

SLOW: Final = 4.0
VERSION: Final = b'{"major":"1","minor":"34","gitVersion":"v1.34.0"}'
NODE: Final = (
    b'{"kind":"Node","apiVersion":"v1","metadata":{"name":"node","uid":"1","resourceVersion":"1"},'
    b'"spec":{"providerID":"x:///node"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}'
)
LISTED: Final = (
    b'{"type":"ADDED","object":%b}\n'
    b'{"type":"BOOKMARK","object":{"kind":"Node","apiVersion":"v1","metadata":{"resourceVersion":'
    b'"2","annotations":{"k8s.io/initial-events-end":"true"}}}}\n' % NODE
)


def address(number: int) -> str:
    """The loopback address of a cluster."""
    return f"127.7.{number // 250}.{number % 250 + 1}"


class Cluster(asyncio.Protocol):
    """One connection to one cluster."""

    dead = 0

    def __init__(self) -> None:
        self._transport: Any = None
        self._number = 0
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        _, _, block, last = transport.get_extra_info("sockname")[0].split(".")
        self._number = int(block) * 250 + int(last) - 1

    def data_received(self, data: bytes) -> None:
        self._head += data
        while b"\r\n\r\n" in self._head:
            head, _, self._head = self._head.partition(b"\r\n\r\n")
            self._answer(head)

    def _answer(self, head: bytes) -> None:
        if self._number >= Cluster.dead:
            self._send(head)
            return
        match self._number % 4:
            case 1:
                asyncio.get_running_loop().call_later(SLOW, self._send, head)
            case 2:
                self._write(b"<html>welcome</html>", b"text/html")
            case 3:
                self._transport.abort()

    def _send(self, head: bytes) -> None:
        path = head.split(b" ", 2)[1]
        if b"watch=true" in path:
            start = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
            chunk = b"%x\r\n%b\r\n" % (len(LISTED), LISTED)
            self._transport.write(start + b"transfer-encoding: chunked\r\n\r\n" + chunk)
        else:
            self._write(VERSION if path.endswith(b"/version") else NODE, b"application/json")

    def _write(self, body: bytes, kind: bytes) -> None:
        if not self._transport.is_closing():
            head = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n"
            self._transport.write(head % (kind, len(body)) + body)


async def serve(certificate: str) -> None:
    """Until standard input ends."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Cluster, "0.0.0.0", 0, ssl=tls, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        Cluster.dead = int(line)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
