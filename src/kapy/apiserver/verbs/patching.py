"""patch: JSON, merge and strategic merge patches, and server-side apply."""

from __future__ import annotations

from typing import Any

from kapy.apiserver import body
from kapy.apiserver.ask import Ask
from kapy.apiserver.plane import Plane
from kapy.apiserver.verbs.options import field_validation
from kapy.apiserver.verbs.writing import revise, typed
from kapy.kube import Document
from kapy.kube.errors import BadRequest
from kapy.kube.http import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Reply,
)
from kapy.kube.patch import merge_patch


async def patch(plane: Plane, ask: Ask) -> Reply:
    """Change an object by a patch."""
    dry_run = ask.dry_run("PatchOptions")
    media = body.media_type(ask) or MERGE_PATCH
    checks = field_validation(ask)
    if media not in _accepted(ask):
        raise body.refuse_media_type(_accepted(ask))
    content = body.read(ask, checks.duplicates)

    def change(live: Document | None) -> Document:
        assert live is not None
        return typed(ask, _patched(live, content, media), checks)

    return await revise(plane, ask, change, dry_run=dry_run)


def _accepted(ask: Ask) -> list[str]:
    kinds = [JSON_PATCH, MERGE_PATCH]
    if not ask.kind.custom:
        kinds.append(STRATEGIC_MERGE_PATCH)
    return [*kinds, APPLY_PATCH]


def _patched(live: Document, content: Any, media: str) -> Document:
    if media in (MERGE_PATCH, STRATEGIC_MERGE_PATCH):
        document = merge_patch.apply(live, content)
        if not isinstance(document, dict):
            raise BadRequest("the patch does not give an object")
        return document
    raise BadRequest(f"patches of type {media} are not there yet")
