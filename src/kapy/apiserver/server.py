"""An API server as a library: a store, resources, admission, and one function that answers.

    server = Server.open(None, clock=clock)           # in memory; a path for SQLite on disk
    async with asyncio.TaskGroup() as group:
        task = group.create_task(server.run())         # garbage collection, namespaces, compaction
        transport = server.transport(ADMIN)            # in process: no bytes, no copies
        asgi = server.asgi(authenticate)               # over the network

It never imports `kapy.api`: kinds beyond Kubernetes' own reach it as CRDs, like any user's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from kapy._aio.clock import Clock
from kapy.kube import Document
from kapy.kube.http import Reply, Request, Transport, User
from kapy.kube.names import Resource


@dataclass(frozen=True, slots=True)
class Review:
    """One write as admission sees it (upstream's AdmissionReview, without HTTP)."""

    operation: Literal["CREATE", "UPDATE", "DELETE"]
    resource: Resource
    subresource: str
    namespace: str
    name: str
    new: Document | None
    old: Document | None
    user: User
    dry_run: bool
    options: Document


class Admission(Protocol):
    """Built-in admission, called where webhooks are called, without HTTP."""

    def handles(self, resource: Resource, subresource: str) -> bool:
        """Whether writes of this resource concern this plug-in; answers are remembered."""
        ...

    async def default(self, review: Review) -> Document:
        """The object with defaults filled in: a changed copy, or `review.new` itself."""
        ...

    async def validate(self, review: Review) -> Sequence[str]:
        """Warnings. Raises an ApiError (Invalid, Forbidden …) to refuse."""
        ...


Convert = Callable[[Sequence[Document], str], Awaitable[list[Document]]]
"""Converts objects of one kind to another `apiVersion`, without HTTP."""


class Server:
    """One API server."""

    @classmethod
    def open(
        cls,
        path: Path | None,
        *,
        clock: Clock,
        admission: Sequence[Admission] = (),
        convert: Convert | None = None,
    ) -> Server:
        """Open (or create) the store and load it; raises StoreError with a sentence for people."""
        raise NotImplementedError

    async def __call__(self, request: Request) -> Reply:
        """Answer one request whose `user` is set. Failures are Replies, not exceptions."""
        raise NotImplementedError

    def transport(self, user: User) -> Transport:
        """An in-process transport that asks as `user`."""
        raise NotImplementedError

    async def run(self) -> None:
        """The server's own controllers: garbage collection, namespaces, compaction, bookmarks."""

    def close(self) -> None:
        """Flush and close the store; ends all watches."""
