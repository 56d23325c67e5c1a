"""The parts of one server that its verbs work with."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from kapy._aio.clock import Clock
from kapy.apiserver.admission import Admission
from kapy.apiserver.refusals import StorageFailure
from kapy.apiserver.resources.builtin.event_forms import as_core, as_new
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.registry import Registry, builtin_registry
from kapy.apiserver.store.store import Store
from kapy.apiserver.store.table import Table
from kapy.kube import Document
from kapy.kube.names import Resource, split_api_version

Convert = Callable[[Sequence[Document], str], Awaitable[list[Document]]]
"""Converts objects of one kind to another `apiVersion`, without HTTP."""


_RANDOM = random.Random()


@dataclass(slots=True, eq=False)
class Plane:
    """Store, kinds, clock, admission and conversion of one server."""

    store: Store
    clock: Clock
    admission: tuple[Admission, ...] = ()
    convert: Convert | None = None
    registry: Registry = field(default_factory=builtin_registry)
    rng: random.Random = _RANDOM
    handled: dict[tuple[Resource, str], tuple[Admission, ...]] = field(default_factory=dict)

    def table(self, kind: Kind) -> Table:
        """Where the objects of a kind are stored."""
        return self.store.table(kind.table)

    def plugins(self, kind: Kind, subresource: str) -> tuple[Admission, ...]:
        """The admission plug-ins that look at writes of a resource."""
        if not self.admission:
            return ()
        key = (kind.resource, subresource)
        found = self.handled.get(key)
        if found is None:
            found = self.handled[key] = tuple(
                one for one in self.admission if one.handles(kind.resource, subresource)
            )
        return found

    async def in_version(
        self, documents: Sequence[Document], target: Resource
    ) -> Sequence[Document]:
        """Stored objects in the version that is asked for, whatever version each is stored in."""
        wanted = target.api_version
        if all(one["apiVersion"] == wanted for one in documents):
            return documents
        shown: list[Document] = []
        for one in documents:
            group, version = split_api_version(one["apiVersion"])
            source = replace(target, group=group, version=version)
            shown.extend(await self.converted((one,), source, target))
        return shown

    async def converted(
        self, documents: Sequence[Document], source: Resource, target: Resource
    ) -> Sequence[Document]:
        """The objects in another version of their kind (themselves when it is the same)."""
        if source == target or not documents:
            return documents
        kind = self.registry.find(target.group, target.version, target.plural)
        if source.group != target.group or not self._needs_hook(source):
            return [_read(kind, _renamed(one, target)) for one in documents]
        if self.convert is None:
            raise StorageFailure(
                f"conversion of {source.group_resource} to {target.api_version} failed: "
                "this server has no conversion for it"
            )
        return [_read(kind, one) for one in await self.convert(documents, target.api_version)]

    def _needs_hook(self, resource: Resource) -> bool:
        table = self.store.peek("customresourcedefinitions.apiextensions.k8s.io")
        definition = None if table is None else table.get("", resource.group_resource)
        if definition is None:
            return False
        return bool((definition["spec"].get("conversion") or {}).get("strategy") == "Webhook")


def _read(kind: Kind | None, document: Document) -> Document:
    """The object as its version's schema lets it be read."""
    return document if kind is None else kind.schema.pruned(document)


def _renamed(document: Document, target: Resource) -> Document:
    if target.kind == "Event" and target.group in ("", "events.k8s.io"):
        return as_core(document) if not target.group else as_new(document)
    return {**document, "apiVersion": target.api_version, "kind": target.kind}
