"""The informer cache: one watched, indexed copy per resource.

An informer never returns an object older than this program's own writes: the answer of every write
goes into the cache at once (`Cache.observe`), a tombstone keeps a late answer from restoring a
deleted object, and a relist never replaces a newer object.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context
from random import Random
from typing import Any, Generic, NamedTuple, TypeVar, overload

from kapy.client.client import Client, over_network
from kapy.engine.reflector import Reflector
from kapy.engine.store import Change as Change
from kapy.engine.store import Handler, IndexValues, Store
from kapy.engine.transform import transform_of
from kapy.kube import Document, Key
from kapy.kube.meta import Object, read
from kapy.kube.names import CRDS, Resource
from kapy.kube.packed_json import Packer
from kapy.kube.renamed import RenamedMember
from kapy.kube.selectors import parse_labels

T = TypeVar("T")
O = TypeVar("O", bound=Object)  # noqa: E741


class Informer(Generic[T]):
    """The objects of one resource, as this program knows them. Reads are plain calls.

    `T` is a Struct for known kinds (each read decodes a private copy) or Document for foreign kinds
    (shared: do not change it).
    """

    __slots__ = ("__weakref__", "_read", "_shared", "_store", "resource")

    indexed = RenamedMember("list_by_index")
    shared = RenamedMember("decode_shared")
    synced = RenamedMember("wait_for_sync")

    def __init__(self, kind: Any, store: Store) -> None:
        foreign = isinstance(kind, Resource)
        self.resource: Resource = kind if foreign else kind.RESOURCE
        self._read: Callable[[Document], Any] = _same if foreign else lambda doc: read(doc, kind)
        self._store = store
        self._shared: dict[Key, tuple[Document, T]] | None = None

    def get(self, key: Key) -> T | None:
        """Return the object, or None if it does not exist."""
        document = self._store.objects.get(key)
        return None if document is None else self._read(document)

    def raw(self, key: Key) -> Document | None:
        """Return the shared document, or None."""
        return self._store.objects.get(key)

    def decode_shared(self, document: Document) -> T:
        """Return one of this informer's documents as its type, decoded once for all readers.

        Do not change it. It is meant for callers that read many objects of which few have changed.
        """
        if self._shared is None:
            self._shared = {}
            self._store.subscribe(self._forget)
            self.when_packed(self._drop_shared)
        metadata = document["metadata"]
        key = Key(metadata.get("namespace", ""), metadata["name"])
        cached = self._shared.get(key)
        if cached is None or cached[0] is not document:
            typed: T = self._read(document)
            if self._store.objects.get(key) is not document:
                return typed  # not the newest state, so do not cache it
            cached = self._shared[key] = document, typed
        return cached[1]

    def _forget(self, change: Change) -> None:
        if change.new is None and self._shared is not None:
            self._shared.pop(Key.of(change.document), None)

    def _drop_shared(self, key: Key) -> None:
        if self._shared is not None:
            self._shared.pop(key, None)

    def when_packed(self, callback: Callable[[Key], None]) -> None:
        """Call `callback` with the key of each document that is packed because nobody read it for a
        while.

        Holders of the document should then drop it, or it stays in memory.
        """
        self._store.objects.on_packed.append(callback)

    def list(self, namespace: str | None = None) -> Sequence[T]:
        """Return all objects (of a namespace), ordered by key."""
        return self._these(self._store.keys(namespace))

    def keys(self) -> Sequence[Key]:
        """Return the keys of all objects, in order."""
        return self._store.keys()

    def add_index(self, name: str, values: IndexValues) -> None:
        """Keep an index; adding the same name again is allowed and does nothing."""
        self._store.add_index(name, values)

    def list_by_index(self, name: str, value: str) -> Sequence[T]:
        """Return the objects that have `value` in the index, ordered by key."""
        return self._these(self._store.list_by_index(name, value))

    def keys_by_index(self, name: str, value: str) -> Sequence[Key]:
        """Return the keys that have `value` in the index, in order. No object is read."""
        return self._store.list_by_index(name, value)

    def subscribe(self, handler: Handler) -> Callable[[], None]:
        """Call `handler` for each existing object and for each later change; return a function that
        unsubscribes.
        """
        return self._store.subscribe(handler)

    async def wait_for_sync(self) -> None:
        """Wait until the first list has arrived."""
        await self._store.wait_for_sync()

    @property
    def is_synced(self) -> bool:
        """Whether the first list has arrived."""
        return self._store.is_synced

    def _these(self, keys: Sequence[Key]) -> Sequence[T]:
        as_asked = self._read
        documents: list[Any] = self._store.objects.of(keys)
        return documents if as_asked is _same else list(map(as_asked, documents))


def _same(document: Document) -> Document:
    return document


class Cache:
    """The informers of one program, one store per resource and selection.

    namespace: the only namespace that is read; "" for all. Objects that come over a network are
    stored without fields that nobody reads (`kapy.engine.transform`).
    """

    tried = RenamedMember("wait_for_first_attempt")

    def __init__(
        self, client: Client, *, random: Random | None = None, namespace: str = ""
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._random = random or Random()
        self._trims = over_network(client.transport)
        self._informers: dict[tuple[Any, _Selection], Informer[Any]] = {}
        self._stores: dict[Resource, dict[_Selection, Store]] = {}
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
        """Return the informer of a kind; it is created for the first caller and started by `run`.

        The typed and the untyped informer of one resource share a store. fields: a field selector;
        it must select by immutable fields, since answers of writes are not checked against it.
        metadata: only the metadata is guaranteed to be read.
        """
        selected = _Selection(labels, fields, metadata)
        result = self._informers.get((kind, selected))
        if result is None:
            resource = kind if isinstance(kind, Resource) else kind.RESOURCE
            result = Informer(kind, self._store(resource, selected))
            self._informers[(kind, selected)] = result
        return result

    def observe(self, resource: Resource, document: Document) -> None:
        """Store the object in the response to this program's own write."""
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

    def progress(self, resource: Resource) -> int:
        """Return the version up to which changes of a resource are known; 0 if it is not cached."""
        stores = self._stores.get(resource)
        return min((store.progress for store in stores.values()), default=0) if stores else 0

    def go_back(self, resource: Resource) -> None:
        """Expect lower versions of a resource, because the server was restored."""
        for store in self._stores.get(resource, {}).values():
            store.rewind()

    def newest(self, resource: Resource, key: Key) -> Document | None:
        """Return the newest known state of an object, None if it does not exist or is not
        cached.
        """
        for selected, store in self._stores.get(resource, {}).items():
            if not selected.metadata and (obj := store.objects.get(key)) is not None:
                return obj
        return None

    async def wait_for_sync(self) -> None:
        """Wait until every requested informer has its first list."""
        for stores in tuple(self._stores.values()):
            for store in tuple(stores.values()):
                await store.wait_for_sync()

    async def wait_for_first_attempt(self, resource: Resource) -> None:
        """Wait until all selections of a resource have their first list or an error.

        Returns at once if nobody reads it: before `run`, or after.
        """
        if self._group is not None:
            for reflector in self._reflectors:
                if reflector.resource == resource:
                    await reflector.wait_for_first_attempt()

    def unsynced_resources(self) -> list[Resource]:
        """Return the resources without a first list."""
        value = self._stores.items()
        return [what for what, stores in value if not all(s.is_synced for s in stores.values())]

    def pack_idle(self, packer: Packer) -> Iterator[None]:
        """Pack the documents that came before the last call, one at each step."""
        for stores in tuple(self._stores.values()):
            for store in tuple(stores.values()):
                yield from store.objects.pack_idle(packer)

    def failures(self) -> Iterator[tuple[Resource, Exception]]:
        """Return the resources that cannot be read at the moment, with the reasons."""
        for reflector in self._reflectors:
            if reflector.failure is not None:
                yield reflector.resource, reflector.failure

    async def run(self) -> None:
        """Keep all informers up to date, including those that are requested later; until
        cancelled.
        """
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for reflector in self._reflectors:
                    group.create_task(reflector.run(), name=str(reflector))
                await asyncio.get_running_loop().create_future()
            finally:
                self._group = None  # before the group ends, which accepts no more tasks then

    def _store(self, resource: Resource, selected: _Selection) -> Store:
        stores = self._stores.setdefault(resource, {})
        store = stores.get(selected)
        if store is None:
            labels, fields, metadata = selected
            trim = transform_of(resource, metadata=metadata) if self._trims else None
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
            if trim is not None:
                reflector.transform, reflector.is_known = store.reduce, store.knows
            reflector.recovered = self._retry_all
            self._reflectors.append(reflector)
            if resource == CRDS:
                store.subscribe(self._on_crd_change)
            if self._group is not None:
                # Independent of the caller's context, which it outlives.
                self._group.create_task(reflector.run(), name=str(reflector), context=Context())
        return store

    def _retry_all(self, was: Exception) -> None:
        """Retry all failed reflectors at once, since the failure of one with the same cause has
        ended.
        """
        for reflector in self._reflectors:
            failure = reflector.failure
            if type(failure) is type(was) and str(failure) == str(was):
                reflector.retry_if_due()

    def _on_crd_change(self, change: Change) -> None:
        """Retry reflectors of a resource whose CRD was created or changed."""
        if change.new is None or change.initial:
            return
        name = change.new["metadata"]["name"]
        for reflector in self._reflectors:
            if reflector.failure is not None and reflector.resource.group_resource == name:
                reflector.retry_now()


class _Selection(NamedTuple):
    """A resource and the selection of its objects."""

    labels: str
    fields: str
    metadata: bool
