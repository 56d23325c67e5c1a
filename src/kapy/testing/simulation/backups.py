"""Backups of an API server in a simulation, and a restore that loses what was written since."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from kapy.apiserver.store.store import Store
from kapy.apiserver.store.stored_object import StoredObject
from kapy.apiserver.store.watch_cache import Change, WatchCache, WriteEvent
from kapy.kube import Document

AGE: Final = 5.0
"""The age in seconds of a backup when it is restored."""
BACK: Final = 10_000
"""The number by which resourceVersions go back. It exceeds the writes of a scenario, so that no
watch can continue at a former resourceVersion."""


_OPPOSITE: Final[Mapping[str, Change]] = {
    "ADDED": "DELETED",
    "MODIFIED": "MODIFIED",
    "DELETED": "ADDED",
}


class _Written(NamedTuple):
    """One write to the store. before: the object before the write, None for a new one."""

    time: float
    event: WriteEvent
    before: Document | None


class Loss(NamedTuple):
    """The result of a restore that has lost writes. since: the time of the backup. objects: the
    lost objects, in their last state."""

    since: float
    objects: Sequence[Document]


class Backups:
    """Keeps the writes of the last seconds, so that a restore can undo them. clock: returns the
    time in seconds. is_undoing: whether a restore is in progress, which reports undone writes to
    the listeners of the store. has_lost: whether a restore has lost any write."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._written: deque[_Written] = deque()
        self.is_undoing = False
        self.has_lost = False
        store.listeners.append(self._on_write)

    def begin(self) -> None:
        """Drop the kept writes: no restore goes back to an earlier time."""
        self._written.clear()

    def rewind(self) -> None:
        """Restore a backup without any lost write: the objects stay, but their resourceVersions are
        lower."""
        self._written = deque(
            written._replace(before=None if written.before is None else older(written.before))
            for written in self._written
        )
        rewind(self._store)

    def _on_write(self, event: WriteEvent) -> None:
        if self.is_undoing:
            return
        now = self._clock()
        self._written.append(_Written(now, event, event.previous))
        while self._written[0].time < now - AGE:
            self._written.popleft()

    def restore(self) -> Loss:
        """Restore a backup of some seconds ago: later writes are lost, and the resourceVersions are
        lower."""
        since, vanished = self._clock() - AGE, []
        self.is_undoing = self.has_lost = True
        while self._written and self._written[-1].time >= since:
            written = self._written.pop()
            self._undo(written)
            if written.before is None:
                vanished.append(written.event.document)
        self._written.clear()
        self.is_undoing = False
        rewind(self._store)
        return Loss(since, [document for document in vanished if not self._exists(document)])

    def _undo(self, written: _Written) -> None:
        """Undo a write. The listeners of the store receive the opposite event."""
        store, event, before = self._store, written.event, written.before
        table = store.table(event.table)
        after, change = event.after, _OPPOSITE[event.change]
        if before is None:
            table.remove(event.namespace, event.name)
        else:
            after = StoredObject(before)
            table.put(event.namespace, event.name, after)
        was = None if event.change == "DELETED" else event.after
        opposite = WriteEvent(
            event.revision, change, event.table, event.namespace, event.name, after, was
        )
        for listener in list(store.listeners):
            listener(opposite)

    def _exists(self, document: Document) -> bool:
        uid = document["metadata"]["uid"]
        return any(
            stored.document is not None and stored.document["metadata"]["uid"] == uid
            for table in self._store.tables()
            for objects in table.namespaces.values()
            for stored in objects.values()
        )


def older(document: Document) -> Document:
    """Return an object with a lower resourceVersion."""
    version = int(document["metadata"]["resourceVersion"]) - BACK
    return {**document, "metadata": {**document["metadata"], "resourceVersion": str(version)}}


def rewind(store: Store) -> None:
    """Restore a store from a backup: it has the same objects with lower resourceVersions, no
    history, and no open watch."""
    for table in store.tables():
        for objects in table.namespaces.values():
            for name, stored in objects.items():
                document = stored.document
                assert document is not None
                objects[name] = StoredObject(older(document))
        for watcher in list(table.watchers):
            watcher.close()
    store.set_revision(store.revision - BACK)
    store.history = WatchCache(store.history.limit, store.revision)
