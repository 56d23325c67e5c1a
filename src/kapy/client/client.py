"""Reading and writing objects through a Transport.

One class for both worlds: typed kinds (`Machine`) go in and come out as Structs, anything else is
named by its `Resource` and travels as a document. Every failure is an `ApiError` or
`Unreachable` of `kapy.kube.errors`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, overload

from kapy.kube import Document, Key
from kapy.kube.http import Transport
from kapy.kube.meta import Object
from kapy.kube.names import Resource

O = TypeVar("O", bound=Object)  # noqa: E741
T = TypeVar("T")
Propagation = Literal["Background", "Foreground", "Orphan"]
EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
Observer = Callable[[Resource, Document], None]


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """A list as of one resourceVersion."""

    items: Sequence[T]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Event:
    """One watch event; `document` is shared, do not change it."""

    type: EventType
    document: Document


class Client:
    """A reader and writer of one API server, as one field manager.

    transport: the server. field_manager: sent as `fieldManager` with every write. observe: told
    every object that a write returned (the cache uses it, so that nobody reads older than they
    wrote).
    """

    def __init__(
        self, transport: Transport, *, field_manager: str = "kapy", observe: Observer | None = None
    ) -> None: ...

    @overload
    async def get(self, kind: type[O], key: Key) -> O: ...
    @overload
    async def get(self, kind: Resource, key: Key) -> Document: ...
    async def get(self, kind: Any, key: Key) -> Any:
        """Read one object from the server (never from a cache). Raises NotFound."""

    @overload
    async def list(
        self, kind: type[O], namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Listed[O]: ...
    @overload
    async def list(
        self, kind: Resource, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Listed[Document]: ...
    async def list(
        self, kind: Any, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Any:
        """All matching objects (paged below), "" = all namespaces; selectors as kubectl's."""

    @overload
    async def create(self, kind: O, *, dry_run: bool = False) -> O: ...
    @overload
    async def create(
        self, kind: Resource, document: Document, *, dry_run: bool = False
    ) -> Document: ...
    async def create(self, kind: Any, document: Any = None, *, dry_run: bool = False) -> Any:
        """Create an object (its namespace from its metadata). Raises AlreadyExists."""

    @overload
    async def update(self, kind: O, *, subresource: str = "") -> O: ...
    @overload
    async def update(
        self, kind: Resource, document: Document, *, subresource: str = ""
    ) -> Document: ...
    async def update(self, kind: Any, document: Any = None, *, subresource: str = "") -> Any:
        """Replace an object. Prefer `patch`: a Struct does not know all fields."""

    @overload
    async def patch(
        self, kind: type[O], key: Key, patch: Document, *, subresource: str = ""
    ) -> O: ...
    @overload
    async def patch(
        self,
        kind: Resource,
        key: Key,
        patch: Document | Sequence[Document],
        *,
        media_type: str = ...,
        subresource: str = "",
    ) -> Document: ...
    async def patch(
        self, kind: Any, key: Key, patch: Any, *, media_type: str = "", subresource: str = ""
    ) -> Any:
        """JSON merge patch (or the given media type) of an object or its subresource."""

    async def apply(
        self,
        resource: Resource,
        document: Document,
        *,
        field_manager: str = "",
        force: bool = True,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Document:
        """Server-side apply. Raises Conflict when another manager owns a field and not force."""
        raise NotImplementedError

    async def delete(
        self,
        kind: type[Object] | Resource,
        key: Key,
        *,
        uid: str = "",
        propagation: Propagation | None = None,
    ) -> None:
        """Ask for deletion; the object may live on while finalizers hold it. Raises NotFound."""

    def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        resource_version: str = "",
        labels: str = "",
        fields: str = "",
        initial_events: bool = False,
    ) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Events after `resource_version`; Expired when that is too old, on opening or later."""
        raise NotImplementedError

    async def raw(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None
    ) -> Document:
        """Any request whose answer is one JSON document (discovery, version, subresources)."""
        raise NotImplementedError
