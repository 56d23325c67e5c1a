"""What happened lately, so that a watch can resume where it broke off."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from kapy.apiserver.store.stored import Stored
from kapy.kube import Document

Change = Literal["ADDED", "MODIFIED", "DELETED"]

_DOCUMENT = 6  # a dict takes about six times the bytes of its JSON


class Happening(Struct, eq=False):  # each write makes one, and C makes a Struct
    """One committed write.

    after: the object after it (for DELETED: as it was last, with the revision of the deletion).
    before: the object before it, None when it is new. size: bytes of the JSON.
    """

    revision: int
    change: Change
    table: str
    namespace: str
    name: str
    after: Stored
    before: Stored | None
    size: int = 0
    line: bytes = b""  # the event as bytes, kept by whoever encodes it first

    @property
    def document(self) -> Document:
        """The object after it."""
        return self.after.document or self.after.read()

    @property
    def previous(self) -> Document | None:
        """The object before it."""
        return None if self.before is None else self.before.document or self.before.read()

    @property
    def weight(self) -> int:
        """Bytes of memory that remembering it takes."""
        return self.size if self.after.encoded else self.size * _DOCUMENT


class History:
    """The latest happenings, as many as fit into `limit` bytes of memory.

    floor: events up to and including this revision are forgotten; a watch can resume from it or
    from any later revision.
    """

    __slots__ = ("_events", "_weight", "floor", "limit")

    def __init__(self, limit: int, floor: int) -> None:
        self.limit = limit
        self.floor = floor
        self._weight = 0
        self._events: deque[Happening] = deque()

    def add(self, happening: Happening) -> None:
        """Remember one more, and forget the oldest ones that are too much."""
        self._events.append(happening)
        self._weight += happening.weight
        while self._weight > self.limit and len(self._events) > 1:
            self._forget()

    def _forget(self) -> None:
        oldest = self._events.popleft()
        self._weight -= oldest.weight
        self.floor = oldest.revision
        oldest.after.cool()  # whoever read it lately has it, and others can decode it

    def compact(self, revision: int) -> None:
        """Forget everything up to and including `revision`."""
        while self._events and self._events[0].revision <= revision:
            self._forget()
        self.floor = max(self.floor, revision)

    def since(self, table: str, revision: int) -> list[Happening]:
        """What happened in a table after `revision` (which is not below `floor`), in order."""
        found = [one for one in self._back_to(revision) if one.table == table]
        found.reverse()
        return found

    def _back_to(self, revision: int) -> Iterator[Happening]:
        for happening in reversed(self._events):
            if happening.revision <= revision:
                return
            yield happening

    def as_of(
        self, table: str, revision: int, now: dict[tuple[str, str], Document]
    ) -> dict[tuple[str, str], Document]:
        """The content of a table as it was at `revision`, computed back from its content `now`."""
        then = dict(now)
        for one in self._back_to(revision):
            if one.table != table:
                continue
            previous = one.previous
            if previous is None:
                then.pop((one.namespace, one.name), None)
            else:
                then[(one.namespace, one.name)] = previous
        return then
