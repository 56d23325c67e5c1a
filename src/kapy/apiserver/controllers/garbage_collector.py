"""Garbage collection: delete objects whose owners are gone, like kube-controller-manager.

Store events drive it. An index of dependents by owner finds the objects that an event affects, so
nothing is polled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from kapy._aio.cooperation import Cooperation
from kapy.apiserver.controllers.work_queue import ObjectKey, WorkQueue
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.metadata import format_time
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs import delete
from kapy.apiserver.verbs.context import ServerContext
from kapy.kube import Document
from kapy.kube.apply import Write
from kapy.kube.errors import ApiError, Conflict, NotFound
from kapy.kube.http import Request, User
from kapy.kube.names import split_api_version

COLLECTOR = User(
    "system:serviceaccount:kube-system:generic-garbage-collector",
    ("system:serviceaccounts", "system:masters", "system:authenticated"),
)
FOREGROUND, ORPHAN = delete.FOREGROUND, delete.ORPHAN


class GarbageCollector:
    """The garbage collector of one server; `run` works until it is cancelled."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._queue = WorkQueue()
        self._dependents: dict[str, dict[ObjectKey, bool]] = {}
        """The owners of an object by uid, and whether they block foreground deletion."""
        self._alive: dict[str, ObjectKey] = {}

    async def run(self) -> None:
        """Process all objects once, then every change."""
        self._server.store.listeners.append(self._on_write)
        try:
            await self._index_all()
            while True:
                await self._process(await self._queue.get())
        finally:
            self._server.store.listeners.remove(self._on_write)

    async def _index_all(self) -> None:
        """Index the objects that exist, and let other tasks run after some of them."""
        cooperation = Cooperation()
        for table in self._server.store.tables():
            for namespace in list(table.namespaces):
                for name in list(table.namespaces.get(namespace, ())):
                    metadata = table.head(namespace, name)
                    if metadata is not None:
                        self._index(ObjectKey(table.name, namespace, name), metadata)
                    await cooperation.step()

    def _index(self, place: ObjectKey, meta: Document) -> None:
        self._alive[meta["uid"]] = place
        for owner, blocks in _owners(meta).items():
            self._dependents.setdefault(owner, {})[place] = blocks
        if meta.get("ownerReferences") or _is_waiting_for_dependents(meta):
            self._queue.add(place)

    def _on_write(self, event: WriteEvent) -> None:
        place = ObjectKey(event.table, event.namespace, event.name)
        previous, meta = event.previous, event.document["metadata"]
        was = {} if previous is None else previous["metadata"]
        if event.change == "DELETED":
            self._alive.pop(meta["uid"], None)
            for owner in _owners(was):
                self._remove_dependent(owner, place)
            for dependent in self._dependents.get(meta["uid"], ()):
                self._queue.add(dependent)
        elif was.get("uid") != meta["uid"]:
            self._index(place, meta)
        elif self._update_owners(place, was, meta) or _is_waiting_for_dependents(meta):
            self._queue.add(place)

    def _update_owners(self, place: ObjectKey, was: Document, meta: Document) -> bool:
        """Index the owners of an object; return whether they changed."""
        if meta.get("ownerReferences") is was.get("ownerReferences"):
            return False
        before, after = _owners(was), _owners(meta)
        if after != before:
            for owner in before.keys() - after.keys():
                self._remove_dependent(owner, place)
            for owner, blocks in after.items():
                self._dependents.setdefault(owner, {})[place] = blocks
        return after.keys() != before.keys()

    def _remove_dependent(self, owner: str, place: ObjectKey) -> None:
        dependent = self._dependents.get(owner)
        if dependent is not None:
            dependent.pop(place, None)
            if not dependent:
                del self._dependents[owner]
        waiting = self._alive.get(owner)
        if waiting is not None:
            self._queue.add(waiting)

    def _read(self, place: ObjectKey) -> Document | None:
        table = self._server.store.peek(place.table)
        return None if table is None else table.latest(place.namespace, place.name)

    async def _process(self, place: ObjectKey) -> None:
        document = self._read(place)
        kind = self._server.registry.in_table(place.table)
        if document is None or kind is None:
            return
        meta = document["metadata"]
        finalizers = meta.get("finalizers") or ()
        if meta.get("deletionTimestamp"):
            if ORPHAN in finalizers:
                self._orphan_dependents(kind, place, document)
            elif FOREGROUND in finalizers:
                self._delete_dependents(kind, place, document)
            return
        if meta.get("ownerReferences"):
            await self._process_owners(kind, place, document)

    def _orphan_dependents(self, kind: Kind, place: ObjectKey, document: Document) -> None:
        """Remove the object from the owner references of its dependents, then let it be deleted."""
        uid = document["metadata"]["uid"]
        for dependent in list(self._dependents.get(uid, ())):
            self._remove_owner_references(dependent, {uid})
        self._remove_finalizer(kind, place, ORPHAN)

    def _delete_dependents(self, kind: Kind, place: ObjectKey, document: Document) -> None:
        """Delete the dependents; let the object be deleted when no blocking dependent is left."""
        uid = document["metadata"]["uid"]
        blocking = False
        for dependent, blocks in list(self._dependents.get(uid, {}).items()):
            result = self._read(dependent)
            if result is None:
                continue
            if not _is_waiting_for_dependents(
                result["metadata"]
            ):  # prevents a loop of objects that own each other
                self._queue.add(dependent)
            blocking = blocking or blocks
        if not blocking:
            self._remove_finalizer(kind, place, FOREGROUND)

    def _remove_finalizer(self, kind: Kind, place: ObjectKey, finalizer: str) -> None:
        document = self._read(place)
        if document is None:
            return
        finalizers = document["metadata"].get("finalizers") or []
        self._update_metadata(
            kind, place, document, finalizers=[item for item in finalizers if item != finalizer]
        )

    def _remove_owner_references(self, place: ObjectKey, uids: Iterable[str]) -> None:
        document = self._read(place)
        kind = self._server.registry.in_table(place.table)
        if document is None or kind is None:
            return
        owners = document["metadata"].get("ownerReferences") or []
        owner_references = [owner for owner in owners if owner["uid"] not in uids]
        self._update_metadata(kind, place, document, ownerReferences=owner_references)

    def _update_metadata(
        self, kind: Kind, place: ObjectKey, document: Document, **changes: Any
    ) -> None:
        """Store an object with changed metadata (empty lists are removed), or delete it."""
        server = self._server
        meta = {**document["metadata"], **changes}
        meta = {key: value for key, value in meta.items() if key not in changes or value}
        new = {**document, "metadata": meta}
        api_version = document["apiVersion"]
        write = Write("kube-controller-manager", api_version, format_time(server.clock()))
        new = kind.schema.tracker.track(document, new, write)
        new = {**new, "metadata": {**new["metadata"]}}
        table = server.store.table(place.table)
        if meta.get("deletionTimestamp") and not meta.get("finalizers"):
            server.store.delete(table, place.namespace, place.name, document)
        else:
            server.store.put(table, place.namespace, place.name, new)

    async def _process_owners(self, kind: Kind, place: ObjectKey, document: Document) -> None:
        """Keep, disown or delete an object according to the state of its owners."""
        owners = document["metadata"]["ownerReferences"]
        states = [(self._owner_state(place, owner), owner["uid"]) for owner in owners]
        uids = {uid for state, uid in states if state == "gone"}
        waiting = {uid for state, uid in states if state == "waiting"}
        if any(state == "solid" for state, _ in states):
            if uids or waiting:
                self._remove_owner_references(place, uids | waiting)
            return
        if uids or waiting:
            policy = "Background"
            uid = document["metadata"]["uid"]
            if waiting and any(self._has_blocking_dependents(uid)):
                policy = "Foreground"
                if self._has_waiting_dependent(uid):
                    document = self._clear_block_owner_deletion(kind, place, document)
            await self._delete(kind, place, document, policy)

    def _has_blocking_dependents(self, uid: str) -> Iterator[bool]:
        for dependent, blocks in self._dependents.get(uid, {}).items():
            yield blocks and self._read(dependent) is not None

    def _has_waiting_dependent(self, uid: str) -> bool:
        """Report whether a dependent of a deleted object itself waits for its dependents."""
        result = (self._read(object_key) for object_key in self._dependents.get(uid, ()))
        return any(
            item is not None and _is_waiting_for_dependents(item["metadata"]) for item in result
        )

    def _clear_block_owner_deletion(
        self, kind: Kind, place: ObjectKey, document: Document
    ) -> Document:
        """Clear blockOwnerDeletion, so that the owners can be deleted before the object."""
        owners = [
            {**reference, "blockOwnerDeletion": False}
            if reference.get("blockOwnerDeletion")
            else reference
            for reference in document["metadata"]["ownerReferences"]
        ]
        self._update_metadata(kind, place, document, ownerReferences=owners)
        for owner in owners:
            if (waiting := self._alive.get(owner["uid"])) is not None:
                self._queue.add(waiting)
        return self._read(place) or document

    def _owner_state(self, place: ObjectKey, owner: Document) -> str:
        """Return the state of an owner: `solid`, `waiting` (in foreground deletion) or `gone`.

        An owner that cannot be looked up counts as solid: its kind is not served, or it is
        namespaced and the dependent is cluster-scoped.
        """
        group, version = split_api_version(owner["apiVersion"])
        kind = self._server.registry.find_kind(group, version, owner["kind"])
        if kind is None or (kind.namespaced and not place.namespace):
            return "solid"
        object_key = self._alive.get(owner["uid"])
        namespace = place.namespace if kind.namespaced else ""
        if object_key != ObjectKey(kind.table, namespace, owner["name"]):
            return "gone"
        document = self._read(object_key)
        if document is None:
            return "gone"
        meta = document["metadata"]
        deleting = meta.get("deletionTimestamp") and FOREGROUND in (meta.get("finalizers") or ())
        return "waiting" if deleting else "solid"

    async def _delete(self, kind: Kind, place: ObjectKey, document: Document, policy: str) -> None:
        options: Document = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": policy,
            "preconditions": {"uid": document["metadata"]["uid"]},
        }
        path = kind.resource.path(place.namespace, place.name)
        request = Request("DELETE", path, body=options, user=COLLECTOR)
        context = RequestContext(
            request, COLLECTOR, "delete", kind, place.namespace, place.name, ""
        )
        try:
            await delete.delete(self._server, context)
        except (Conflict, NotFound):
            return  # changed meanwhile: its next event queues it again
        except ApiError:
            self._queue.add_after(place)


def _owners(meta: Document) -> dict[str, bool]:
    """Return the uids of an object's owners, and whether the object blocks their deletion."""
    owners: dict[str, bool] = {}
    for reference in meta.get("ownerReferences") or ():
        owners[reference["uid"]] = owners.get(reference["uid"], False) or bool(
            reference.get("blockOwnerDeletion")
        )
    return owners


def _is_waiting_for_dependents(meta: Document) -> bool:
    finalizers = meta.get("finalizers") or ()
    return bool(meta.get("deletionTimestamp")) and (
        FOREGROUND in finalizers or ORPHAN in finalizers
    )
