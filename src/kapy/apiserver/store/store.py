"""The store: all objects, one revision counter, group commit and watchers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from kapy._aio.clock import Clock, system_clock
from kapy.apiserver.store.commit import Commit
from kapy.apiserver.store.errors import ObjectTooLarge, StoreDamaged, StoreError
from kapy.apiserver.store.schema import checksum
from kapy.apiserver.store.stored_object import StoredObject, share_field_sets
from kapy.apiserver.store.table import Place, Table
from kapy.apiserver.store.watch_cache import WatchCache, WriteEvent
from kapy.apiserver.store.watcher import Matcher, Watcher, WatchEvent
from kapy.kube import Document
from kapy.kube.idle_keys import IdleKeys
from kapy.kube.packed_json import Packer

if TYPE_CHECKING:
    from kapy.apiserver.store.sqlite import Row, SqliteLog, Synchronous

_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode

MEMORY_HISTORY = 256 * 1024
DURABLE_HISTORY = 16 * 1024 * 1024
"""The memory limit of the history in bytes, for a store in memory and for one on disk."""

COMPACTION_SECONDS = 300.0
"""The interval at which the history drops entries older than one interval."""

RETRY_SECONDS = 1.0
"""Seconds after a failed write until the store probes whether writes work again."""

FIRST_REVISION = 100
"""The first revision of a new store. As in a real cluster, small numbers are always in the past."""


class Store:
    """All objects of one server.

    Reads (`get`, `table(...).scan`) return committed state. `put` and `delete` stage a write: later
    writes see it at once (`latest`), readers and watchers see it after the commit, which
    `committed()` waits for. Without a log, staging commits at once.

    After a failed write, `failure` holds the reason until a write succeeds; nothing of the failed
    write becomes visible.
    """

    __slots__ = (
        "_batch",
        "_broken",
        "_done",
        "_flight",
        "_idle",
        "_log",
        "_next",
        "_retry",
        "_tables",
        "_trouble",
        "history",
        "last_written",
        "listeners",
        "revision",
    )

    def __init__(self, log: SqliteLog | None = None, *, history: int | None = None) -> None:
        self._log = log
        self._tables: dict[str, Table] = {}
        self._idle = IdleKeys[Place]()
        self.listeners: list[Callable[[WriteEvent], None]] = []
        self._batch: list[WriteEvent] = []
        self._flight: Commit | None = None  # the commit being written
        self._done: Commit | None = None  # the commit that collects writes
        self._broken = ""  # why the store refuses writes for good
        self._trouble = ""  # why writes fail at present
        self._retry: asyncio.TimerHandle | None = None
        self.last_written: datetime | None = None  # before this start
        self.revision = FIRST_REVISION
        if log is not None:
            self._load(log)
        self._next = self.revision
        limit = history or (MEMORY_HISTORY if log is None else DURABLE_HISTORY)
        self.history = WatchCache(limit, self.revision, keeps_json=log is not None)

    @classmethod
    def open(
        cls,
        path: Path | None,
        *,
        synchronous: Synchronous = "NORMAL",
        clock: Clock = system_clock,
        accept_loss: bool = False,
    ) -> Store:
        """Open a store in memory (path None) or in a data directory. Raises StoreError.

        accept_loss: continue if acknowledged writes are missing.
        """
        if path is None:
            return cls()
        from kapy.apiserver.store.sqlite import SqliteLog

        log = SqliteLog(path, synchronous=synchronous, clock=clock, accept_loss=accept_loss)
        try:
            return cls(log)
        except BaseException:
            log.close()
            raise

    def _load(self, log: SqliteLog) -> None:
        if log.mark is not None and log.mark.revision:
            self.last_written = log.mark.moment
        with closing(log.rows()) as rows:
            for table, namespace, name, document, proof in rows:
                self.table(table).put(namespace, name, StoredObject(None, document, proof))
                self.table(table).set_size(namespace, name, len(document))
        self.revision = max(log.begin(), FIRST_REVISION)

    def set_revision(self, revision: int) -> None:
        """Set the revision of an empty store."""
        self.revision = self._next = revision
        self.history.floor = revision

    def table(self, name: str) -> Table:
        """Return the table of a resource; create it if needed."""
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = Table(name, self._idle)
        return table

    def tables(self) -> list[Table]:
        """Return the tables of all resources."""
        return list(self._tables.values())

    def peek(self, name: str) -> Table | None:
        """Return the table of a resource, None if it does not exist yet."""
        return self._tables.get(name)

    def pack_idle(self, packer: Packer) -> Iterator[None]:
        """Compress the objects that were not written or decoded since the previous call.

        A generator: each step compresses one object.
        """
        for place in self._idle.next_pass(self._places):
            stored = self._find(place)
            if stored is not None:
                stored.pack(packer)
            yield

    def _places(self) -> Iterator[Place]:
        for table in self._tables.values():
            for namespace, objects in table.namespaces.items():
                for name in objects:
                    yield Place(table.name, namespace, name)

    def _find(self, place: Place) -> StoredObject | None:
        return self._tables[place.table].namespaces.get(place.namespace, {}).get(place.name)

    @property
    def failure(self) -> str | None:
        """Return the reason why writes are refused, None if they are accepted."""
        return self._broken or self._trouble or None

    # writing

    def put(
        self, table: Table, namespace: str, name: str, document: Document, *, most: int = 0
    ) -> Document:
        """Stage `document`, which the store owns from here, with the next resourceVersion.

        most: the limit of its JSON in bytes, 0 for none. Raises StoreError, ObjectTooLarge.
        """
        before = table.latest_stored(namespace, name)
        revision = self._advance()
        document["metadata"]["resourceVersion"] = str(revision)
        share_field_sets(document, None if before is None else before.document)
        change: Literal["ADDED", "MODIFIED"] = "ADDED" if before is None else "MODIFIED"
        after = StoredObject(document)
        event = WriteEvent(revision, change, table.name, namespace, name, after, before)
        if most:
            encoded = _encode(document)
            event.size = len(encoded)
            if event.size > most:
                self._next -= 1
                raise ObjectTooLarge(event.size, most)
            if self._log is not None:
                after.encoded = encoded
        self._stage(table, event)
        return document

    def delete(self, table: Table, namespace: str, name: str, last: Document) -> Document:
        """Stage a deletion; return the last state with the deletion's resourceVersion."""
        before = table.latest_stored(namespace, name)
        revision = self._advance()
        removal = {**last, "metadata": {**last["metadata"], "resourceVersion": str(revision)}}
        after = StoredObject(removal)
        self._stage(
            table, WriteEvent(revision, "DELETED", table.name, namespace, name, after, before)
        )
        return removal

    def _advance(self) -> int:
        if self._broken:
            raise StoreError(self._broken)
        self._next += 1
        return self._next

    def _stage(self, table: Table, event: WriteEvent) -> None:
        if self._log is None:
            self.revision = event.revision
            self._publish(table, event)
            return
        table.staged[event.namespace, event.name] = (
            None if event.change == "DELETED" else event.after
        )
        self._batch.append(event)
        if self._done is None:
            self._done = Commit()
            if self._flight is None:
                asyncio.get_running_loop().call_soon(self._flush)

    def _publish(self, table: Table, event: WriteEvent) -> None:
        """Make a committed write visible to readers, then send it to all watchers."""
        if event.change == "DELETED":
            table.remove(event.namespace, event.name)
        else:
            event.after.is_final = True
            table.put(event.namespace, event.name, event.after)
        if not event.size:
            event.size = len(_encode(event.document))
        table.set_size(event.namespace, event.name, 0 if event.change == "DELETED" else event.size)
        self.history.add(event)
        for watcher in table.watchers:
            watcher.dispatch(event)
        for listener in list(self.listeners):
            try:
                listener(event)
            except Exception:  # an error in one controller must not undo a write
                _log.exception("a listener of the store failed")
        if event.before is not None:
            event.before.drop_document()

    async def wait_for_commit(self) -> None:
        """Wait until all staged writes are on disk. Raises StoreError if they could not be
        written.
        """
        waiting = self._done or self._flight
        if waiting is not None:
            await waiting.wait()

    def _flush(self) -> None:
        """Commit the writes of this event loop iteration.

        With `synchronous=FULL` a thread does this, because it waits for the disk.
        """
        log, done = self._log, self._done
        if log is None or done is None:
            return
        batch, self._batch, self._done = self._batch, [], None
        rows = [self._row(write_event) for write_event in batch]
        if log.synchronous == "FULL":
            self._flight = done
            future = asyncio.get_running_loop().run_in_executor(
                None, log.write, rows, batch[-1].revision
            )
            future.add_done_callback(
                lambda written: self._on_flushed(batch, done, written.exception())
            )
            return
        try:
            log.write(rows, batch[-1].revision)
        except StoreError as error:
            self._complete(batch, done, error)
        else:
            self._complete(batch, done, None)

    @staticmethod
    def _row(event: WriteEvent) -> Row:
        encoded = event.after.encoded = event.after.encoded or _encode(event.document)
        event.size = len(encoded)
        before = None if event.before is None else event.before.checksum
        if event.change == "DELETED":
            return event.table, event.namespace, event.name, None, 0, before
        proof = event.after.checksum = checksum(event.table, event.namespace, event.name, encoded)
        return event.table, event.namespace, event.name, encoded, proof, before

    def _on_flushed(
        self, batch: list[WriteEvent], done: Commit, error: BaseException | None
    ) -> None:
        self._flight = None
        self._complete(batch, done, error)
        if self._done is not None:
            self._flush()

    def _complete(self, batch: list[WriteEvent], done: Commit, error: BaseException | None) -> None:
        if error is not None:
            self._drop_staged(done, error)
            return
        self._trouble = ""
        for write_event in batch:
            table = self._tables[write_event.table]
            self.revision = write_event.revision
            key = (write_event.namespace, write_event.name)
            if table.staged.get(key, write_event) is (
                None if write_event.change == "DELETED" else write_event.after
            ):
                del table.staged[key]
            self._publish(table, write_event)
        done.settle()

    def _drop_staged(self, done: Commit, error: BaseException) -> None:
        """Drop a failed batch and all writes that were staged after it."""
        failure = error if isinstance(error, StoreError) else StoreError(str(error))
        self._set_failure(failure)
        waiting = self._done
        self._batch, self._done = [], None
        for table in self._tables.values():
            table.staged.clear()
        done.settle(failure)
        if waiting is not None:
            waiting.settle(failure)

    def _set_failure(self, failure: StoreError) -> None:
        if not self._trouble:
            _log.error("%s", failure)
        self._trouble = str(failure)
        if isinstance(failure, StoreDamaged):
            self._broken = self._trouble
        elif self._retry is None and not self._broken:
            # A timer: nothing signals that disk space or a lock is free again.
            self._retry = asyncio.get_running_loop().call_later(RETRY_SECONDS, self._probe)

    def _probe(self) -> None:
        """Try an empty write, so that an idle server becomes ready again after a failure."""
        self._retry = None
        if self._log is None or not self._trouble or self._broken or self._flight is not None:
            return
        try:
            self._log.write([], self.revision)
        except StoreError as error:
            self._set_failure(error)
        else:
            self._trouble = ""
            _log.warning("the store can be written to again")

    # metadata of the store

    def put_meta(self, key: str, value: str) -> None:
        """Store a value under a key at once. A store in memory drops it. Raises StoreError."""
        if self._log is not None:
            self._log.put_meta(key, value)

    def get_meta(self, key: str) -> str:
        """Return a value stored on disk by `put_meta`, "" if there is none. Raises StoreError."""
        return "" if self._log is None else self._log.get_meta(key)

    # watching

    def watch(
        self, table: Table, namespace: str, name: str, match: Matcher | None, since: int
    ) -> Watcher:
        """Open a Watcher that gets the events after `since` (not below `history.floor`) and all
        later ones.
        """
        watcher = Watcher(namespace, name, match, since)
        for happening in self.history.since(table.name, since):
            watcher.dispatch(happening)
        table.watchers.append(watcher)
        return watcher

    def unwatch(self, table: Table, watcher: Watcher) -> None:
        """Close a Watcher of a table."""
        watcher.close()
        if watcher in table.watchers:
            table.watchers.remove(watcher)

    def bookmark(self, revision: int) -> None:
        """Send a bookmark to every watcher that knows only of earlier revisions.

        The reader fills in kind and apiVersion.
        """
        for table in self._tables.values():
            for watcher in table.watchers:
                if watcher.revision >= revision:
                    continue  # thousands of idle watches would read each minute what they know
                document: Document = {"metadata": {"resourceVersion": str(revision)}}
                watcher.push(WatchEvent("BOOKMARK", document, revision))

    async def run_compaction(self) -> None:
        """Drop history that is 5 to 10 minutes old, like kube-apiserver's compaction of etcd.

        This runs on a timer, because the purpose is a limit on age.
        """
        while True:
            last = self.revision
            await asyncio.sleep(COMPACTION_SECONDS)
            # A restore may have set the revision back meanwhile.
            self.history.compact(min(last, self.revision))

    def close(self) -> None:
        """Commit staged writes, close all watchers, and close the file."""
        self._broken = self._broken or "the server is stopping"
        if self._log is not None:
            self._finish(self._log)
            self._log = None
        for table in self._tables.values():
            for watcher in list(table.watchers):
                self.unwatch(table, watcher)
        if self._retry is not None:
            self._retry.cancel()

    def _finish(self, log: SqliteLog) -> None:
        """Write the remaining staged writes and close the file."""
        batch, done, self._batch, self._done = self._batch, self._done, [], None
        if batch and done is not None:
            try:
                log.write([self._row(write_event) for write_event in batch], batch[-1].revision)
            except StoreError as error:
                self._drop_staged(done, error)
            else:
                self._complete(batch, done, None)
        log.close()
