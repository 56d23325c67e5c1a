"""A namespace in which one check plays core around one kind of the provider."""

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
from kapy.testing.conformance.errors import CannotRun
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.ground import Ground
from kapy.testing.conformance.heard import Write
from kapy.testing.conformance.seen import Seen
from kapy.testing.conformance.subject import Kind, Patience, Subject
from kapy.testing.played_core import PlayedCore

CLUSTER: Final = "blue"
NAME: Final = "worker-0"
ONLY: Final = "conformance-only"
"""The namespace, and the value of the watch filter, that the provider is limited to in stage 1."""
_FEW: Final = 3
"""Objects for which every provider has room."""
_MOST: Final = 3
"""Writes that evidence quotes."""


@dataclass
class World:
    """A provider that runs on a ground, and who looks at it.

    another: another ground for the same provider, with nothing on it. answered: the kinds of which
    it is known that the provider looks at them. turn, moved: of checks that share what is costly,
    as what came of a move. cleared: namespaces whose objects were deleted.
    """

    ground: Ground
    subject: Subject
    seen: Seen
    patience: Patience
    another: Callable[[], AbstractAsyncContextManager[World]]
    answered: set[Resource] = field(default_factory=set)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    moved: object = None
    cleared: set[str] = field(default_factory=set)

    @property
    def client(self) -> Client:
        """The administrator's."""
        return self.ground.client

    def resource_of(self, document: Document) -> Resource:
        """Where an object of the provider is written."""
        group, _, version = document["apiVersion"].rpartition("/")
        for kind in self.subject.kinds:
            for one in (kind.resource, kind.template):
                if one is not None and (one.group, one.kind) == (group, document["kind"]):
                    return one if one.version == version else _in_version(one, version)
        raise CannotRun(f"the provider has no kind {document['kind']}")

    async def scene(self, kind: Kind, namespace: str, cluster: str = CLUSTER) -> Scene:
        """A namespace with nothing in it but what the provider's examples need.

        cluster: the name of the Cluster in it.
        """
        await self.ground.namespace(namespace)
        found = Scene(self, kind, namespace, cluster)
        for document in self.subject.extras:
            metadata = {**document["metadata"], "namespace": namespace}
            with suppress(AlreadyExists):
                await found.create({**document, "metadata": metadata})
        return found


