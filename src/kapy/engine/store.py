"""The objects that one informer holds: by key, by index, in order, and never going back in time.

Three sources write here and may overtake one another: the watch, lists, and the answers to this
program's own writes. The newest resourceVersion of an object wins; what is known to be deleted
(by its uid) never comes back.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from kapy.client.stream import Event
from kapy.kube import Document, Key
from kapy.kube.selectors import LabelSelector

log = logging.getLogger(__name__)

REMEMBERED: Final = 1000
"""Deleted uids kept: they matter while the answer of an earlier write is still on its way."""


class Change(NamedTuple):
    """One object before and after; both are shared documents, do not change them.

    initial: the object was there when the handler subscribed or the first list came; it is no
    news, and can wait for what is.
    """

    old: Document | None
    new: Document | None
    initial: bool = False

    @property
    def document(self) -> Document:
        """The newest that is known of the object."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


Handler = Callable[[Change], None]
IndexValues = Callable[[Document], Iterable[str]]


def is_gone(document: Document) -> bool:
    """Whether a write's answer shows an object that nothing holds any more.

    kube-apiserver answers the removal of the last finalizer, or a deletion that finished at once,
    with the object's last state. A Pod lives on through its grace period, a Namespace until its
    own finalizers in `spec` are done.
    """
    metadata = document["metadata"]
    if metadata.get("deletionTimestamp") is None or metadata.get("finalizers"):
        return False
    if metadata.get("deletionGracePeriodSeconds"):
        return False
    return not (document.get("spec") or {}).get("finalizers")


def version_of(document: Document) -> int:
    """The resourceVersion as a number, 0 when there is none (or one that is no number)."""
    text = document["metadata"].get("resourceVersion", "")
    return int(text) if text.isdecimal() else 0


def _call(handler: Handler, change: Change) -> None:
    """A handler that fails must not stop the others, nor the watch that feeds all of them."""
    try:
        handler(change)
    except Exception:
        log.exception("a handler failed on a change of %s", Key.of(change.document))


class Store:
    """The objects of one watched collection, and who wants to know of its changes."""

    __slots__ = ("_gone", "_handlers", "_indexes", "_order", "_synced", "objects", "selector")

    def __init__(self, selector: LabelSelector | None = None) -> None:
        self.objects: dict[Key, Document] = {}
        self.selector = selector
        self._order: list[Key] | None = None
        self._handlers: tuple[Handler, ...] = ()
        self._indexes: dict[str, tuple[IndexValues, dict[str, set[Key]]]] = {}
        self._gone: dict[str, int] = {}
        self._synced: asyncio.Event | bool = False

    @property
    def is_synced(self) -> bool:
        """Whether the first list is in."""
        return self._synced is True

    async def synced(self) -> None:
        """Wait until the first list is in."""
        while self._synced is not True:
            if self._synced is False:
                self._synced = asyncio.Event()
            await self._synced.wait()

    def subscribe(self, handler: Handler) -> Callable[[], None]:
        """Call `handler` for each object there is and for each change after; returns the undo.

        Handlers are called in the order in which they subscribed, with the store up to date.
        """
        for key in tuple(self.keys()):
            _call(handler, Change(None, self.objects[key], initial=True))
        self._handlers = (*self._handlers, handler)

        def undo() -> None:
            self._handlers = tuple(one for one in self._handlers if one is not handler)

        return undo

    def take(self, event: Event) -> None:
        """Take in a watch event."""
        if event.type == "DELETED":
            self.drop(event.document)
        elif event.type != "BOOKMARK":
            self.put(event.document)

    def observe(self, document: Document) -> None:
        """Take in the answer to a write of this program."""
        if is_gone(document):
            self.drop(document)
        elif self.selector is None or self.selector.selects(document):
            self.put(document)
        elif Key.of(document) in self.objects:
            self.drop(document)

    def put(self, document: Document, *, initial: bool = False) -> None:
        """Take in a state of an object, unless a newer one is known."""
        metadata = document["metadata"]
        key = Key(metadata.get("namespace", ""), metadata["name"])
        old = self.objects.get(key)
        version = version_of(document)
        if self._gone and version <= self._gone.get(metadata.get("uid", ""), -1):
            return
        if old is None:
            self._order = None
        else:
            if version and version <= version_of(old):
                return
            if old["metadata"].get("uid") != metadata.get("uid"):
                self._remove(key, old)
                old = None
        self.objects[key] = document
        if self._indexes:
            self._reindex(key, old, document)
        self._tell(Change(old, document, initial))

    def drop(self, document: Document) -> None:
        """Take in that an object is gone; `document` is its last state (or its metadata)."""
        metadata = document["metadata"]
        uid = metadata.get("uid", "")
        self._remember(uid, version_of(document) or sys.maxsize)
        key = Key.of(document)
        old = self.objects.get(key)
        if old is not None and (not uid or old["metadata"].get("uid") == uid):
            self._remove(key, old)

    def replace(self, items: Iterable[Document], version: str) -> None:
        """Take in a list as of `version`: what is not in it is gone, unless it came later."""
        initial, as_of = not self.is_synced, int(version)
        listed = set()
        for item in items:
            listed.add(Key.of(item))
            self.put(item, initial=initial)
        for key, old in [pair for pair in self.objects.items() if pair[0] not in listed]:
            if version_of(old) <= as_of:
                self._remember(old["metadata"].get("uid", ""), as_of)
                self._remove(key, old)
        waiting, self._synced = self._synced, True
        if isinstance(waiting, asyncio.Event):
            waiting.set()

    def keys(self, namespace: str | None = None) -> Sequence[Key]:
        """All keys (of a namespace), in order."""
        order = self._order
        if order is None:
            order = self._order = sorted(self.objects)
        if not namespace:
            return order
        # No name is empty, and no namespace can stand between "x" and "x\0".
        first = bisect_left(order, Key(namespace, ""))
        return order[first : bisect_left(order, Key(namespace + "\0", ""), first)]

    def add_index(self, name: str, values: IndexValues) -> None:
        """Keep an index; a name that is known already is left as it is."""
        if name in self._indexes:
            return
        index: dict[str, set[Key]] = {}
        for key, document in self.objects.items():
            for value in values(document):
                index.setdefault(value, set()).add(key)
        self._indexes[name] = (values, index)

    def indexed(self, name: str, value: str) -> Sequence[Key]:
        """The keys that have `value` in the index, in order."""
        keys = self._indexes[name][1].get(value)
        if not keys:
            return ()
        return list(keys) if len(keys) == 1 else sorted(keys)

    def _remove(self, key: Key, old: Document) -> None:
        del self.objects[key]
        self._order = None
        if self._indexes:
            self._reindex(key, old, None)
        self._tell(Change(old, None))

    def _tell(self, change: Change) -> None:
        for handler in self._handlers:
            _call(handler, change)

    def _remember(self, uid: str, version: int) -> None:
        if not uid:
            return
        self._gone[uid] = version
        if len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _reindex(self, key: Key, old: Document | None, new: Document | None) -> None:
        for values, index in self._indexes.values():
            before = () if old is None else tuple(values(old))
            after = () if new is None else tuple(values(new))
            if before == after:
                continue
            for value in before:
                keys = index.get(value)
                if keys is not None:
                    keys.discard(key)
                    if not keys:
                        del index[value]
            for value in after:
                index.setdefault(value, set()).add(key)
