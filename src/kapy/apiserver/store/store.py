"""The store: every object, one revision counter, group commit, and the feeds of what changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from kapy._aio.clock import Clock, system_clock
from kapy.apiserver.store.commit import Commit
from kapy.apiserver.store.errors import ObjectTooLarge, StoreDamaged, StoreError
from kapy.apiserver.store.feed import Feed, Matcher, Notice
from kapy.apiserver.store.history import Happening, History
from kapy.apiserver.store.schema import checksum
from kapy.apiserver.store.stored import Stored, with_shared_fields
from kapy.apiserver.store.table import Table
from kapy.kube import Document

if TYPE_CHECKING:
    from kapy.apiserver.store.sqlite import Row, SqliteLog, Synchronous

_log = logging.getLogger(__name__)
_encode = msgspec.json.Encoder().encode

MEMORY_HISTORY = 256 * 1024
DURABLE_HISTORY = 16 * 1024 * 1024
"""Bytes of memory that the history may hold, of a store in memory and of one on disk."""

COMPACTION_SECONDS = 300.0
"""Every so often the history forgets what was old already the last time."""

RETRY_SECONDS = 1.0
"""How long after a write that failed the next one is tried, if nobody writes meanwhile."""

FIRST_REVISION = 100
"""Where a new store begins: as on a real server, low numbers are always in the past."""


class Store:
    """All objects of one server.

    Reads (`get`, `table(...).scan`) see what is committed. A write is staged with `put` or
    `delete`: later writes see it at once (`latest`), readers and watchers when it is committed,
    which `committed()` waits for. Without a log, staging is committing.

    When a write fails, `failure` says why until one succeeds: what was read stays true, and nothing
    of what failed is ever seen.
    """

    __slots__ = (
        "_batch",
        "_broken",
        "_done",
        "_flight",
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
        self.listeners: list[Callable[[Happening], None]] = []
        self._batch: list[Happening] = []
        self._flight: Commit | None = None  # what is being written
        self._done: Commit | None = None  # what is collected
        self._broken = ""  # why nothing is written any more
        self._trouble = ""  # why nothing can be written now
        self._retry: asyncio.TimerHandle | None = None
        self.last_written: datetime | None = None  # before this start
        self.revision = FIRST_REVISION
        if log is not None:
            self._load(log)
        self._next = self.revision
        limit = history or (MEMORY_HISTORY if log is None else DURABLE_HISTORY)
        self.history = History(limit, self.revision)

    @classmethod
    def open(
        cls,
        path: Path | None,
        *,
        synchronous: Synchronous = "NORMAL",
        clock: Clock = system_clock,
        accept_loss: bool = False,
    ) -> Store:
        """A store in memory (None) or in a data directory. Raises StoreError.

        accept_loss: go on with what is there where acknowledged writes are missing.
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
                self.table(table).put(namespace, name, Stored(None, document, proof))
                self.table(table).measure(namespace, name, len(document))
        self.revision = max(log.begin(), FIRST_REVISION)

    def begin_at(self, revision: int) -> None:
        """Count from `revision` on; for a store that has nothing in it yet."""
        self.revision = self._next = revision
        self.history.floor = revision

    def table(self, name: str) -> Table:
        """The table of a resource, made when it is first asked for."""
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = Table(name)
        return table

    def tables(self) -> list[Table]:
        """All tables that there are."""
        return list(self._tables.values())

    def peek(self, name: str) -> Table | None:
        """The table of a resource if anything was ever put into it."""
        return self._tables.get(name)

    @property
    def failure(self) -> str | None:
        """Why writes are refused, None while they are not."""
        return self._broken or self._trouble or None

    # writing

    def put(
        self, table: Table, namespace: str, name: str, document: Document, *, most: int = 0
    ) -> Document:
        """Stage `document` (which the store owns from here) with the next resourceVersion.

        most: bytes of JSON that it may have, 0: any number. Raises StoreError, ObjectTooLarge.
        """
        before = table.newest(namespace, name)
        revision = self._advance()
        document["metadata"]["resourceVersion"] = str(revision)
        with_shared_fields(document, None if before is None else before.document)
        change: Literal["ADDED", "MODIFIED"] = "ADDED" if before is None else "MODIFIED"
        after = Stored(document)
        one = Happening(revision, change, table.name, namespace, name, after, before)
        if most:
            encoded = _encode(document)
            one.size = len(encoded)
            if one.size > most:
                self._next -= 1
                raise ObjectTooLarge(one.size, most)
            if self._log is not None:
                after.encoded = encoded
        self._stage(table, one)
        return document

    def delete(self, table: Table, namespace: str, name: str, last: Document) -> Document:
        """Stage a deletion; returns the last state with the deletion's resourceVersion."""
        before = table.newest(namespace, name)
        revision = self._advance()
        gone = {**last, "metadata": {**last["metadata"], "resourceVersion": str(revision)}}
        after = Stored(gone)
        self._stage(
            table, Happening(revision, "DELETED", table.name, namespace, name, after, before)
        )
        return gone

    def _advance(self) -> int:
        if self._broken:
            raise StoreError(self._broken)
        self._next += 1
        return self._next

    def _stage(self, table: Table, one: Happening) -> None:
        if self._log is None:
            self.revision = one.revision
            self._publish(table, one)
            return
        table.staged[one.namespace, one.name] = None if one.change == "DELETED" else one.after
        self._batch.append(one)
        if self._done is None:
            self._done = Commit()
            if self._flight is None:
                asyncio.get_running_loop().call_soon(self._flush)

    def _publish(self, table: Table, one: Happening) -> None:
        """Make a committed write visible, then tell everybody."""
        if one.change == "DELETED":
            table.remove(one.namespace, one.name)
        else:
            table.put(one.namespace, one.name, one.after)
        if not one.size:
            one.size = len(_encode(one.document))
        table.measure(one.namespace, one.name, 0 if one.change == "DELETED" else one.size)
        self.history.add(one)
        for feed in table.feeds:
            feed.offer(one)
        for listener in list(self.listeners):
            try:
                listener(one)
            except Exception:  # a fault of one controller must not take a write back
                _log.exception("a listener of the store failed")
        if one.before is not None:
            one.before.cool()

    async def committed(self) -> None:
        """Wait until everything staged so far is on disk. Raises StoreError when it is not."""
        waiting = self._done or self._flight
        if waiting is not None:
            await waiting.wait()

    def _flush(self) -> None:
        """Commit what this loop iteration staged: on the loop, or with FULL in a thread."""
        log, done = self._log, self._done
        if log is None or done is None:
            return
        batch, self._batch, self._done = self._batch, [], None
        rows = [self._row(one) for one in batch]
        if log.synchronous == "FULL":
            self._flight = done
            future = asyncio.get_running_loop().run_in_executor(
                None, log.write, rows, batch[-1].revision
            )
            future.add_done_callback(
                lambda written: self._written(batch, done, written.exception())
            )
            return
        try:
            log.write(rows, batch[-1].revision)
        except StoreError as error:
            self._settle(batch, done, error)
        else:
            self._settle(batch, done, None)

    @staticmethod
    def _row(one: Happening) -> Row:
        encoded = one.after.encoded = one.after.encoded or _encode(one.document)
        one.size = len(encoded)
        before = None if one.before is None else one.before.proof
        if one.change == "DELETED":
            return one.table, one.namespace, one.name, None, 0, before
        proof = one.after.proof = checksum(one.table, one.namespace, one.name, encoded)
        return one.table, one.namespace, one.name, encoded, proof, before

    def _written(self, batch: list[Happening], done: Commit, error: BaseException | None) -> None:
        self._flight = None
        self._settle(batch, done, error)
        if self._done is not None:
            self._flush()

    def _settle(self, batch: list[Happening], done: Commit, error: BaseException | None) -> None:
        if error is not None:
            self._refuse(done, error)
            return
        self._trouble = ""
        for one in batch:
            table = self._tables[one.table]
            self.revision = one.revision
            key = (one.namespace, one.name)
            if table.staged.get(key, one) is (None if one.change == "DELETED" else one.after):
                del table.staged[key]
            self._publish(table, one)
        done.settle()

    def _refuse(self, done: Commit, error: BaseException) -> None:
        """Nothing of the batch was written: forget it, and what was staged on top of it."""
        failure = error if isinstance(error, StoreError) else StoreError(str(error))
        self._note(failure)
        waiting = self._done
        self._batch, self._done = [], None
        for table in self._tables.values():
            table.staged.clear()
        done.settle(failure)
        if waiting is not None:
            waiting.settle(failure)

    def _note(self, failure: StoreError) -> None:
        if not self._trouble:
            _log.error("%s", failure)
        self._trouble = str(failure)
        if isinstance(failure, StoreDamaged):
            self._broken = self._trouble
        elif self._retry is None and not self._broken:
            # A timer: nobody tells when there is space again, or a lock is let go.
            self._retry = asyncio.get_running_loop().call_later(RETRY_SECONDS, self._probe)

    def _probe(self) -> None:
        """See whether writing works again, so that a server that nobody asks becomes ready."""
        self._retry = None
        if self._log is None or not self._trouble or self._broken or self._flight is not None:
            return
        try:
            self._log.write([], self.revision)
        except StoreError as error:
            self._note(error)
        else:
            self._trouble = ""
            _log.warning("the store can be written to again")

    # beside the objects

    def note(self, key: str, value: str) -> None:
        """Keep a value, at once. A store in memory forgets it. Raises StoreError."""
        if self._log is not None:
            self._log.note(key, value)

    def noted(self, key: str) -> str:
        """A value that was kept on disk, "" for none. Raises StoreError."""
        return "" if self._log is None else self._log.noted(key)

    # watching

    def follow(
        self, table: Table, namespace: str, name: str, match: Matcher | None, since: int
    ) -> Feed:
        """A feed of what happened after `since` (not below `history.floor`) and will happen."""
        feed = Feed(namespace, name, match)
        for happening in self.history.since(table.name, since):
            feed.offer(happening)
        table.feeds.append(feed)
        return feed

    def leave(self, table: Table, feed: Feed) -> None:
        """End a feed."""
        feed.close()
        if feed in table.feeds:
            table.feeds.remove(feed)

    def bookmark(self, revision: int) -> None:
        """Send every feed a bookmark; its reader says of which kind it is."""
        for table in self._tables.values():
            for feed in table.feeds:
                document: Document = {"metadata": {"resourceVersion": str(revision)}}
                feed.push(Notice("BOOKMARK", document, revision))

    async def compacting(self) -> None:
        """Forget what happened 5 to 10 minutes ago, as kube-apiserver lets etcd do it.

        A timer: time is what it is about.
        """
        while True:
            last = self.revision
            await asyncio.sleep(COMPACTION_SECONDS)
            self.history.compact(last)

    def close(self) -> None:
        """Commit what is staged, end all feeds, close the file."""
        self._broken = self._broken or "the server is stopping"
        if self._log is not None:
            self._finish(self._log)
            self._log = None
        for table in self._tables.values():
            for feed in list(table.feeds):
                self.leave(table, feed)
        if self._retry is not None:
            self._retry.cancel()

    def _finish(self, log: SqliteLog) -> None:
        """Write what is staged (after what is being written) and close the file."""
        batch, done, self._batch, self._done = self._batch, self._done, [], None
        if batch and done is not None:
            try:
                log.write([self._row(one) for one in batch], batch[-1].revision)
            except StoreError as error:
                self._refuse(done, error)
            else:
                self._settle(batch, done, None)
        log.close()
