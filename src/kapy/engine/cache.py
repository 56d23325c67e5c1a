"""What a program has read of a server: one watched, indexed copy per resource.

An informer never shows an object older than what this program itself wrote: every write's answer
goes into the cache at once (`Cache.observe`), a tombstone keeps a late answer from bringing back
what was deleted since, and a relist never replaces what is newer than the list.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context
from random import Random
from typing import Any, Generic, NamedTuple, TypeVar, overload

from kapy.client.client import Client, over_network
from kapy.engine.index import IndexValues
from kapy.engine.reflector import Reflector
from kapy.engine.store import Change as Change
from kapy.engine.store import Handler, Store
from kapy.engine.trimming import trim_of
from kapy.kube import Document, Key
from kapy.kube.meta import Object, read
from kapy.kube.names import CRDS, Resource
from kapy.kube.selectors import parse_labels

T = TypeVar("T")
O = TypeVar("O", bound=Object)  # noqa: E741


class Informer(Generic[T]):
    """The objects of one resource, as this program knows them. Reads are plain calls.

    `T` is a Struct for kinds that we know (each read decodes a private copy) or Document for
    foreign ones (shared: do not change).
    """

    __slots__ = ("__weakref__", "_read", "_shared", "_store", "resource")

    def __init__(self, kind: Any, store: Store) -> None:
        foreign = isinstance(kind, Resource)
        self.resource: Resource = kind if foreign else kind.RESOURCE
        self._read: Callable[[Document], Any] = _same if foreign else lambda doc: read(doc, kind)
        self._store = store
        self._shared: dict[Key, tuple[Document, T]] | None = None

    def get(self, key: Key) -> T | None:
        """The object, or None when it is not there."""
        document = self._store.objects.get(key)
        return None if document is None else self._read(document)

    def raw(self, key: Key) -> Document | None:
        """The shared document, or None."""
        return self._store.objects.get(key)

    def shared(self, document: Document) -> T:
        """One of this informer's documents as its type: decoded once for all who only read it.

        Do not change it. For those who look at many objects of which few have changed.
        """
        if self._shared is None:
            self._shared = {}
            self._store.subscribe(self._forget)
        metadata = document["metadata"]
        key = Key(metadata.get("namespace", ""), metadata["name"])
        known = self._shared.get(key)
        if known is None or known[0] is not document:
            typed: T = self._read(document)
            if self._store.objects.get(key) is not document:
                return typed  # not the newest: nobody will ask for it again
            known = self._shared[key] = document, typed
        return known[1]

    def _forget(self, change: Change) -> None:
        if change.new is None and self._shared is not None:
            self._shared.pop(Key.of(change.document), None)

    def list(self, namespace: str | None = None) -> Sequence[T]:
        """All objects (of a namespace), in the order of their keys."""
        return self._these(self._store.keys(namespace))

    def keys(self) -> Sequence[Key]:
        """The keys of all objects, in order."""
        return self._store.keys()

    def add_index(self, name: str, values: IndexValues) -> None:
        """Keep an index; adding the same name again is allowed and does nothing."""
        self._store.add_index(name, values)

    def indexed(self, name: str, value: str) -> Sequence[T]:
        """The objects that have `value` in the index, in the order of their keys."""
        return self._these(self._store.indexed(name, value))

    def subscribe(self, handler: Handler) -> Callable[[], None]:
        """Call `handler` for each object there is and each change after; returns the undo."""
        return self._store.subscribe(handler)

    async def synced(self) -> None:
        """Wait until the first list is in."""
        await self._store.synced()

    @property
    def is_synced(self) -> bool:
        """Whether the first list is in."""
        return self._store.is_synced

    def _these(self, keys: Sequence[Key]) -> Sequence[T]:
        objects, as_asked = self._store.objects, self._read
        found: list[Any] = [objects[key] for key in keys]
        return found if as_asked is _same else list(map(as_asked, found))


def _same(document: Document) -> Document:
    return document


class Cache:
    """The informers of one program, one store per resource (and selection of it).

    namespace: the only one that is read of resources that have namespaces; "" for all. What comes
    over a network is kept without what nobody reads (`kapy.engine.trimming`).
    """

    def __init__(
        self, client: Client, *, random: Random | None = None, namespace: str = ""
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._random = random or Random()
        self._trims = over_network(client.transport)
        self._informers: dict[tuple[Any, _Selected], Informer[Any]] = {}
        self._stores: dict[Resource, dict[_Selected, Store]] = {}
        self._reflectors: list[Reflector] = []
        self._group: asyncio.TaskGroup | None = None

    @overload
    def informer(self, kind: type[O], *, labels: str = "") -> Informer[O]: ...
    @overload
    def informer(
        self, kind: Resource, *, labels: str = "", fields: str = "", metadata: bool = False
    ) -> Informer[Document]: ...
    def informer(
        self, kind: Any, *, labels: str = "", fields: str = "", metadata: bool = False
    ) -> Any:
        """The informer of a kind: made for the first caller, started by (or during) `run`.

        The typed and the untyped informer of one resource share what they hold. fields: a field
        selector; what does not change in an object, as a write's answer is not checked by it.
        metadata: only that is read of the objects, the rest may or may not be there.
        """
        selected = _Selected(labels, fields, metadata)
        found = self._informers.get((kind, selected))
        if found is None:
            resource = kind if isinstance(kind, Resource) else kind.RESOURCE
            found = Informer(kind, self._store(resource, selected))
            self._informers[(kind, selected)] = found
        return found

    def observe(self, resource: Resource, document: Document) -> None:
        """Take in what a write of ours returned."""
        if self._namespace and document["metadata"].get("namespace", "") not in (
            "",
            self._namespace,
        ):
            return
        stores = self._stores.get(resource)
        if stores is not None:
            for selected, store in stores.items():
                if not selected.fields or Key.of(document) in store.objects:
                    store.observe(document)

    def newest(self, resource: Resource, key: Key) -> Document | None:
        """The object as it is known, None when it is not there or not cached."""
        for selected, store in self._stores.get(resource, {}).items():
            if not selected.metadata and (found := store.objects.get(key)) is not None:
                return found
        return None

    async def synced(self) -> None:
        """Wait until every informer that was asked for has its first list."""
        for stores in tuple(self._stores.values()):
            for store in tuple(stores.values()):
                await store.synced()

    async def tried(self, resource: Resource) -> None:
        """Wait until all of a resource that was asked for is in, or it is known why it cannot be.

        Returns at once where nobody reads it: before `run`, or after.
        """
        if self._group is not None:
            for reflector in self._reflectors:
                if reflector.resource == resource:
                    await reflector.tried()

    def unsynced(self) -> list[Resource]:
        """The resources whose first list is not in."""
        every = self._stores.items()
        return [what for what, stores in every if not all(s.is_synced for s in stores.values())]

    def failures(self) -> Iterator[tuple[Resource, Exception]]:
        """What cannot be read at the moment, and why."""
        for one in self._reflectors:
            if one.failure is not None:
                yield one.resource, one.failure

    async def run(self) -> None:
        """Keep all informers up to date, those asked for later too; until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for reflector in self._reflectors:
                    group.create_task(reflector.run(), name=str(reflector))
                await asyncio.get_running_loop().create_future()
            finally:
                self._group = None  # before the group ends, which takes no more tasks from then on

    def _store(self, resource: Resource, selected: _Selected) -> Store:
        stores = self._stores.setdefault(resource, {})
        store = stores.get(selected)
        if store is None:
            labels, fields, metadata = selected
            trim = trim_of(resource, metadata=metadata) if self._trims else None
            store = stores[selected] = Store(parse_labels(labels) if labels else None, trim)
            reflector = Reflector(
                self._client,
                resource,
                store,
                self._random,
                labels=labels,
                fields=fields,
                namespace=self._namespace if resource.namespaced else "",
                metadata=metadata and self._trims,
            )
            reflector.trim = trim
            reflector.recovered = self._hurry
            self._reflectors.append(reflector)
            if resource == CRDS:
                store.subscribe(self._served)
            if self._group is not None:
                # It outlives what it was asked for in.
                self._group.create_task(reflector.run(), name=str(reflector), context=Context())
        return store

    def _hurry(self, was: Exception) -> None:
        """What kept one resource from being read is over: so it is for all that it kept."""
        for reflector in self._reflectors:
            failure = reflector.failure
            if type(failure) is type(was) and str(failure) == str(was):
                reflector.hurry()

    def _served(self, change: Change) -> None:
        """A CRD came, or changed: its objects may be readable now."""
        if change.new is None or change.initial:
            return
        name = change.new["metadata"]["name"]
        for reflector in self._reflectors:
            if reflector.failure is not None and reflector.resource.group_resource == name:
                reflector.hurry()


class _Selected(NamedTuple):
    """What is read of a resource."""

    labels: str
    fields: str
    metadata: bool
