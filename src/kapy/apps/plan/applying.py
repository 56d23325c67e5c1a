"""Sends the same requests to an API server as `kubectl apply`, also with `--server-side`.

All writes have a field manager and strict field validation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from kapy.api.names import Annotation
from kapy.apiserver.resources.structs import facts
from kapy.apps.plan.manner import DEFAULT, ApplyOptions
from kapy.client.client import Client
from kapy.client.reply import document_of, failure_of
from kapy.kube import Document, Key
from kapy.kube.apply.last_applied import ANNOTATION, MANAGER, migrate_entries, owns_annotation
from kapy.kube.apply.last_applied import ANNOTATION as LAST_APPLIED
from kapy.kube.apply.last_applied import MANAGER as SERVER_SIDE
from kapy.kube.errors import NotFound
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.kube.http import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Request,
    Transport,
)
from kapy.kube.names import Resource
from kapy.kube.patch.merge_patch import three_way, without_nulls
from kapy.kube.patch.strategic_three_way import strategic_three_way


class Sender:
    """Sends writes to an API server. dry_run: "All" for requests that store nothing, else ""."""

    def __init__(self, transport: Transport, dry_run: str) -> None:
        self._transport = transport
        self._query = {"fieldValidation": "Strict"} | ({"dryRun": dry_run} if dry_run else {})

    @property
    def is_dry(self) -> bool:
        """Whether requests store nothing."""
        return "dryRun" in self._query

    async def __call__(
        self,
        method: str,
        path: str,
        body: Any,
        manager: str,
        media_type: str,
        *,
        force: bool = False,
    ) -> Document:
        """Send a write; returns the resulting object. Raises ApiError."""
        query = {**self._query, "fieldManager": manager} | ({"force": "true"} if force else {})
        request = Request(method, path, query, {"content-type": media_type}, body)
        reply = await self._transport(request)
        if reply.status >= 400:
            raise failure_of(reply)
        return document_of(reply)


LAST_APPLIED_OWNER: Final = "kubectl-last-applied"
"""The field manager that keeps the annotation of an earlier client-side apply."""


async def server_side(send: Sender, path: str, document: Document, options: ApplyOptions) -> None:
    """Apply an object, and take over the fields of an earlier client-side apply.

    Raises Conflict if others own a field with another value, unless it is forced.
    """
    manager = options.manager or MANAGER

    async def apply() -> Document:
        return await send("PATCH", path, document, manager, APPLY_PATCH, force=options.force)

    live = await apply()
    if send.is_dry:
        return  # nothing was stored, so nothing can be migrated
    if manager == MANAGER:
        live = await _own_last_applied(send, path, live)
    entries = migrate_entries(live["metadata"].get("managedFields") or (), manager)
    if entries is None:
        return
    patch: list[dict[str, Any]] = [
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        {
            "op": "replace",
            "path": "/metadata/resourceVersion",
            "value": live["metadata"]["resourceVersion"],
        },
    ]
    await send("PATCH", path, patch, manager, JSON_PATCH)
    await apply()  # removes fields that only this manager owns and that it no longer applies


async def _own_last_applied(send: Sender, path: str, live: Document) -> Document:
    """Return the object after the last-applied annotation, if it exists, got a server-side apply
    owner.
    """
    metadata = live["metadata"]
    text = (metadata.get("annotations") or {}).get(ANNOTATION)
    owners = (
        field
        for field in metadata.get("managedFields") or ()
        if field.get("operation") == "Apply" and owns_annotation(field.get("fieldsV1") or {})
    )
    if text is None or next(owners, None) is not None:
        return live
    named = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    annotated = {
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        "metadata": {**named, "annotations": {ANNOTATION: text}},
    }
    return await send("PATCH", path, annotated, LAST_APPLIED_OWNER, APPLY_PATCH)


CLIENT_SIDE: Final = "kubectl-client-side-apply"
"""The field manager of kubectl's client-side apply."""


