"""Reading objects that providers own: from watched caches, by references without a version.

    external = External(client, cache)
    external.wake(controller, owner_keys(GroupKind(CLUSTER_GROUP, "Machine")))
    ...
    match await external.get(ref, machine.metadata.namespace, InfraMachine):
        case Found(infra): ...
        case Absent(): ...
        case Unreadable(error): ...

A kind is watched from the moment it is first read, for every controller that asked to be woken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache as once
from typing import Protocol, TypeVar

from kapy.client.client import Client
from kapy.contract.crd_names import crd_name
from kapy.contract.errors import NotServed
from kapy.contract.fields import View
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.contract.resolve import Resolved, resolved
from kapy.engine.cache import Cache, Change
from kapy.engine.controller import Controller, Mapper
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import CRDS, GroupKind, Resource, split_api_version

V = TypeVar("V", bound=View)


class Reference(Protocol):
    """What names a provider's object: group, kind and name (`ContractVersionedObjectReference`)."""

    @property
    def api_group(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def name(self) -> str: ...


class External:
    """Provider objects, read through the contracts that their CRDs declare."""

    def __init__(self, client: Client, cache: Cache) -> None:
        self._client = client
        self._cache = cache
        self._crds = cache.informer(CRDS)
        self._known: dict[GroupKind, tuple[Document, Resolved]] = {}
        self._wakes: list[tuple[Controller, Mapper, float]] = []

    def wake(self, controller: Controller, keys: Mapper, *, gather: float = 0.0) -> None:
        """Enqueue `keys(change)` whenever an object of a kind changes that is read through here.

        gather: seconds to wait for more changes, as `Controller.watch` does.
        """
        self._wakes.append((controller, keys, gather))

    async def resolve(self, kind: GroupKind) -> Resolved:
        """Where a kind is served and by which contract it is read.

        Raises NotServed, NoContract, or what the client raises while the CRDs are not cached yet.
        """
        crd = await self._crd(kind)
        known = self._known.get(kind)
        if known is None or known[0] is not crd:
            known = crd, resolved(kind, crd)
            self._known[kind] = known
        return known[1]

    async def resource_of(self, document: Document) -> Resource:
        """Where the document's own apiVersion and kind are served. Raises as `resolve`."""
        group, version = split_api_version(document["apiVersion"])
        resource = (await self.resolve(GroupKind(group, document["kind"]))).resource
        return resource if resource.version == version else replace(resource, version=version)

    async def get(self, ref: Reference, namespace: str, view: type[V]) -> Observed[V]:
        """The object that `ref` names in `namespace`, seen through its contract."""
        try:
            where = await self.resolve(GroupKind(ref.api_group, ref.kind))
            document = await self._read(where.resource, Key(namespace, ref.name))
        except NotFound:
            return Absent()
        except KapyError as error:
            return Unreadable(error)
        return Found(view(document, where.contract))

    async def _read(self, resource: Resource, key: Key) -> Document:
        """Raises NotFound."""
        informer = self._cache.informer(resource)
        for controller, keys, gather in self._wakes:
            controller.watch(informer, keys, gather=gather)
        if not informer.is_synced:
            # The first readers of a kind do not wait for its first list, which may never come.
            return await self._client.get(resource, key)
        document = informer.raw(key)
        if document is None:
            raise NotFound(f'{resource.group_resource} "{key.name}" not found')
        return document

    async def _crd(self, kind: GroupKind) -> Document:
        name = crd_name(*kind)
        if self._crds.is_synced:
            crd = self._crds.raw(Key("", name))
        else:
            try:
                crd = await self._client.get(CRDS, Key("", name))
            except NotFound:
                crd = None
        if crd is None:
            raise NotServed(
                f"failed to get object from ref: failed to get CustomResourceDefinition metadata: "
                f'{CRDS.group_resource} "{name}" not found'
            )
        return crd


@once
def owner_keys(owner: GroupKind) -> Mapper:
    """Maps a change to the owners of a kind that the object has, whichever version they name."""

    def keys(change: Change) -> Iterable[Key]:
        metadata = change.document["metadata"]
        for ref in metadata.get("ownerReferences") or ():
            if ref["kind"] == owner.kind and split_api_version(ref["apiVersion"])[0] == owner.group:
                yield Key(metadata.get("namespace", ""), ref["name"])

    return keys
