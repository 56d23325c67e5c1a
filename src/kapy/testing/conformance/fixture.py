"""A fixture: the namespace in which one check stands in for core around one kind of the
provider.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from kapy.client.client import Client
from kapy.engine.store import version_of
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, NotFound
from kapy.kube.names import Resource
from kapy.testing.conformance.environment import Environment
from kapy.testing.conformance.errors import CannotRun
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest, Timeouts
from kapy.testing.conformance.watch_log import WatchLog
from kapy.testing.conformance.write_log import Write
from kapy.testing.fake_core import FakeCore

CLUSTER: Final = "blue"
NAME: Final = "worker-0"
ONLY: Final = "conformance-only"
"""The namespace, and the value of the watch filter, to which the provider is limited in stage 1."""
_FEW: Final = 3
"""The number of objects that every provider can hold at the same time."""
_MOST: Final = 3
"""The maximum number of writes that evidence quotes."""


@dataclass
class Session:
    """A provider that runs in an environment, and the state that its checks share.

    second_session: opens a session in a second, empty environment. handled_kinds: the kinds that
    the provider is known to reconcile. lock, move_result: the lock and the result of an expensive
    step that several checks share. cleaned_namespaces: namespaces whose objects were deleted.
    """

    environment: Environment
    provider: ProviderUnderTest
    watch_log: WatchLog
    timeouts: Timeouts
    second_session: Callable[[], AbstractAsyncContextManager[Session]]
    handled_kinds: set[Resource] = field(default_factory=set)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    move_result: object = None
    cleaned_namespaces: set[str] = field(default_factory=set)

    @property
    def client(self) -> Client:
        """Return the kit's administrator client for the API server."""
        return self.environment.client

    def resource_of(self, document: Document) -> Resource:
        """Return the resource of a provider's object."""
        group, _, version = document["apiVersion"].rpartition("/")
        for kind in self.provider.kinds:
            for resource in (kind.resource, kind.template):
                if resource is not None and (resource.group, resource.kind) == (
                    group,
                    document["kind"],
                ):
                    return (
                        resource if resource.version == version else _in_version(resource, version)
                    )
        raise CannotRun(f"the provider has no kind {document['kind']}")

    async def fixture(self, kind: Kind, namespace: str, cluster: str = CLUSTER) -> Fixture:
        """Create a namespace with only the extra objects that the provider's examples need.

        cluster: the name of the Cluster in it.
        """
        await self.environment.create_namespace(namespace)
        result = Fixture(self, kind, namespace, cluster)
        for document in self.provider.extras:
            metadata = {**document["metadata"], "namespace": namespace}
            with suppress(AlreadyExists):
                await result.create({**document, "metadata": metadata})
        return result


