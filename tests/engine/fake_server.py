"""A very small API server to break on purpose: one collection of documents, watches, faults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from kapy.kube import Document
from kapy.kube.errors import ApiError, BadRequest, Conflict, Expired, NotFound, Unreachable
from kapy.kube.http import Reply, Request
from kapy.kube.names import Resource
from kapy.kube.patch import merge_patch

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")

Fault = Callable[[Request], ApiError | Exception | None]


def widget(name: str, namespace: str = "default", **more: Any) -> Document:
    """A Widget as a client creates it."""
    metadata = {"name": name, "namespace": namespace, **more.pop("metadata", {})}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, **more}


class FakeServer:
    """Widgets (or another plural) by key.

    `faults` are asked first; `requests` notes what came, as "VERB path".
    """

    def __init__(self, plural: str = "widgets") -> None:
        self.plural = plural
        self.objects: dict[tuple[str, str], Document] = {}
        self.version = 10
        self.oldest = 0
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self.before_answer: Callable[[Request], None] = lambda request: None
        self.stale_lists = 0
        self._history: list[tuple[int, Document]] = []
        self._queues: list[asyncio.Queue[Document | None]] = []
        self._uids = 0

    @property
    def watches(self) -> int:
        """Return the number of open watches."""
        return len(self._queues)

    async def __call__(self, request: Request) -> Reply:
        watching = request.query.get("watch") == "true"
        verb = "WATCH" if watching else request.method
        if not watching and request.method == "GET" and request.path.endswith(f"/{self.plural}"):
            verb = "LIST"
        self.requests.append(f"{verb} {request.path}")
        await asyncio.sleep(0)
        try:
            for fault in self.faults:
                if (error := fault(request)) is not None:
                    raise error
            self.before_answer(request)
            if watching and "resourceVersion" not in request.query:
                raise BadRequest("sendInitialEvents is not known here")
            if watching:
                return self._watch(int(request.query["resourceVersion"]))
            if verb == "LIST":
                return self._list()
            return Reply(200, self._object(request))
        except Unreachable:
            raise
        except ApiError as error:
            headers = {} if error.retry_after is None else {"retry-after": str(error.retry_after)}
            return Reply(error.code, error.status(), headers)

    def put(self, document: Document) -> Document:
        """Store a document as a write of somebody else."""
        key = (document["metadata"].get("namespace", ""), document["metadata"]["name"])
        old = self.objects.get(key)
        if old is None:
            self._uids += 1
            uid = f"uid-{self._uids}"
        else:
            uid = old["metadata"]["uid"]
        self.version += 1
        metadata = {**document["metadata"], "uid": uid, "resourceVersion": str(self.version)}
        stored = {**document, "metadata": metadata}
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            self.objects.pop(key, None)
            self._publish("DELETED", stored)
        else:
            self.objects[key] = stored
            self._publish("MODIFIED" if old else "ADDED", stored)
        return stored

    def remove(self, name: str, namespace: str = "default") -> None:
        """Remove an object as somebody else."""
        old = self.objects.pop((namespace, name))
        self.version += 1
        metadata = {**old["metadata"], "resourceVersion": str(self.version)}
        self._publish("DELETED", {**old, "metadata": metadata})

    def break_watches(self, last: Document | None = None) -> None:
        """End all watches (after one more event)."""
        for queue in self._queues:
            if last is not None:
                queue.put_nowait(last)
            queue.put_nowait(None)

    def forget_history(self) -> None:
        """Compact: watches from before now are answered 410."""
        self.oldest = self.version
        self._history.clear()

    def bookmark(self) -> None:
        """Send a bookmark to all watches."""
        self.version += 1
        metadata = {"resourceVersion": str(self.version)}
        for queue in self._queues:
            queue.put_nowait({"type": "BOOKMARK", "object": {"metadata": metadata}})

    def _publish(self, kind: str, document: Document) -> None:
        event = {"type": kind, "object": document}
        self._history.append((self.version, event))
        for queue in self._queues:
            queue.put_nowait(event)

    def _list(self) -> Reply:
        items = [self.objects[key] for key in sorted(self.objects)]
        version = str(self.version - self.stale_lists)
        body = {"kind": "WidgetList", "metadata": {"resourceVersion": version}, "items": items}
        return Reply(200, body)

    def _watch(self, version: int) -> Reply:
        if version < self.oldest:
            raise Expired("too old resource version")
        queue: asyncio.Queue[Document | None] = asyncio.Queue()
        for at, event in self._history:
            if at > version:
                queue.put_nowait(event)
        self._queues.append(queue)
        return Reply(200, self._events(queue))

    async def _events(self, queue: asyncio.Queue[Document | None]) -> AsyncIterator[Document]:
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._queues.remove(queue)

    def _object(self, request: Request) -> Document:
        body: Any = request.body
        if request.method == "POST":
            return self.put(body)
        parts = request.path.split("/")
        where = parts.index(self.plural)
        namespaced = parts[where - 2] == "namespaces"
        key = (parts[where - 1] if namespaced else "", parts[where + 1])
        old = self.objects.get(key)
        if old is None:
            raise NotFound(f'{self.plural} "{key[1]}" not found')
        if request.method == "GET":
            return old
        if request.method == "DELETE":
            return self._deleted(old)
        wanted = body.get("metadata", {}).get("resourceVersion")
        if wanted and wanted != old["metadata"]["resourceVersion"]:
            raise Conflict("the object has been modified")
        if parts[-1] == "status":
            body = {"status": body.get("status", {})}
        else:
            body = {name: value for name, value in body.items() if name != "status"}
        return self.put(merge_patch.apply(old, body))

    def _deleted(self, old: Document) -> Document:
        metadata = old["metadata"]
        if metadata.get("finalizers"):
            stamp = {**metadata, "deletionTimestamp": "2026-01-01T00:00:00Z"}
            return self.put({**old, "metadata": stamp})
        self.remove(metadata["name"], metadata["namespace"])
        details = {"name": metadata["name"], "uid": metadata["uid"]}
        return {"kind": "Status", "status": "Success", "details": details}
