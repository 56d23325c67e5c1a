"""The requests that `kubectl apply` makes of an API server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from kapy.api.names import Annotation
from kapy.client.client import Client
from kapy.client.reply import document_of, failure_of
from kapy.kube import Document, Key
from kapy.kube.apply.last_applied import ANNOTATION as LAST_APPLIED
from kapy.kube.apply.last_applied import MANAGER as SERVER_SIDE
from kapy.kube.errors import NotFound
from kapy.kube.foreign_json import BadJson, decoded
from kapy.kube.http import APPLY_PATCH, MERGE_PATCH, Request, Transport
from kapy.kube.names import Resource
from kapy.kube.patch.three_way import three_way

CLIENT_SIDE: Final = "kubectl-client-side-apply"
"""The field manager of kubectl's client-side apply."""


async def apply(
    client: Client, resource: Resource, document: Document, *, dry_run: bool = False
) -> None:
    """Apply a document as `kubectl apply` does, in the way in which its object was applied last.

    An object that was applied server-side is applied by the same manager again; any other object
    gets a merge patch of what was applied last, what is applied now and what is there.
    Raises ApiError, Conflict when another manager of a server-side apply owns a field.
    """
    document, key = _scoped(document, resource), _key(document, resource)
    send = _Sender(client.transport, "All" if dry_run else "")
    try:
        live = await client.get(resource, key)
    except NotFound:
        body = _without_nulls(_annotated(document))
        await send("POST", resource.path(key.namespace), body, CLIENT_SIDE, "application/json")
        return
    path = resource.path(key.namespace, key.name)
    manager = server_side_manager(live)
    if manager is not None:
        await send("PATCH", path, document, manager, APPLY_PATCH)
        return
    patch = three_way(last_applied(live), _annotated(document), live)
    if patch:
        await send("PATCH", path, patch, CLIENT_SIDE, MERGE_PATCH)


def server_side_manager(live: Document) -> str | None:
    """Who applied an object server-side last, None where it was applied otherwise.

    Controllers apply, too: a manager other than kubectl counts only where it is the only one, and
    where kubectl has not created the object.
    """
    appliers, updaters = set[str](), set[str]()
    for entry in live["metadata"].get("managedFields") or ():
        if not entry.get("subresource"):
            found = appliers if entry.get("operation") == "Apply" else updaters
            found.add(entry.get("manager", ""))
    if CLIENT_SIDE in updaters:
        return None  # a server-side apply by kubectl takes this entry over
    if SERVER_SIDE in appliers:
        return SERVER_SIDE
    if updaters & _CREATORS or _annotations(live).get(LAST_APPLIED):
        return None
    others = {one for one in appliers if not one.startswith(_CONTROLLERS)}
    return others.pop() if len(others) == 1 else None


_CREATORS: Final = {"kubectl-create", "kubectl-replace"}
_CONTROLLERS: Final = ("capi-", "kapy")


def last_applied(live: Document) -> Document:
    """What a client-side apply asked for last, {} where nobody did."""
    text = _annotations(live).get(LAST_APPLIED)
    if not text:
        return {}
    try:
        found = decoded(text)
    except BadJson:
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("metadata"), dict) else {}


def without_bookkeeping(document: Document) -> Document:
    """An object as somebody applies it: without what servers and owners write."""
    given = document["metadata"]
    metadata = {name: given[name] for name in _APPLIED if name in given}
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = {
            key: value
            for key, value in annotations.items()
            if key not in (Annotation.PENDING_HOOKS, LAST_APPLIED)
        }
    rest = {name: value for name, value in document.items() if name != "status"}
    return {**rest, "metadata": metadata}


_APPLIED: Final = ("name", "namespace", "labels", "annotations")


class _Sender:
    """Sends writes as kubectl does: with a field manager, and unknown fields are refused."""

    def __init__(self, transport: Transport, dry_run: str) -> None:
        self._transport = transport
        self._query = {"fieldValidation": "Strict"} | ({"dryRun": dry_run} if dry_run else {})

    async def __call__(
        self, method: str, path: str, body: Document, manager: str, media_type: str
    ) -> Document:
        query = {**self._query, "fieldManager": manager}
        request = Request(method, path, query, {"content-type": media_type}, body)
        reply = await self._transport(request)
        if reply.status >= 400:
            raise failure_of(reply)
        return document_of(reply)


def _annotated(document: Document) -> Document:
    """The document with the annotation that says what it is."""
    metadata = document["metadata"]
    own = {key: one for key, one in _annotations(document).items() if key != LAST_APPLIED}
    bare = {**document, "metadata": {**metadata, "annotations": own}}
    text = json.dumps(bare, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    for sign in "<>&":  # as Go's encoder writes them
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    annotations = {**own, LAST_APPLIED: f"{text}\n"}
    return {**document, "metadata": {**metadata, "annotations": annotations}}


def _annotations(document: Document) -> Mapping[str, str]:
    return (document.get("metadata") or {}).get("annotations") or {}


def _scoped(document: Document, resource: Resource) -> Document:
    """The document without a namespace where its kind has none."""
    if resource.namespaced or "namespace" not in document["metadata"]:
        return document
    metadata = {name: one for name, one in document["metadata"].items() if name != "namespace"}
    return {**document, "metadata": metadata}


def _key(document: Document, resource: Resource) -> Key:
    key = Key.of(document)
    return key if resource.namespaced else Key("", key.name)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value
