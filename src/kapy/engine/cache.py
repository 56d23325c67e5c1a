"""What a program has read of a server: one watched, indexed copy per resource.

An informer never shows an object older than what this program itself wrote: every write's answer
goes into the cache at once (`Cache.observe`), a tombstone keeps a late answer from bringing back
what was deleted since, and a relist never replaces what is newer than the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, overload

from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.meta import Object
from kapy.kube.names import Resource

T = TypeVar("T")
O = TypeVar("O", bound=Object)  # noqa: E741


class Change(NamedTuple):
    """One object before and after; both are shared documents, do not change them."""

    old: Document | None
    new: Document | None

    @property
    def document(self) -> Document:
        """The newest that is known of the object."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


Handler = Callable[[Change], None]
IndexValues = Callable[[Document], Iterable[str]]


class Informer(Generic[T]):
    """The objects of one resource, as this program knows them. Reads are plain calls.

    `T` is a Struct for kinds that we know (each read decodes a private copy) or Document for
    foreign ones (shared: do not change).
    """

    resource: Resource

    def get(self, key: Key) -> T | None:
        """The object, or None when it is not there."""
        raise NotImplementedError

    def raw(self, key: Key) -> Document | None:
        """The shared document, or None."""
        raise NotImplementedError

    def list(self, namespace: str | None = None) -> Sequence[T]:
        """All objects (of a namespace), in the order of their keys."""
        raise NotImplementedError

    def add_index(self, name: str, values: IndexValues) -> None:
        """Keep an index; adding the same name again is allowed and does nothing."""
        raise NotImplementedError

    def indexed(self, name: str, value: str) -> Sequence[T]:
        """The objects that have `value` in the index, in the order of their keys."""
        raise NotImplementedError

    def subscribe(self, handler: Handler) -> Callable[[], None]:
        """Call `handler` for each object there is and each change after; returns the undo."""
        raise NotImplementedError

    async def synced(self) -> None:
        """Wait until the first list is in."""
        raise NotImplementedError


class Cache:
    """The informers of one program, one per resource (and label selector)."""

    def __init__(self, client: Client) -> None: ...

    @overload
    def informer(self, kind: type[O], *, labels: str = "") -> Informer[O]: ...
    @overload
    def informer(self, kind: Resource, *, labels: str = "") -> Informer[Document]: ...
    def informer(self, kind: Any, *, labels: str = "") -> Any:
        """The informer of a kind: made for the first caller, started by (or during) `run`."""
        raise NotImplementedError

    def observe(self, resource: Resource, document: Document) -> None:
        """Take in what a write of ours returned."""

    async def synced(self) -> None:
        """Wait until every informer that was asked for has its first list."""

    async def run(self) -> None:
        """Keep all informers up to date, those asked for later too; until cancelled."""
