"""The sockets of workload clusters: one for all of them, each behind an address of its own.

One socket listens on all addresses of the machine and accepts connections of the loopback device
only. The local address of a connection selects the cluster, and with it the server's certificate
and the CA of client certificates. If the machine has a single loopback address (macOS), or if
clients are on other machines (in a Pod), every cluster has its own port instead. If another plane
listens on a cluster's port by now, the cluster gets a socket for its own address
(`kapy.providers.inmemory.sockets`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Final, NamedTuple
from weakref import WeakSet

import msgspec

from kapy._aio.clock import Clock
from kapy.apiserver.serving import Application, Listener, serve_connection, server_context
from kapy.apiserver.serving.acceptor import Acceptor
from kapy.apiserver.serving.connection_limit import Connection
from kapy.kube.errors import KapyError, ServerError
from kapy.kube.pki import KeyPair, issue, new_key
from kapy.providers.inmemory.sockets import (
    ANY,
    BACKLOG,
    LOOPBACK,
    PORTS,
    bound_beside,
    has_many_loopback_addresses,
    is_answered,
    listening_socket,
)
from kapy.providers.inmemory.workload.cluster import WorkloadCluster
from kapy.sdk import Endpoint

log = logging.getLogger(__name__)

REMEMBERED: Final = 64
RETRY: Final = 0.1  # seconds; a retry is cheap, and a user may be waiting
LONGEST_RETRY: Final = 2.0
TRIES: Final = 32
"""Addresses that are tried at a time."""
NAMES: Final = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)

Find = Callable[[str, int], WorkloadCluster | None]
Notice = Callable[[Endpoint], None]


class NoPort(KapyError):
    """No port is free for workload clusters."""


class Target(NamedTuple):
    """The properties that all connections to one cluster share."""

    authority: KeyPair
    tls: ssl.SSLContext
    application: Application


class Front:
    """Listens for all workload clusters. find: returns the cluster at an address. host: the common
    address of all clusters, "" for loopback addresses. notice: called with a cluster's address when
    another process turns out to use it, and when that ends."""

    def __init__(self, find: Find, clock: Clock, host: str = "", *, notice: Notice) -> None:
        self._find = find
        self._host = host
        self._notice = notice
        self._clock = clock
        self._sockets: dict[Endpoint, socket.socket] = {}
        self._accepting: dict[Endpoint, asyncio.Task[None]] = {}
        self._reached: OrderedDict[WorkloadCluster, Target] = OrderedDict()
        self._refused: set[Endpoint] = set()
        self._in_use: set[Endpoint] = set()
        self._was_refused = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._key = b""
        self._acceptor = Acceptor()
        self._listener = Listener(Workloads(self._application))
        self.many_addresses = not host and has_many_loopback_addresses()
        # The forwarding of a Pod's port connects to the Pod's loopback address.
        self._is_forwarded = host not in ("", LOOPBACK)

    def first_port(self) -> int:
        """Return the port for new clusters; begin to listen if all clusters share it. Raises
        NoPort."""
        if not self.many_addresses:
            return PORTS.start
        for port in PORTS:
            if self.can_admit(Endpoint(ANY, port)):
                return port
        raise NoPort(f"none of the ports {PORTS.start}-{PORTS.stop - 1} is free")

    def can_admit(self, endpoint: Endpoint) -> bool:
        """Return whether a cluster can be there; if so, the address is taken from now on."""
        try:
            self.admit(endpoint)
        except OSError:
            return False
        return True

    def admit(self, endpoint: Endpoint) -> None:
        """Listen for a cluster at its address, unless that is done already. Raises OSError."""
        if endpoint not in self._sockets:
            self._listen(self._listening_address(endpoint))
        if self._is_forwarded:
            with contextlib.suppress(OSError):  # another program of the Pod has the port
                self._listen(Endpoint(LOOPBACK, endpoint.port))

    def admit_later(self, endpoint: Endpoint) -> None:
        """Listen for a cluster as soon as its address, which another process has, is free."""
        self._refused.add(endpoint)
        self._was_refused.set()

    def is_in_use(self, endpoint: Endpoint) -> bool:
        """Return whether another process has the address of a cluster."""
        return endpoint in self._in_use

    def dismiss(self, endpoint: Endpoint) -> None:
        """Close the socket of a removed cluster, if it had its own."""
        self._refused.discard(endpoint)
        self._in_use.discard(endpoint)
        self._close_door(endpoint)
        if self._is_forwarded:
            self._close_door(Endpoint(LOOPBACK, endpoint.port))

    def _close_door(self, door: Endpoint) -> None:
        task = self._accepting.pop(door, None)
        if task is not None:
            task.cancel()
        sock = self._sockets.pop(door, None)
        if sock is not None:
            sock.close()

    async def serve(self) -> None:
        """Accept connections until cancelled; then close the open ones."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for door in self._sockets:
                    self._accept_at(door)
                group.create_task(self._retry())
                await asyncio.get_running_loop().create_future()
        finally:
            self._group = None
            self.close()
            await self._listener.stop()

    def close(self) -> None:
        """Close all listening sockets."""
        for sock in self._sockets.values():
            sock.close()
        self._sockets.clear()
        self._accepting.clear()

    async def _retry(self) -> None:
        while True:
            await self._was_refused.wait()
            pause = RETRY
            while self._refused:
                # No event shows that another process, such as the plane that a cluster was moved
                # from, releases an address.
                await asyncio.sleep(pause)
                pause = RETRY if self._was_refused.is_set() else min(2 * pause, LONGEST_RETRY)
                self._was_refused.clear()
                refused = tuple(self._refused)
                for start in range(0, len(refused), TRIES):
                    await asyncio.gather(*map(self._try_again, refused[start : start + TRIES]))
            self._was_refused.clear()

    async def _try_again(self, endpoint: Endpoint) -> None:
        was, now = endpoint in self._in_use, not await self._could_admit(endpoint)
        if endpoint not in self._refused:
            return  # the cluster is gone
        if now:
            self._in_use.add(endpoint)
        else:
            self._refused.discard(endpoint)
            self._in_use.discard(endpoint)
        if was != now:
            self._notice(endpoint)

    async def _could_admit(self, endpoint: Endpoint) -> bool:
        if self.can_admit(endpoint):
            return True
        if not self.many_addresses:
            return False
        try:
            sock = bound_beside(endpoint)
        except OSError:
            return False
        with contextlib.ExitStack() as stack:
            stack.callback(sock.close)
            if await is_answered(endpoint) or endpoint not in self._refused:
                return False
            sock.listen(BACKLOG)
            stack.pop_all()
        self._add_socket(endpoint, sock)
        return True

    def _listening_address(self, endpoint: Endpoint) -> Endpoint:
        return Endpoint(ANY, endpoint.port) if self.many_addresses else endpoint

    def _listen(self, door: Endpoint) -> None:
        if door not in self._sockets:
            self._add_socket(door, listening_socket(door))

    def _add_socket(self, door: Endpoint, sock: socket.socket) -> None:
        self._sockets[door] = sock
        if self._group is not None:
            self._accept_at(door)

    def _accept_at(self, door: Endpoint) -> None:
        assert self._group is not None
        accepting = self._acceptor.accept(self._sockets[door], self._admit)
        task = self._group.create_task(accepting, name=f"accept {door}")
        self._accepting[door] = task

    async def _admit(self, connection: socket.socket, visit: Connection) -> None:
        """Serve one connection; close it if its local address is not that of a cluster."""
        host, port = connection.getsockname()[:2]
        may = host == self._host or ip_address(host).is_loopback
        cluster = self._cluster_at(host, port) if may else None
        if cluster is None or not cluster.answers:
            connection.close()
            return
        reached = await self._route_to(cluster)
        await serve_connection(connection, reached.tls, self._listener, visit)

    def _cluster_at(self, host: str, port: int) -> WorkloadCluster | None:
        """Return the cluster at a local address of a connection."""
        return self._find(self._host if self._is_forwarded and host == LOOPBACK else host, port)

    async def _route_to(self, cluster: WorkloadCluster) -> Target:
        former = self._reached.get(cluster)
        authority = cluster.authority
        assert authority is not None
        if former is not None and former.authority == authority:
            self._reached.move_to_end(cluster)
            return former
        loop = asyncio.get_running_loop()
        tls = await loop.run_in_executor(None, self._context, authority, cluster.endpoint.host)
        application = former.application if former else Application(cluster.server)
        target = self._reached[cluster] = Target(authority, tls, application)
        if len(self._reached) > REMEMBERED:
            self._reached.popitem(last=False)
        return target

    def _context(self, authority: KeyPair, host: str) -> ssl.SSLContext:
        """Return the TLS context of a cluster. All share one key, because generating one takes
        time."""
        if not self._key:
            self._key = new_key("ECDSA-P256")
        serving = issue(
            authority,
            "kube-apiserver",
            now=self._clock(),
            names=[host, *NAMES],
            usages=("server",),
            key=self._key,
        )
        return server_context(serving.certificate, serving.key, authority.certificate)

    def _application(self, host: str, port: int) -> Application | None:
        cluster = self._cluster_at(host, port)
        if cluster is None or not cluster.answers:
            return None
        reached = self._reached.get(cluster)
        return Application(cluster.server) if reached is None else reached.application


class Workloads(Application):
    """Sends each request to the API server of the cluster that its connection is to."""

    def __init__(self, application_at: Callable[[str, int], Application | None]) -> None:
        self._application_at = application_at
        self._in_use: WeakSet[Application] = WeakSet()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass one HTTP request to the API server of its cluster, as ASGI 3 defines."""
        host, port = scope["server"]
        application = self._application_at(host, port)
        if application is None:
            await _unavailable(send)
            return
        self._in_use.add(application)
        await application(scope, receive, send)

    async def stop(self) -> None:
        """End the watches of all clusters."""
        for application in tuple(self._in_use):
            await application.stop()


async def _unavailable(send: Any) -> None:
    """The last API server of the cluster stopped while this connection was open."""
    status = ServerError("no API server runs in this cluster").status()
    body = msgspec.json.encode({**status, "code": 503})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})
