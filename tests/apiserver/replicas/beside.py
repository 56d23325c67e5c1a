"""An API server, and replicas of it in the same process; messages wait until they are delivered."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kapy._aio.clock import loop_clock
from kapy.apiserver.auth.authentication import Authenticator, authenticated_user
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application
from kapy.apiserver.serving.forwarded_requests import ForwardedRequests
from kapy.apiserver.serving.forwarder import Forwarder
from kapy.apiserver.serving.replica_application import ReplicaApplication
from kapy.apiserver.store.replica import ReplicaFeed, ReplicaStore, SharedRevision
from tests.apiserver.network_client import TOKENS, Answer, Calls
from tests.apiserver.requester import CRDS, GIZMO, Asking


class Beside:
    """One replica. delivers: whether messages of the server arrive by themselves."""

    def __init__(self, server: Server, feed: ReplicaFeed, committed: SharedRevision) -> None:
        self.writer = server
        self.feed = feed
        self.hurries = 0
        self.store = ReplicaStore(committed, self._hurry)
        self.waiting: deque[Callable[[], None]] = deque()
        self.delivers = True
        self.forwarded: list[str] = []
        self.whole = Application(server, Authenticator(TOKENS))
        self._requests = ForwardedRequests(self.whole, self._send_to_replica, _no_wait)
        self.forwarder = Forwarder(self._send_to_writer, _no_wait)

    async def open(self, **options: Any) -> Calls:
        """Copy the content; return the clients of the replica."""
        await self.feed.add(self.replicate, _no_wait)
        await self.store.complete.wait()
        server = Server.on_replica(self.store, clock=loop_clock(), convert=None, limits=None)
        server.access.tokens.verify_with(self.writer.access.tokens.public_key())
        options = {"converts": _never, **options}
        calls = Calls(server)
        calls.application = ReplicaApplication(  # type: ignore[assignment]
            server, self.store, Authenticator(TOKENS), self._forward, **options
        )
        return calls

    def deliver(self, number: int = 1 << 30) -> None:
        """Let some messages of the server arrive."""
        while self.waiting and number:
            self.waiting.popleft()()
            number -= 1

    def replicate(self, kind: int, content: bytes) -> None:
        self._put(lambda: self.store.receive(kind, content))

    def _hurry(self) -> None:
        self.hurries += 1

    async def _forward(self, scope: Any, receive: Any, send: Any) -> None:
        self.forwarded.append(f"{scope['method']} {scope['path']}")
        await self.forwarder(scope, receive, send)

    def _send_to_replica(self, kind: int, number: int, content: bytes) -> None:
        self._put(lambda: self.forwarder.receive(kind, number, content))

    def _send_to_writer(self, kind: int, number: int, content: bytes) -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: self._requests.receive(kind, number, content))

    def _put(self, message: Callable[[], None]) -> None:
        self.waiting.append(message)
        if self.delivers:
            asyncio.get_running_loop().call_soon(self.deliver)


async def _no_wait() -> None:
    """Wait for nothing: the other process always reads."""


def _never(kind: Kind) -> bool:
    del kind
    return False


@asynccontextmanager
async def replicated(
    path: Path | None = None, *, replicas: int = 1, documents: Sequence[tuple[str, Any]] = ()
) -> AsyncIterator[tuple[Asking, list[Beside]]]:
    """A server with its controllers, the objects `documents` by collection, and replicas."""
    server = Server.open(path, clock=loop_clock())
    committed = SharedRevision.create()
    feed = ReplicaFeed(server.store, committed)
    try:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(server.run())
            await asyncio.sleep(0)
            asking = Asking(server)
            await asking.create(CRDS, GIZMO)
            for collection, document in documents:
                await asking.create(collection, document)
            yield asking, [Beside(server, feed, committed) for _ in range(replicas)]
            running.cancel()
    finally:
        feed.close()
        server.close()


__all__ = ["Answer", "Beside", "authenticated_user", "replicated"]