class Fixture:
    """The namespace of one check, with operations on its objects."""

    def __init__(
        self, session: Session, kind: Kind, namespace: str, cluster: str = CLUSTER
    ) -> None:
        self.session = session
        self.kind = kind
        self.namespace = namespace
        self.cluster = cluster
        self.client = session.client
        self.timeouts = session.timeouts
        self.core = FakeCore(
            self.client, namespace, session.resource_of, session.provider.kubernetes_version
        )
        self.start_position = len(session.environment.write_log.writes)

    @property
    def environment(self) -> Environment:
        """Return the API server on which the check runs, with its clients."""
        return self.session.environment

    def key(self, name: str = NAME) -> Key:
        """Return the key of the object with that name."""
        return Key(self.namespace, name)

    def example(self, name: str = NAME, kind: Kind | None = None, **metadata: Any) -> Document:
        """Return an object of the kind, as a user writes it."""
        kind = kind or self.kind
        result = {**(kind.example.get("metadata") or {}), "name": name}
        result.pop("namespace", None)
        result |= metadata
        api_version = kind.resource.api_version
        return {**kind.example, "apiVersion": api_version, "metadata": result}

    async def create(self, document: Document) -> Document:
        """Create an object of any kind."""
        from kapy.client.kinds import Kinds

        return await self.client.create(await Kinds(self.client).of(document), document)

    async def read(self, name: str = NAME, resource: Resource | None = None) -> Document | None:
        """Read the object from the server; None if it does not exist."""
        try:
            return await self.client.get(resource or self.kind.resource, self.key(name))
        except NotFound:
            return None

    async def patch(
        self, patch: Document, name: str = NAME, resource: Resource | None = None, part: str = ""
    ) -> Document:
        """Merge-patch an object, and wait until the watch delivers the result. part: the
        subresource.
        """
        resource = resource or self.kind.resource
        result = await self.client.patch(resource, self.key(name), patch, subresource=part)
        await self.session.watch_log.watch(resource)
        await self.session.watch_log.until(
            resource,
            self.key(name),
            lambda value: value is None or version_of(value) >= version_of(result),
            self.timeouts.within,
        )
        return result

    async def delete(self, name: str = NAME, resource: Resource | None = None) -> None:
        """Delete an object of the fixture's namespace."""
        await self.client.delete(resource or self.kind.resource, self.key(name))

    async def settle(self, times: int = 1) -> None:
        """Wait until the provider has had time to react."""
        await asyncio.sleep(self.timeouts.quiet * times)

    async def wait_for(
        self,
        holds: Callable[[Document], Any],
        name: str = NAME,
        resource: Resource | None = None,
    ) -> Document | None:
        """Wait for a state of an object; None if it is not reached in time."""
        resource = resource or self.kind.resource
        await self.session.watch_log.watch(resource)
        came, last = await self.session.watch_log.until(
            resource,
            self.key(name),
            lambda value: value is not None and bool(holds(value)),
            self.timeouts.within,
        )
        return last if came else None

    async def require(
        self,
        holds: Callable[[Document], Any],
        what: str,
        name: str = NAME,
        resource: Resource | None = None,
    ) -> Document:
        """Wait for a state of an object. Raises CannotRun: "… was never `what`"."""
        wait = await self.wait_for(holds, name, resource)
        if wait is None:
            wanted, within = resource or self.kind.resource, self.timeouts.within
            raise CannotRun(
                f"{wanted.kind} {name} was never {what}, in {within:g} seconds"
                f"{self.capacity_hint(wanted)}"
            )
        return wait

    def capacity_hint(self, resource: Resource) -> str:
        """Return a hint about the number of objects, for an object that was never ready."""
        result = self.session.watch_log.all(resource)
        count = sum(not item["metadata"].get("deletionTimestamp") for item in result)
        if count <= _FEW:
            return ""
        return (
            f", while there were {count} {resource.kind} in all: if the provider has room for "
            "fewer, do fewer checks at a time (--parallel)"
        )

    async def wait_until_gone(self, name: str = NAME, resource: Resource | None = None) -> bool:
        """Wait for an object to be deleted; return whether it was in time."""
        resource = resource or self.kind.resource
        await self.session.watch_log.watch(resource)
        came, _ = await self.session.watch_log.until(
            resource, self.key(name), lambda value: value is None, self.timeouts.within
        )
        return came

    def states(self, name: str = NAME, resource: Resource | None = None) -> list[Document]:
        """Return all observed states of an object."""
        return self.session.watch_log.states(resource or self.kind.resource, self.key(name))

    def write_position(self) -> int:
        """Return the current position in the write log."""
        return len(self.environment.write_log.writes)

    def writes(self, since: int | None = None) -> list[Write]:
        """Return the provider's accepted writes in the fixture's namespace. since: a position in
        the write log.
        """
        position = self.start_position if since is None else since
        result = self.environment.write_log.of(self.namespace, position)
        ours = self.environment.own_writes.versions
        return [
            write
            for write in result
            if write.accepted and not (write.version and write.version in ours)
        ]

    def events(self) -> int:
        """Return how many Events the provider has written in this namespace."""
        return self.environment.write_log.events.get(self.namespace, 0)

    def finding(
        self, field: str, evidence: str, remedy: str, name: str = NAME, kind: str = ""
    ) -> Finding:
        """Return a finding about an object."""
        return Finding("", f"{kind or self.kind.resource.kind} {name}", field, evidence, remedy)


def quote_writes(writes: list[Write]) -> str:
    """Quote writes as evidence."""
    text = "; ".join(map(str, writes[:_MOST]))
    return text if len(writes) <= _MOST else f"{text}; and {len(writes) - _MOST} more"


def _in_version(resource: Resource, version: str) -> Resource:
    return Resource(
        resource.group, version, resource.plural, resource.kind, namespaced=resource.namespaced
    )