async def apply(
    client: Client,
    resource: Resource,
    document: Document,
    options: ApplyOptions = DEFAULT,
    *,
    dry_run: bool = False,
) -> None:
    """Apply a document as `kubectl apply` does.

    By default, an object that was last applied server-side is applied by the same manager again.
    Any other object gets a patch computed from the last applied, the new and the live object: a
    strategic merge patch for built-in kinds, a merge patch for custom ones. Raises ApiError,
    Conflict if another manager of a server-side apply owns a field.
    """
    document, key = _with_scope(document, resource), _key(document, resource)
    send = Sender(client.transport, "All" if dry_run else "")
    path = resource.path(key.namespace, key.name)
    if options.server_side:
        await server_side(send, path, document, options)
        return
    manager = options.manager or CLIENT_SIDE
    try:
        live = await client.get(resource, key)
    except NotFound:
        body = without_nulls(_with_last_applied(document))
        await send("POST", resource.path(key.namespace), body, manager, "application/json")
        return
    applier = None if options.manager else server_side_manager(live)
    if applier is not None:
        await send("PATCH", path, document, applier, APPLY_PATCH)
        return
    patch, media_type = _patch(resource, live, _with_last_applied(document))
    if patch:
        await send("PATCH", path, patch, manager, media_type)


def _patch(resource: Resource, live: Document, modified: Document) -> tuple[Document, str]:
    """Return the patch from a live object to the applied one, and its media type."""
    version = f"{resource.group}/{resource.version}/{resource.kind}"
    struct = facts()["kinds"].get(version)
    original = last_applied(live)
    if struct is None:
        return three_way(original, modified, live), MERGE_PATCH
    patch = strategic_three_way(original, modified, live, facts()["structs"], struct)
    return patch, STRATEGIC_MERGE_PATCH


def server_side_manager(live: Document) -> str | None:
    """Return the last server-side apply manager of an object, None if it was applied otherwise.

    Controllers apply, too: a manager other than kubectl only counts if it is the only one and
    kubectl did not create the object.
    """
    appliers, updaters = set[str](), set[str]()
    for entry in live["metadata"].get("managedFields") or ():
        if not entry.get("subresource"):
            result = appliers if entry.get("operation") == "Apply" else updaters
            result.add(entry.get("manager", ""))
    if CLIENT_SIDE in updaters:
        return None  # a server-side apply by kubectl takes this entry over
    if SERVER_SIDE in appliers:
        return SERVER_SIDE
    if updaters & _CREATORS or _annotations(live).get(LAST_APPLIED):
        return None
    others = {applier for applier in appliers if not applier.startswith(_CONTROLLERS)}
    return others.pop() if len(others) == 1 else None


_CREATORS: Final = {"kubectl-create", "kubectl-replace"}
_CONTROLLERS: Final = ("capi-", "kapy")


def last_applied(live: Document) -> Document:
    """Return the object of the last client-side apply, {} if there was none."""
    text = _annotations(live).get(LAST_APPLIED)
    if not text:
        return {}
    try:
        result = decode_json(text)
    except BadJson:
        return {}
    return result if isinstance(result, dict) and isinstance(result.get("metadata"), dict) else {}


def without_bookkeeping(document: Document) -> Document:
    """Return the object without the fields that servers and owners write."""
    source_metadata = document["metadata"]
    metadata = {name: source_metadata[name] for name in _APPLIED if name in source_metadata}
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = {
            key: value
            for key, value in annotations.items()
            if key not in (Annotation.PENDING_HOOKS, LAST_APPLIED)
        }
    rest = {name: value for name, value in document.items() if name != "status"}
    return {**rest, "metadata": metadata}


_APPLIED: Final = ("name", "namespace", "labels", "annotations")


def _with_last_applied(document: Document) -> Document:
    """Return the document with the last-applied annotation."""
    metadata = document["metadata"]
    own = {
        key: annotation for key, annotation in _annotations(document).items() if key != LAST_APPLIED
    }
    bare = {**document, "metadata": {**metadata, "annotations": own}}
    text = json.dumps(bare, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    for sign in "<>&":  # as Go's encoder writes them
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    annotations = {**own, LAST_APPLIED: f"{text}\n"}
    return {**document, "metadata": {**metadata, "annotations": annotations}}


def _annotations(document: Document) -> Mapping[str, str]:
    return (document.get("metadata") or {}).get("annotations") or {}


def _with_scope(document: Document, resource: Resource) -> Document:
    """Return the document, without a namespace if its kind is cluster-scoped."""
    if resource.namespaced or "namespace" not in document["metadata"]:
        return document
    metadata = {name: value for name, value in document["metadata"].items() if name != "namespace"}
    return {**document, "metadata": metadata}


def _key(document: Document, resource: Resource) -> Key:
    key = Key.of(document)
    return key if resource.namespaced else Key("", key.name)
