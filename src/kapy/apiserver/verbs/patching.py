"""patch: JSON, merge and strategic merge patches, and server-side apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapy.apiserver import body
from kapy.apiserver.ask import Ask
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import invalid_options, not_found
from kapy.apiserver.resources.structs import facts
from kapy.apiserver.verbs.checks import typed, write_of
from kapy.apiserver.verbs.creation import insert, settle_namespace
from kapy.apiserver.verbs.options import Validation, check_manager, field_validation
from kapy.apiserver.verbs.revision import revise
from kapy.kube import Document
from kapy.kube.errors import BadRequest
from kapy.kube.field_errors import FieldError, forbidden, required
from kapy.kube.http import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Reply,
)
from kapy.kube.patch import json_patch, merge_patch, strategic


async def patch(plane: Plane, ask: Ask) -> Reply:
    """Change an object by a patch."""
    media = body.media_type(ask) or MERGE_PATCH
    accepted = [JSON_PATCH, MERGE_PATCH]
    accepted += [APPLY_PATCH] if ask.kind.custom else [STRATEGIC_MERGE_PATCH, APPLY_PATCH]
    if media not in accepted:
        raise body.refuse_media_type(accepted)
    dry_run = ask.dry_run("PatchOptions")
    _check_options(ask.request.query, media)
    check_manager(ask, "PatchOptions")
    checks = field_validation(ask, "PatchOptions")
    if media == APPLY_PATCH:
        return await _apply(plane, ask, checks, dry_run=dry_run)
    content = read_patch(ask, checks)

    def change(live: Document) -> Document:
        document = patched(ask, live, content, media)
        return live if document is live else typed(ask, document, checks)

    return await revise(plane, ask, change, dry_run=dry_run)


def _check_options(query: Mapping[str, str], media: str) -> None:
    errors: list[FieldError] = []
    if media == APPLY_PATCH:
        if not query.get("fieldManager"):
            errors.append(required("fieldManager", "is required for apply patch"))
    elif "force" in query:
        errors.append(forbidden("force", "may not be specified for non-apply patch"))
    if errors:
        raise invalid_options("PatchOptions", errors)


def read_patch(ask: Ask, checks: Validation) -> Any:
    """The patch of the body. Raises BadRequest."""
    try:
        return body.read(ask, checks.duplicates)
    except body.NotJson as error:
        raise BadRequest(f"error decoding patch: {error}") from None


def patched(ask: Ask, live: Document, content: Any, media: str) -> Document:
    """The live object after the patch; parts that did not change are shared with it."""
    if media == JSON_PATCH:
        document = json_patch.apply(live, content)
    elif media == STRATEGIC_MERGE_PATCH:
        document = strategic.apply(live, content, facts()["structs"], ask.kind.schema.struct)
    else:
        document = merge_patch.apply(live, content)
    if not isinstance(document, dict):
        raise BadRequest("the patch does not give an object")
    return document


async def _apply(plane: Plane, ask: Ask, checks: Validation, *, dry_run: bool) -> Reply:
    """Server-side apply: create the object, or merge what is applied into it."""
    applied = _read_applied(ask, checks)
    settle_namespace(ask, applied)
    force = ask.request.query.get("force") in ("true", "1")
    tracker, write = ask.kind.schema.tracker, write_of(plane, ask)

    def change(live: Document) -> Document:
        merged = tracker.apply(live, applied, write, force=force)
        return live if merged is live else typed(ask, merged, checks)

    if plane.table(ask.kind).latest(ask.namespace, ask.name) is None:
        if ask.subresource:
            raise not_found(ask.kind, ask.name)
        merged = tracker.apply(None, applied, write, force=force)
        return await insert(plane, ask, typed(ask, merged, checks), dry_run=dry_run, applied=True)
    return await revise(plane, ask, change, dry_run=dry_run, applied=True)


def _read_applied(ask: Ask, checks: Validation) -> Document:
    raw = ask.request.body
    try:
        content = (
            body.from_yaml(raw, checks.duplicates) if isinstance(raw, bytes) else body.read(ask)
        )
    except body.NotJson as error:
        raise BadRequest(f"error decoding YAML: {error}") from None
    if not isinstance(content, dict):
        raise BadRequest("error decoding YAML: the body is no object")
    if not isinstance(content.get("metadata"), dict):
        content["metadata"] = {}
    content["metadata"].setdefault("name", ask.name)
    return content
