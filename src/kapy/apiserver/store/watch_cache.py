"""A bounded history of writes from which an interrupted watch can resume."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from kapy.apiserver.store.stored_object import StoredObject
from kapy.kube import Document

Change = Literal["ADDED", "MODIFIED", "DELETED"]

_DOCUMENT = 6  # a dict takes about six times the memory of its JSON


class WriteEvent(Struct, eq=False):  # every write creates one; a Struct is created in C
    """One committed write to the store.

    after: the object after the write (for DELETED: its last state, with the revision of the
    deletion). before: the object before the write, None if it is new. size: the size of the JSON in
    bytes.
    """

    revision: int
    change: Change
    table: str
    namespace: str
    name: str
    after: StoredObject
    before: StoredObject | None
    size: int = 0
    line: bytes = b""  # the encoded event, cached by the first watcher that encodes it

    @property
    def document(self) -> Document:
        """Return the object after the write."""
        return self.after.document or self.after.decode()

    @property
    def previous(self) -> Document | None:
        """Return the object before the write."""
        return None if self.before is None else self.before.document or self.before.decode()


class WatchCache:
    """The latest writes, as many as fit into `limit` bytes of memory.

    keeps_json: whether only the JSON of the objects counts, and not the memory of their documents.
    floor: writes up to and including this revision are forgotten; a watch can resume from this
    revision or a later one.
    """

    __slots__ = ("_events", "_factor", "_weight", "floor", "limit")

    def __init__(self, limit: int, floor: int, *, keeps_json: bool = False) -> None:
        self._factor = 1 if keeps_json else _DOCUMENT
        self.limit = limit
        self.floor = floor
        self._weight = 0
        self._events: deque[WriteEvent] = deque()

    def add(self, happening: WriteEvent) -> None:
        """Add a write and drop the oldest ones beyond the limit."""
        self._events.append(happening)
        self._weight += happening.size * self._factor
        while self._weight > self.limit and len(self._events) > 1:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest = self._events.popleft()
        self._weight -= oldest.size * self._factor
        self.floor = oldest.revision
        # recent readers keep their document; others can decode the JSON
        oldest.after.drop_document()

    def compact(self, revision: int) -> None:
        """Drop all writes up to and including `revision`."""
        while self._events and self._events[0].revision <= revision:
            self._drop_oldest()
        self.floor = max(self.floor, revision)

    def since(self, table: str, revision: int) -> list[WriteEvent]:
        """Return the writes to a table after `revision` (which is not below `floor`), in order."""
        result = [
            write_event
            for write_event in self._newest_first(revision)
            if write_event.table == table
        ]
        result.reverse()
        return result

    def _newest_first(self, revision: int) -> Iterator[WriteEvent]:
        for happening in reversed(self._events):
            if happening.revision <= revision:
                return
            yield happening

    def as_of(
        self, table: str, revision: int, now: dict[tuple[str, str], Document]
    ) -> dict[tuple[str, str], Document]:
        """Return the content of a table at `revision`, computed back from its content `now`."""
        then = dict(now)
        for write_event in self._newest_first(revision):
            if write_event.table != table:
                continue
            previous = write_event.previous
            if previous is None:
                then.pop((write_event.namespace, write_event.name), None)
            else:
                then[(write_event.namespace, write_event.name)] = previous
        return then
