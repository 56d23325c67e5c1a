"""Copies of a store in other processes, and the newest revision, which they share in memory.

`ReplicaFeed` sends the content of a store and then each committed write as messages, in order;
`ReplicaStore` applies them. A write that happens while the content is sent is sent at once. So when
the content is complete, the replica has exactly the state of the store at that moment.

The process that writes sets the shared revision before it acknowledges a write or sends an event.
So a process that reads it knows which writes a client may already know of.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import tempfile
from bisect import insort
from collections.abc import Awaitable, Callable
from typing import Final, Literal, NoReturn

import msgspec

from kapy.apiserver.store.errors import StoreError
from kapy.apiserver.store.store import DURABLE_HISTORY, Store
from kapy.apiserver.store.stored_object import StoredObject
from kapy.apiserver.store.table import Table
from kapy.apiserver.store.watch_cache import WatchCache, WriteEvent

_SIZE: Final = 8

_encode = msgspec.json.Encoder().encode
_pack = msgspec.msgpack.Encoder().encode
BATCH: Final = 256 * 1024
"""The bytes of JSON after which rows of the content are sent, and other tasks run."""
Send = Callable[[int, bytes], None]
"""Sends a message, given its kind (`ReplicaMessage`) and its content."""


class SharedRevision:
    """A revision in shared memory. handle: the file descriptor that another process maps."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._memory = mmap.mmap(handle, _SIZE)
        self._cell = memoryview(self._memory).cast("Q")  # one aligned store: never half of a number

    @classmethod
    def create(cls) -> SharedRevision:
        """Create the shared memory, with the revision 0. Raises OSError."""
        if hasattr(os, "memfd_create"):
            handle = os.memfd_create("revision", os.MFD_CLOEXEC)
        else:
            with tempfile.TemporaryFile() as file:
                handle = os.dup(file.fileno())
        try:
            os.ftruncate(handle, _SIZE)
            return cls(handle)
        except BaseException:
            os.close(handle)
            raise

    @property
    def value(self) -> int:
        """Return the newest committed revision."""
        return self._cell[0]

    def set(self, revision: int) -> None:
        """Set the newest committed revision."""
        self._cell[0] = revision

    def close(self) -> None:
        """Release the shared memory."""
        self._cell.release()
        self._memory.close()
        os.close(self.handle)


class ReplicaMessage:
    """The kinds of messages of a ReplicaFeed: parts of the content, its end, a write. HURRY goes in
    the other direction: a read on the replica waits for a write.
    """

    ROWS: Final = 16
    COMPLETE: Final = 17
    WRITE: Final = 18
    HURRY: Final = 19


class _Row(msgspec.Struct, array_like=True):
    table: str
    namespace: str
    name: str
    encoded: bytes


class _Write(msgspec.Struct, array_like=True):
    revision: int
    change: Literal["ADDED", "MODIFIED", "DELETED"]
    table: str
    namespace: str
    name: str
    encoded: bytes


_read_rows: Final = msgspec.msgpack.Decoder(list[_Row]).decode
_read_write: Final = msgspec.msgpack.Decoder(_Write).decode
_read_revision: Final = msgspec.msgpack.Decoder(int).decode


