"""The objects of one informer: by key, by index, in order, and never going back in time.

Three sources write here and may overtake one another: the watch, lists, and the answers to this
program's own writes. The newest resourceVersion of an object wins, and a deleted object never comes
back, because

* lists and watches are complete up to some resourceVersion (`progress`): an earlier answer about
  an object that is not here is about an object that has been deleted since;
* objects whose deletion was completed by this program's writes, ahead of the watch, are
  remembered by uid until the watch delivers the deletion, too.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kapy._aio.cooperation import Cooperation
from kapy.client.stream import Event
from kapy.engine.documents import Documents
from kapy.engine.transform import TransformFunc
from kapy.kube import Document, Key
from kapy.kube.digits import parse_digits, parse_integer
from kapy.kube.selectors import LabelSelector

log = logging.getLogger(__name__)

REMEMBERED: Final = 1000
"""Most uids kept of what our own writes ended; the watch usually tells it a moment later."""


class Change(NamedTuple):
    """One object before and after a change; both are shared documents: do not change them.

    initial: the object existed when the handler subscribed or the first list arrived; it can wait
    for real changes.
    """

    old: Document | None
    new: Document | None
    initial: bool = False

    @property
    def document(self) -> Document:
        """The newest known state of the object."""
        result = self.new if self.new is not None else self.old
        assert result is not None
        return result


Handler = Callable[[Change], None]


def is_gone(document: Document) -> bool:
    """Return whether a write's answer shows that the object no longer exists.

    kube-apiserver answers the removal of the last finalizer, or an immediate deletion, with the
    object's last state. A Pod remains through its grace period, a Namespace until the finalizers in
    its `spec` are done.
    """
    metadata = document["metadata"]
    if metadata.get("deletionTimestamp") is None or metadata.get("finalizers"):
        return False
    if metadata.get("deletionGracePeriodSeconds"):
        return False
    return not (document.get("spec") or {}).get("finalizers")


def version_of(document: Document) -> int:
    """Return the resourceVersion as a number, 0 if there is none or if it is no number."""
    text = document["metadata"].get("resourceVersion", "")
    return parse_digits(text) or 0


def _call(handler: Handler, change: Change) -> None:
    """Call a handler; its failure must not stop other handlers or the watch."""
    try:
        handler(change)
    except Exception:
        log.exception("a handler failed on a change of %s", Key.of(change.document))


IndexValues = Callable[[Document], Iterable[str]]
"""The values under which an object is found; the same for the same document, always."""


class Index:
    """Keys by value, in order."""

    __slots__ = ("_keys", "_values")

    def __init__(self, values: IndexValues) -> None:
        self._values = values
        self._keys: dict[str, list[Key]] = {}

    def keys(self, value: str) -> Sequence[Key]:
        """Return the keys that have `value`, in order."""
        return tuple(self._keys.get(value, ()))

    def change(self, key: Key, old: Document | None, new: Document | None) -> None:
        """Update the index for an object that was added, changed or deleted."""
        before = () if old is None else tuple(self._values(old))
        after = () if new is None else tuple(self._values(new))
        if before == after:
            return
        for value in set(before):
            keys = self._keys[value]
            del keys[bisect_left(keys, key)]
            if not keys:
                del self._keys[value]
        for value in set(after):
            insort(self._keys.setdefault(value, []), key)


class Store:
    """The objects of one watched collection, and the subscribers to its changes.

    progress: the resourceVersion up to which lists and watches are complete. trim: reduces the
    answers to own writes, None for no change; watches and lists are reduced by their reader, before
    a whole list of full objects is held in memory.
    """

    __slots__ = (
        "_ended",
        "_handlers",
        "_indexes",
        "_order",
        "_synced",
        "_went_back",
        "objects",
        "progress",
        "selector",
        "trim",
    )

    def __init__(
        self, selector: LabelSelector | None = None, trim: TransformFunc | None = None
    ) -> None:
        self.objects = Documents()
        self.progress = 0
        self.selector = selector
        self.trim = trim
        self._order: list[Key] | None = None
        self._handlers: tuple[Handler, ...] = ()
        self._indexes: dict[str, Index] = {}
        self._ended: dict[str, int] = {}
        self._synced: asyncio.Event | bool = False
        self._went_back = False

    @property
    def is_synced(self) -> bool:
        """Whether the first list has arrived."""
        return self._synced is True

    async def wait_for_sync(self) -> None:
        """Wait until the first list has arrived."""
        while self._synced is not True:
            if self._synced is False:
                self._synced = asyncio.Event()
            await self._synced.wait()

    def subscribe(self, handler: Handler) -> Callable[[], None]:
        """Call `handler` for each existing object and for each later change; return a function that
        unsubscribes.

        Handlers are called in the order of their subscription, with the store up to date.
        """
        for key in tuple(self.keys()):
            _call(handler, Change(None, self.objects[key], initial=True))
        self._handlers = (*self._handlers, handler)

        def undo() -> None:
            self._handlers = tuple(item for item in self._handlers if item is not handler)

        return undo

    def take(self, event: Event) -> None:
        """Take in a watch event."""
        document = event.document
        if event.type == "DELETED":
            self._drop(document, version_of(document))
            self._ended.pop(document["metadata"].get("uid", ""), None)
        elif event.type != "BOOKMARK":
            self._put(document)
        self.progress = max(self.progress, version_of(document))

    def observe(self, document: Document) -> None:
        """Take in the answer to a write of this program."""
        if is_gone(document):
            self._end(document, sys.maxsize)
        elif self.knows(document):
            return
        elif self.selector is None or self.selector.selects(document):
            self._put(document if self.trim is None else self.reduce(document))
        else:
            self._end(document, version_of(document))

    def reduce(self, document: Document) -> Document:
        """Return what is kept of an object, which shares its parts with the former state."""
        assert self.trim is not None
        return self.trim(document, self.objects.get(Key.of(document)))

    def knows(self, document: Document) -> bool:
        """Return whether this state of an object, or a newer one, is here."""
        old = self.objects.get(Key.of(document))
        is_older = old is not None and 0 < version_of(document) <= version_of(old)
        return is_older and not self._went_back

    async def replace(self, items: Iterable[Document], version: str) -> bool:
        """Take in a list as of `version`: objects that are not in it were deleted, unless they are
        newer.

        Returns False, and takes in nothing, if the known state is newer than the list. Other tasks
        run in between: a list may have thousands of objects. Answers to own writes that arrive
        meanwhile are newer than the list.
        """
        if parse_integer(version) < self.progress:
            return False
        cooperation = Cooperation()
        for _ in self._steps(items, version):
            await cooperation.step()
        return True

    def load(self, items: Iterable[Document], version: str) -> bool:
        """Take in a short list at once; otherwise as `replace`."""
        if parse_integer(version) < self.progress:
            return False
        for _ in self._steps(items, version):
            pass
        return True

    def _steps(self, items: Iterable[Document], version: str) -> Iterator[None]:
        """Take in a list, one object at each step."""
        as_of, initial = parse_integer(version), not self.is_synced
        listed = set()
        for item in items:
            key = Key.of(item)
            listed.add(key)
            old = self.objects.get(key)
            # An older version in a newer list is right: the server was restored from a backup.
            is_right = old is None or version_of(item) < version_of(old) <= as_of
            is_right = is_right or self._went_back
            self._put(item, initial=initial, is_right=is_right)
            yield
        for key in [key for key in self.objects if key not in listed]:
            unlisted = self.objects.get(key)
            if unlisted is not None and (version_of(unlisted) <= as_of or self._went_back):
                self._remove(key, unlisted)
                yield
        self.progress, self._went_back = as_of, False
        waiting, self._synced = self._synced, True
        if isinstance(waiting, asyncio.Event):
            waiting.set()

    def rewind(self) -> None:
        """Distrust the known versions, because the server was restored.

        Own writes at lower versions are taken in. The objects stay until the next list, which is
        right whatever is known: to remove them meanwhile would look like their deletion.
        """
        self.progress, self._went_back = 0, True
        self._ended.clear()

    def _put(self, document: Document, *, initial: bool = False, is_right: bool = False) -> None:
        """Store an object unless it is older than what is known. is_right: store it anyway."""
        is_right = is_right or self._went_back
        metadata = document["metadata"]
        key = Key(metadata.get("namespace", ""), metadata["name"])
        old = self.objects.get(key)
        version = version_of(document)
        if self._ended and version <= self._ended.get(metadata.get("uid", ""), -1):
            self._drop_namesake(document)
            return
        if old is None:
            if 0 < version <= self.progress and not is_right:
                return
            self._insert(key)
        else:
            if 0 < version <= version_of(old) and not is_right:
                return
            if old["metadata"].get("uid") != metadata.get("uid"):
                self._remove(key, old)
                self._insert(key)
                old = None
        self.objects[key] = document
        for index in self._indexes.values():
            index.change(key, old, document)
        self._tell(Change(old, document, initial))

    def _drop(self, document: Document, version: int) -> None:
        key, uid = Key.of(document), document["metadata"].get("uid", "")
        old = self.objects.get(key)
        if old is None:
            return
        if uid and old["metadata"].get("uid") != uid:
            self._drop_namesake(document)
        elif not version or version >= version_of(old):
            self._remove(key, old)

    def _drop_namesake(self, document: Document) -> None:
        """Remove the former object of that name, even if the new one is not kept."""
        key, uid = Key.of(document), document["metadata"].get("uid", "")
        old = self.objects.get(key)
        if old is None or old["metadata"].get("uid") == uid:
            return
        if version_of(old) < version_of(document):
            self._remove(key, old)
            self._remember(old["metadata"].get("uid", ""), version_of(document))

    def _end(self, document: Document, version: int) -> None:
        """Record that an own write completed a deletion; nothing older restores the object."""
        self._drop(document, version)
        self._remember(document["metadata"].get("uid", ""), version)

    def _remember(self, uid: str, version: int) -> None:
        """Remember an object that ended at a version which the watch has not reached."""
        if uid and version > self.progress:
            self._ended[uid] = max(version, self._ended.pop(uid, 0))
            if len(self._ended) > REMEMBERED:
                del self._ended[next(iter(self._ended))]

    def keys(self, namespace: str | None = None) -> Sequence[Key]:
        """Return all keys (of a namespace), in order."""
        order = self._order
        if order is None:
            order = self._order = sorted(self.objects)
        if not namespace:
            return order[:]
        # Names are never empty, and no namespace sorts between "x" and "x\0".
        first = bisect_left(order, Key(namespace, ""))
        return order[first : bisect_left(order, Key(namespace + "\0", ""), first)]

    def add_index(self, name: str, values: IndexValues) -> None:
        """Keep an index; a name that is known already is left as it is."""
        if name in self._indexes:
            return
        index = self._indexes[name] = Index(values)
        for key, document in self.objects.items():
            index.change(key, None, document)

    def list_by_index(self, name: str, value: str) -> Sequence[Key]:
        """Return the keys that have `value` in the index, in order."""
        return self._indexes[name].keys(value)

    def _insert(self, key: Key) -> None:
        """Add a new key to the order, if somebody has asked for it."""
        if self._order is not None:
            insort(self._order, key)

    def _remove(self, key: Key, old: Document) -> None:
        del self.objects[key]
        if self._order is not None:
            del self._order[bisect_left(self._order, key)]
        for index in self._indexes.values():
            index.change(key, old, None)
        self._tell(Change(old, None))

    def _tell(self, change: Change) -> None:
        for handler in self._handlers:
            _call(handler, change)
