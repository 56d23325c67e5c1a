"""The API server that a provider is checked on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.kube.errors import AlreadyExists
from kapy.kube.http import Reply, Request, Transport
from kapy.kube.names import NAMESPACES
from kapy.testing.conformance.write_log import RecordingServer, WriteLog

if TYPE_CHECKING:
    from kapy.client.kubeconfig import Kubeconfig

MANAGER: Final = "kapy-conformance"


class OwnWrites(Interceptor):
    """Records the resourceVersions of the kit's own writes."""

    __slots__ = ("versions",)

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.versions: set[str] = set()

    async def __call__(self, request: Request) -> Reply:
        reply = await super().__call__(request)
        if request.method != "GET" and isinstance(reply.body, dict):
            metadata = reply.body.get("metadata") or {}
            self.versions.add(metadata.get("resourceVersion", ""))
        return reply


@dataclass
class Environment:
    """An API server for checks, and the clients for it.

    client: the kit's administrator client. write_log: the provider's writes. own_writes: the kit's
    writes. transport: the provider's in-process transport; access: its kubeconfig over the network;
    None if there is none. embedded: whether the server is the kit's own. prefix: the prefix of the
    names of the checks' namespaces. server: the embedded server.
    """

    client: Client
    write_log: WriteLog
    clock: Clock
    own_writes: OwnWrites
    transport: Transport | None = None
    access: Kubeconfig | None = None
    embedded: bool = True
    light: bool = False
    prefix: str = "conformance"
    namespaces: set[str] = field(default_factory=set)
    server: RecordingServer | None = None

    async def create_namespace(self, name: str) -> None:
        """Create the namespace of a check if it does not exist."""
        self.namespaces.add(name)
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        with suppress(AlreadyExists):
            await self.client.create(NAMESPACES, document)


@asynccontextmanager
async def remote(transport: Transport, *, clock: Clock) -> AsyncIterator[Environment]:
    """Use an existing API server on which the provider runs."""
    ours = OwnWrites(transport)
    yield Environment(Client(ours, field_manager=MANAGER), WriteLog(), clock, ours, embedded=False)
