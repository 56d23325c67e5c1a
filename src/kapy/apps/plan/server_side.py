"""Sends the same requests as `kubectl apply --server-side`."""

from __future__ import annotations

from typing import Any, Final

from kapy.apps.plan.manner import ApplyOptions
from kapy.apps.plan.sender import Sender
from kapy.kube import Document
from kapy.kube.apply.last_applied import ANNOTATION, MANAGER
from kapy.kube.apply.migration import migrate_entries, owns_annotation
from kapy.kube.http import APPLY_PATCH, JSON_PATCH

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
    """The object after the last-applied annotation, if it exists, got a server-side apply owner."""
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
