"""A client that reads and writes objects through a Transport.

It works with typed kinds and with documents: objects of a typed kind (`Machine`) are Structs; any
other kind is named by its `Resource`, and its objects are documents. Every failure is an `ApiError`
or `Unreachable` of `kapy.kube.errors`. The client retries only requests that surely were not
executed (429 with Retry-After), and reads with a response 429 or 503 with Retry-After. Any other
failure is raised: the controller backs off.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, Protocol, TypeVar, overload

from kapy.client.reply import document_of, failure_of
from kapy.client.response_validation import check_list, invalid_answer
from kapy.client.stream import Event as Event
from kapy.client.stream import EventStream
from kapy.client.write_locks import WriteLocks
from kapy.kube import Document, Key
from kapy.kube.digits import parse_digits
from kapy.kube.errors import ApiError, Expired, ServerError, TooManyRequests
from kapy.kube.http import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, Reply, Request, Transport
from kapy.kube.meta import Object, read, to_document
from kapy.kube.names import Resource

O = TypeVar("O", bound=Object)  # noqa: E741
T = TypeVar("T")
Propagation = Literal["Background", "Foreground", "Orphan"]
Observer = Callable[[Resource, Document], None]
"""Receives the result of each write. A deletion that finished at once is passed as the object's
metadata with a `deletionTimestamp`, no finalizers and (if the server returned only a Status) no
resourceVersion."""

WriteVerb = Literal["created", "wrote", "deleted"]
WriteLog = Callable[[WriteVerb, Resource, Key], None]
CachedReader = Callable[[Resource, Key], Document | None]

ATTEMPTS: Final = 5
PAGE: Final = 500
MAX_PAGES: Final = 2_000
"""The maximum number of pages of one list: a million objects. A server that sends more is
broken."""
_METADATA: Final = "application/json;as={};g=meta.k8s.io;v=v1,application/json"
"""The Accept header that requests only metadata (PartialObjectMetadata), if the server supports
it."""
MAX_RETRY_AFTER: Final = 60.0  # seconds of Retry-After that a caller is kept waiting


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """The objects of a list response, and the resourceVersion of the list."""

    items: Sequence[T]
    resource_version: str


CREATED: Final = 201


class History(Protocol):
    """The resourceVersions up to which a cache knows the changes of each resource."""

    def progress(self, resource: Resource) -> int:
        """Return the version up to which changes of a resource are known; 0 for none."""
        ...

    def go_back(self, resource: Resource) -> None:
        """Accept lower versions of a resource again, because the server was restored."""
        ...


def _version_of(document: Document) -> int:
    """Return the resourceVersion of a response, 0 if it has none."""
    return parse_digits((document.get("metadata") or {}).get("resourceVersion") or "") or 0


class Client:
    """A reader and writer of one API server, as one field manager.

    transport: the connection to the server. field_manager: sent as `fieldManager` with every write.
    observe: receives every object that a write returned (the cache uses it, so that a writer never
    reads an older state). newest: returns the cached object, or None. history: the versions that
    the cache knows. turns: locks that serialize writers of the same object. log_write: called with
    every write that succeeded.
    """

    def __init__(
        self, transport: Transport, *, field_manager: str = "kapy", observe: Observer | None = None
    ) -> None:
        self.transport = transport
        self.field_manager = field_manager
        self.observe = observe
        self.newest: CachedReader | None = None
        self.log_write: WriteLog | None = None
        self.history: History | None = None
        self.turns = WriteLocks()
        self._write_query = {"fieldManager": field_manager}

    @overload
    async def get(self, kind: type[O], key: Key) -> O: ...
    @overload
    async def get(self, kind: Resource, key: Key) -> Document: ...
    async def get(self, kind: Any, key: Key) -> Any:
        """Read one object from the server (never from a cache). Raises NotFound."""
        resource = _resource(kind)
        path = resource.path(key.namespace, key.name)
        document = await self._send(Request("GET", path))
        return document if kind is resource else read(document, kind)

    @overload
    async def list(
        self, kind: type[O], namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Listed[O]: ...
    @overload
    async def list(
        self,
        kind: Resource,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        metadata: bool = False,
    ) -> Listed[Document]: ...
    async def list(
        self,
        kind: Any,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        metadata: bool = False,
    ) -> Any:
        """Return all matching objects (read in pages), "" = all namespaces; selectors as in
        kubectl.

        metadata: only metadata is needed; servers that can then send PartialObjectMetadata.
        """
        resource = _resource(kind)
        query = _selectors(labels, fields)
        path = resource.path(namespace)
        headers = _only_metadata("PartialObjectMetadataList") if metadata else {}
        if over_network(self.transport):
            items, version = await self._pages(path, query, headers)
        else:
            # In-process servers return their own documents, which are valid.
            answer = await self._send(Request("GET", path, query, headers))
            items, version = answer.get("items") or [], answer["metadata"]["resourceVersion"]
        if items and "kind" not in items[0]:
            named = {"apiVersion": resource.api_version, "kind": resource.kind}
            items = [named | item for item in items]
        result: Sequence[Any] = items
        if kind is not resource:
            result = [read(item, kind) for item in items]
        return Listed(result, version)

    @overload
    async def create(self, kind: O, *, dry_run: bool = False) -> O: ...
    @overload
    async def create(
        self, kind: Resource, document: Document, *, dry_run: bool = False
    ) -> Document: ...
    async def create(self, kind: Any, document: Any = None, *, dry_run: bool = False) -> Any:
        """Create an object (its namespace from its metadata). Raises AlreadyExists."""
        resource, body = _body(kind, document)
        path = resource.path(body["metadata"].get("namespace", ""))
        answer = await self._write("POST", resource, path, body, dry_run=dry_run)
        return answer if kind is resource else read(answer, type(kind))

    @overload
    async def update(self, kind: O, *, subresource: str = "") -> O: ...
    @overload
    async def update(
        self, kind: Resource, document: Document, *, subresource: str = ""
    ) -> Document: ...
    async def update(self, kind: Any, document: Any = None, *, subresource: str = "") -> Any:
        """Replace an object. Prefer `patch`, because a Struct does not contain all fields of an
        object.
        """
        resource, body = _body(kind, document)
        metadata = body["metadata"]
        path = resource.path(metadata.get("namespace", ""), metadata["name"], subresource)
        answer = await self._write("PUT", resource, path, body)
        return answer if kind is resource else read(answer, type(kind))

    @overload
    async def patch(
        self,
        kind: type[O],
        key: Key,
        patch: Document | Sequence[Document],
        *,
        subresource: str = "",
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
        """Patch an object or its subresource.

        patch: a JSON merge patch (a document), or a JSON patch (a list of operations).
        media_type: another kind of patch.
        """
        resource = _resource(kind)
        if not media_type:
            media_type = MERGE_PATCH if isinstance(patch, dict) else JSON_PATCH
        path = resource.path(key.namespace, key.name, subresource)
        answer = await self._write("PATCH", resource, path, patch, media_type=media_type)
        return answer if kind is resource else read(answer, kind)

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
        """Apply an object with server-side apply. Raises Conflict if another manager owns a field
        and `force` is not set.
        """
        metadata = document["metadata"]
        path = resource.path(metadata.get("namespace", ""), metadata["name"], subresource)
        query = {"force": "true"} if force else {}
        if field_manager:
            query["fieldManager"] = field_manager
        return await self._write(
            "PATCH", resource, path, document, query=query, media_type=APPLY_PATCH, dry_run=dry_run
        )

    async def delete(
        self,
        kind: type[Object] | Resource,
        key: Key,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation | None = None,
    ) -> None:
        """Delete an object; it may continue to exist while it has finalizers. Raises NotFound.

        With `uid`, Conflict is raised if the name belongs to another object now; with
        `resource_version`, if the object has changed since.
        """
        resource = _resource(kind)
        options: Document = {"apiVersion": "v1", "kind": "DeleteOptions"}
        wanted = {"uid": uid, "resourceVersion": resource_version}
        if preconditions := {name: value for name, value in wanted.items() if value}:
            options["preconditions"] = preconditions
        if propagation is not None:
            options["propagationPolicy"] = propagation
        path = resource.path(key.namespace, key.name)
        answer = await self._send(Request("DELETE", path, {}, _JSON, options))
        if self.log_write is not None:
            self.log_write("deleted", resource, key)
        if self.observe is not None:
            delete_options = (
                answer if answer.get("kind") != "Status" else _deleted_object(key, answer)
            )
            if delete_options is not None:
                self.observe(resource, delete_options)

    def watch(
        self,
        kind: type[Object] | Resource,
        namespace: str = "",
        *,
        resource_version: str = "",
        labels: str = "",
        fields: str = "",
        initial_events: bool = False,
        metadata: bool = False,
    ) -> AbstractAsyncContextManager[AsyncIterator[Event]]:
        """Watch events after `resource_version`, with documents; Expired if that is too old, when
        the watch opens or later.

        initial_events: existing objects come first, as ADDED, then a BOOKMARK that marks their end.
        metadata: only metadata is needed.
        """
        query = _selectors(labels, fields)
        query |= {"watch": "true", "allowWatchBookmarks": "true"}
        if resource_version:
            query["resourceVersion"] = resource_version
        if initial_events:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        headers = _only_metadata("PartialObjectMetadata") if metadata else {}
        request = Request("GET", _resource(kind).path(namespace), query, headers)
        return EventStream(self.transport, request)

    async def raw(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Any = None
    ) -> Document:
        """Send any request whose response is one JSON document (discovery, version, subresources).

        Writes are never retried here: an eviction's 429 is a result, not an overload.
        """
        headers = {} if body is None else _JSON
        request = Request(method, path, query or {}, headers, body)
        if method == "GET":
            return await self._send(request)
        reply = await self.transport(request)
        if reply.status >= 400:
            raise failure_of(reply)
        return document_of(reply)

    async def _write(
        self,
        method: str,
        resource: Resource,
        path: str,
        body: Any,
        *,
        query: dict[str, str] | None = None,
        media_type: str = "",
        dry_run: bool = False,
    ) -> Document:
        parameters = self._write_query if query is None else self._write_query | query
        if dry_run:
            parameters = parameters | {"dryRun": "All"}
        headers = {"content-type": media_type} if media_type else _JSON
        history = None if dry_run else self.history
        position = 0 if history is None else history.progress(resource)
        reply = await self._reply(Request(method, path, parameters, headers, body))
        answer = _document(reply)
        if history is not None and reply.status == CREATED and 0 < _version_of(answer) < position:
            # A new object has a new version, unless the server was restored from a backup.
            history.go_back(resource)
        if not dry_run:
            if self.observe is not None:
                self.observe(resource, answer)
            if self.log_write is not None:
                verb: WriteVerb = "created" if reply.status == CREATED else "wrote"
                self.log_write(verb, resource, Key.of(answer))
        return answer

    async def _pages(
        self, path: str, query: Mapping[str, str], headers: Mapping[str, str]
    ) -> tuple[Sequence[Document], str]:
        items: list[Document] = []
        pages = 0
        page: Mapping[str, str] = {**query, "limit": str(PAGE)}
        while True:
            try:
                answer = await self._send(Request("GET", path, page, headers))
            except Expired:
                if "continue" not in page:
                    raise
                # The server has compacted the revision of the pages: request the whole list in one
                # response.
                return _page(await self._send(Request("GET", path, query, headers)))
            result, version = _page(answer)
            items += result
            token = answer["metadata"].get("continue")
            if not token:
                return items, version
            pages += 1
            if pages > MAX_PAGES or token == page.get("continue") or not isinstance(token, str):
                raise invalid_answer("its pages have no end")
            page = {**query, "limit": str(PAGE), "continue": token}

    async def _send(self, request: Request) -> Document:
        return _document(await self._reply(request))

    async def _reply(self, request: Request) -> Reply:
        reply = await self.transport(request)
        for _ in range(ATTEMPTS):
            if reply.status < 400:
                return reply
            error = failure_of(reply)
            wait = _retry_delay(request, error)
            if wait is None:
                raise error
            from asyncio import sleep  # short commands do not need asyncio otherwise

            await sleep(wait)
            reply = await self.transport(request)
        if reply.status < 400:
            return reply
        raise failure_of(reply)


def _document(reply: Reply) -> Document:
    body = reply.body
    return body if isinstance(body, dict) else document_of(reply)


def over_network(transport: Transport) -> bool:
    """Return whether a transport crosses a network (then reads are paged, and the server is
    probed).

    Such transports have an attribute of this name; wrappers forward it.
    """
    return bool(getattr(transport, "over_network", False))


_JSON: Final = {"content-type": "application/json"}


def _resource(kind: Any) -> Resource:
    if isinstance(kind, Resource):
        return kind
    result: Resource = kind.RESOURCE
    return result


def _body(kind: Any, document: Document | None) -> tuple[Resource, Document]:
    if isinstance(kind, Object):
        return kind.RESOURCE, to_document(kind)
    assert document is not None
    return kind, document


def _only_metadata(form: str) -> dict[str, str]:
    return {"accept": _METADATA.format(form)}


def _selectors(labels: str, fields: str) -> dict[str, str]:
    query = {}
    if labels:
        query["labelSelector"] = labels
    if fields:
        query["fieldSelector"] = fields
    return query


def _page(answer: Document) -> tuple[Sequence[Document], str]:
    return check_list(answer), answer["metadata"]["resourceVersion"]


def _deleted_object(key: Key, answer: Document) -> Document | None:
    """Return the object that an observer receives for a deletion whose response is only a
    Status.
    """
    uid = (answer.get("details") or {}).get("uid")
    if not uid:
        return None
    metadata = {"name": key.name, "uid": uid, "deletionTimestamp": ""}
    return {"metadata": metadata | ({"namespace": key.namespace} if key.namespace else {})}


def _retry_delay(request: Request, error: ApiError) -> float | None:
    """Return the seconds after which the request can be repeated without executing it twice."""
    if error.retry_after is None or error.retry_after > MAX_RETRY_AFTER:
        return None
    if isinstance(error, TooManyRequests):
        return error.retry_after
    if request.method == "GET" and isinstance(error, ServerError):
        return error.retry_after if error.status().get("code") == 503 else None
    return None