class ReplicaFeed:
    """Sends the writes of a store to its replicas. committed: the shared revision, which is set to
    that of each write before anybody else can know of the write.
    """

    def __init__(self, store: Store, committed: SharedRevision) -> None:
        self._store = store
        self._committed = committed
        self._replicas: list[Send] = []
        committed.set(store.revision)
        # The first listener: another one may write, and its write must not overtake this one.
        store.listeners.insert(0, self._on_write)

    def close(self) -> None:
        """Stop following the store."""
        self._store.listeners.remove(self._on_write)

    def remove(self, send: Send) -> None:
        """Stop sending writes to a replica."""
        if send in self._replicas:
            self._replicas.remove(send)

    async def add(self, send: Send, wait_for_room: Callable[[], Awaitable[None]]) -> None:
        """Send the content of the store to a replica, and from now on each write."""
        self._replicas.append(send)
        for table in self._store.tables():
            await self._send_table(table, send, wait_for_room)
        send(ReplicaMessage.COMPLETE, _pack(self._store.revision))

    async def _send_table(
        self, table: Table, send: Send, wait_for_room: Callable[[], Awaitable[None]]
    ) -> None:
        rows: list[_Row] = []
        size = 0
        for namespace in list(table.namespaces):
            for name in list(table.namespaces.get(namespace, ())):
                stored = table.namespaces.get(namespace, {}).get(name)
                if stored is None:
                    continue
                encoded = stored.encoded or _encode(stored.document)
                rows.append(_Row(table.name, namespace, name, encoded))
                size += len(encoded)
                if size > BATCH:
                    send(ReplicaMessage.ROWS, _pack(rows))
                    rows, size = [], 0
                    await asyncio.sleep(0)
                    await wait_for_room()
        if rows:
            send(ReplicaMessage.ROWS, _pack(rows))

    def _on_write(self, event: WriteEvent) -> None:
        self._committed.set(event.revision)
        if not self._replicas:
            return
        encoded = event.after.encoded or _encode(event.document)
        write = _Write(
            event.revision, event.change, event.table, event.namespace, event.name, encoded
        )
        content = _pack(write)
        for send in tuple(self._replicas):
            send(ReplicaMessage.WRITE, content)


class ReplicaStore(Store):
    """A store that applies the messages of a `ReplicaFeed`, and refuses other writes.

    committed: the newest revision of the original store. complete: an event that is set when the
    content has arrived. hurry: called when a read waits for a write, whose message may be queued
    behind others.
    """

    __slots__ = ("_committed", "_hurry", "_waiting", "complete")

    def __init__(self, committed: SharedRevision, hurry: Callable[[], None]) -> None:
        super().__init__()
        self._committed = committed
        self._hurry = hurry
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self.complete = asyncio.Event()

    def receive(self, kind: int, content: bytes) -> None:
        """Apply a message of the ReplicaFeed."""
        if kind == ReplicaMessage.WRITE:
            self._apply(_read_write(content))
        elif kind == ReplicaMessage.ROWS:
            for row in _read_rows(content):
                table = self.table(row.table)
                table.put(row.namespace, row.name, StoredObject(None, row.encoded))
                table.set_size(row.namespace, row.name, len(row.encoded))
        elif kind == ReplicaMessage.COMPLETE:
            self.set_revision(_read_revision(content))
            self.history = WatchCache(DURABLE_HISTORY, self.revision, keeps_json=True)
            self.complete.set()

    def _apply(self, write: _Write) -> None:
        table = self.table(write.table)
        event = WriteEvent(
            write.revision,
            write.change,
            write.table,
            write.namespace,
            write.name,
            StoredObject(None, write.encoded),
            table.latest_stored(write.namespace, write.name),
            len(write.encoded),
        )
        self.revision = write.revision
        self._publish(table, event)
        waiting = self._waiting
        while waiting and waiting[0][0] <= write.revision:
            future = waiting.pop(0)[2]
            if not future.done():
                future.set_result(None)

    @property
    def is_current(self) -> bool:
        """Report whether every write that a client may know of is applied."""
        return self.revision >= self._committed.value

    async def catch_up(self, seconds: float) -> bool:
        """Wait until the writes that are committed now are applied; return False if that takes too
        long.
        """
        revision = self._committed.value
        if self.revision >= revision:
            return True
        future = asyncio.get_running_loop().create_future()
        entry = (revision, id(future), future)
        insort(self._waiting, entry)
        self._hurry()
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            return False
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)
        return True

    def _advance(self) -> NoReturn:
        raise StoreError("a replica of a store is read-only")