class Scene:
    """One check's namespace."""

    def __init__(self, world: World, kind: Kind, namespace: str, cluster: str = CLUSTER) -> None:
        self.world = world
        self.kind = kind
        self.namespace = namespace
        self.cluster = cluster
        self.client = world.client
        self.patience = world.patience
        self.core = PlayedCore(self.client, namespace, world.resource_of)
        self.began = len(world.ground.ledger.writes)

    @property
    def ground(self) -> Ground:
        """The API server."""
        return self.world.ground

    def key(self, name: str = NAME) -> Key:
        """Where the object of that name is."""
        return Key(self.namespace, name)

    def example(self, name: str = NAME, kind: Kind | None = None, **metadata: Any) -> Document:
        """An object of the kind, as a user writes it."""
        kind = kind or self.kind
        found = {**(kind.example.get("metadata") or {}), "name": name}
        found.pop("namespace", None)
        found |= metadata
        api_version = kind.resource.api_version
        return {**kind.example, "apiVersion": api_version, "metadata": found}

    async def create(self, document: Document) -> Document:
        """Create an object of whatever kind."""
        from kapy.client.kinds import Kinds

        return await self.client.create(await Kinds(self.client).of(document), document)

    async def read(self, name: str = NAME, resource: Resource | None = None) -> Document | None:
        """The object as the server has it now."""
        try:
            return await self.client.get(resource or self.kind.resource, self.key(name))
        except NotFound:
            return None

    async def patch(
        self, patch: Document, name: str = NAME, resource: Resource | None = None, part: str = ""
    ) -> Document:
        """Merge into an object, and wait until our watch has told of it. part: the subresource."""
        resource = resource or self.kind.resource
        found = await self.client.patch(resource, self.key(name), patch, subresource=part)
        await self.world.seen.follow(resource)
        await self.world.seen.until(
            resource,
            self.key(name),
            lambda one: one is None or version_of(one) >= version_of(found),
            self.patience.within,
        )
        return found

    async def delete(self, name: str = NAME, resource: Resource | None = None) -> None:
        """Ask for an object's deletion."""
        await self.client.delete(resource or self.kind.resource, self.key(name))

    async def quiet(self, times: int = 1) -> None:
        """Let the provider do what it may do now."""
        await asyncio.sleep(self.patience.quiet * times)

    async def reached(
        self,
        holds: Callable[[Document], Any],
        name: str = NAME,
        resource: Resource | None = None,
    ) -> Document | None:
        """Wait for an object to be so; None where that does not come in time."""
        resource = resource or self.kind.resource
        await self.world.seen.follow(resource)
        came, last = await self.world.seen.until(
            resource,
            self.key(name),
            lambda one: one is not None and bool(holds(one)),
            self.patience.within,
        )
        return last if came else None

    async def until(
        self,
        holds: Callable[[Document], Any],
        what: str,
        name: str = NAME,
        resource: Resource | None = None,
    ) -> Document:
        """Wait for an object to be so. Raises CannotRun: "… was never `what`"."""
        found = await self.reached(holds, name, resource)
        if found is None:
            wanted, within = resource or self.kind.resource, self.patience.within
            raise CannotRun(
                f"{wanted.kind} {name} was never {what}, in {within:g} seconds{self.crowd(wanted)}"
            )
        return found

    def crowd(self, resource: Resource) -> str:
        """How many objects a provider had to do with while one of them never was ready."""
        found = self.world.seen.all(resource)
        count = sum(not one["metadata"].get("deletionTimestamp") for one in found)
        if count <= _FEW:
            return ""
        return (
            f", while there were {count} {resource.kind} in all: if the provider has room for "
            "fewer, do fewer checks at a time (--parallel)"
        )

    async def gone(self, name: str = NAME, resource: Resource | None = None) -> bool:
        """Wait for an object to go; whether it did, in time."""
        resource = resource or self.kind.resource
        await self.world.seen.follow(resource)
        came, _ = await self.world.seen.until(
            resource, self.key(name), lambda one: one is None, self.patience.within
        )
        return came

    def states(self, name: str = NAME, resource: Resource | None = None) -> list[Document]:
        """Each state of an object that was seen."""
        return self.world.seen.states(resource or self.kind.resource, self.key(name))

    def mark(self) -> int:
        """The position of what will be written from now on."""
        return len(self.ground.ledger.writes)

    def writes(self, since: int | None = None) -> list[Write]:
        """What the provider wrote here, and was not refused."""
        position = self.began if since is None else since
        found = self.ground.ledger.of(self.namespace, position)
        ours = self.ground.ours.versions
        return [one for one in found if one.done and not (one.version and one.version in ours)]

    def events(self) -> int:
        """How many Events the provider has written here."""
        return self.ground.ledger.events.get(self.namespace, 0)

    def fault(
        self, field: str, evidence: str, mend: str, name: str = NAME, kind: str = ""
    ) -> Finding:
        """A finding about an object."""
        return Finding("", f"{kind or self.kind.resource.kind} {name}", field, evidence, mend)


def quoted(writes: list[Write]) -> str:
    """Writes, as evidence tells of them."""
    told = "; ".join(map(str, writes[:_MOST]))
    return told if len(writes) <= _MOST else f"{told}; and {len(writes) - _MOST} more"


def _in_version(resource: Resource, version: str) -> Resource:
    return Resource(
        resource.group, version, resource.plural, resource.kind, namespaced=resource.namespaced
    )
