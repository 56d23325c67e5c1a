"""The verb patch: JSON patch, merge patch, strategic merge patch and server-side apply."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from kapy.apiserver import body
from kapy.apiserver.ask import Ask
from kapy.apiserver.parameters import flag
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import conflict, not_found
from kapy.apiserver.resources.structs import MOST_UNKNOWN, described, facts
from kapy.apiserver.verbs.checks import (
    defaults_are_stored,
    half_typed,
    of_another_type,
    typed,
    write_of,
)
from kapy.apiserver.verbs.creation import (
    check_name,
    check_namespace_of,
    insert,
    settle_namespace,
    with_empty,
)
from kapy.apiserver.verbs.options import Validation, write_options
from kapy.apiserver.verbs.patch_results import Patched, PatchedMap, PatchedText
from kapy.apiserver.verbs.revision import revise
from kapy.kube import Document
from kapy.kube.errors import BadRequest, Invalid, UnsupportedMediaType
from kapy.kube.field_errors import FieldError, forbidden, invalid, required
from kapy.kube.http import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    Reply,
)
from kapy.kube.names import split_api_version
from kapy.kube.patch import json_patch, merge_patch, strategic


async def patch(plane: Plane, ask: Ask) -> Reply:
    """Patch an object."""
    media = _media_type(ask)
    dry_run, checks = write_options(ask, "PatchOptions", patch_errors(ask.request.query, media))
    if media == APPLY_PATCH:
        return await _apply(plane, ask, checks, dry_run=dry_run)
    if plane.table(ask.kind).latest(ask.namespace, ask.name) is None:
        raise not_found(ask.kind, ask.name)
    if ask.large:
        content = await ask.compute(partial(read_patch, ask, checks, media))
    else:
        content = read_patch(ask, checks, media)

    def change(live: Document) -> Document:
        document, result = patched(ask, live, content, media)
        if document is live and defaults_are_stored(ask):
            return live
        read = half_typed if of_another_type(ask, document) else typed
        document = read(ask, document, checks, patched=result)
        check_identity_of(ask, document["metadata"])
        return document

    return await revise(plane, ask, change, dry_run=dry_run, patched=True)


def _media_type(ask: Ask) -> str:
    """Return the media type of the patch. Raises UnsupportedMediaType."""
    header = ask.request.headers.get("content-type", "").partition(";")[0].strip()
    if not header and not isinstance(ask.request.body, bytes):
        return MERGE_PATCH
    accepted = [JSON_PATCH, MERGE_PATCH]
    accepted += [APPLY_PATCH] if ask.kind.custom else [STRATEGIC_MERGE_PATCH, APPLY_PATCH]
    if header in accepted:
        return header
    if ask.kind.custom:
        raise body.refuse_media_type(accepted)
    raise UnsupportedMediaType("415: Unsupported Media Type", details={})


def _check_identity(ask: Ask, document: Document, result: Patched) -> None:
    """Check that a patch result has a kind and, for a built-in kind, the kind of the request.

    A custom object of another kind is refused later, in `checks.check_type`. Raises Invalid.
    """
    resource = ask.kind.resource
    kind, version = document.get("kind"), document.get("apiVersion")
    if kind == resource.kind and version == resource.api_version:
        return
    if kind is None:
        raise result.refusal(f"Object 'Kind' is missing in '{result.shown()}'")
    for field, value in (("apiVersion", version), ("kind", kind)):
        if not isinstance(value, str | None):
            why = f"couldn't get version/kind; {body.not_a_text(field, value)}"
            raise result.refusal(why)
    if ask.kind.custom:
        return
    errors: list[FieldError] = []
    if version != resource.api_version:
        errors.append(invalid("apiVersion", version, f"must be {resource.api_version}"))
    if kind != resource.kind:
        errors.append(invalid("kind", kind, f"must be {resource.kind}"))
    if errors:
        group = split_api_version(version or "")[0]
        raise Invalid.of(str(kind), group, ask.name, errors)


def patch_errors(query: Mapping[str, str], media: str) -> list[FieldError]:
    """Validate the options that only patches have: `fieldManager` and `force`."""
    errors: list[FieldError] = []
    if media == APPLY_PATCH:
        if not query.get("fieldManager"):
            errors.append(required("fieldManager", "is required for apply patch"))
    elif "force" in query:
        errors.append(forbidden("force", "may not be specified for non-apply patch"))
    return errors


def read_patch(ask: Ask, checks: Validation, media: str) -> Any:
    """Parse the patch in the body. Raises BadRequest."""
    strategic_merge = media == STRATEGIC_MERGE_PATCH
    prefix = "" if strategic_merge else "error decoding patch: "
    try:
        content = body.read(ask, checks.duplicates)
    except body.NotJson as error:
        raise BadRequest(f"{prefix}{error}") from None
    if content is not None:
        if media == JSON_PATCH and checks.level != "Ignore":
            check_operations(content, checks)
        return content
    if not ask.request.body:
        raise BadRequest(f"{prefix}unexpected end of JSON input")
    if media == MERGE_PATCH:
        raise BadRequest("Invalid JSON Patch")
    return {} if strategic_merge else []


def patched(ask: Ask, live: Document, content: Any, media: str) -> tuple[Document, Patched]:
    """Return the live object with the patch applied; unchanged parts are shared with it."""
    if media == STRATEGIC_MERGE_PATCH:
        return _strategic(ask, live, content)
    if media == JSON_PATCH:
        document = json_patch.apply(live, content)
    else:
        if not isinstance(content, dict):
            what = described(content)
            raise BadRequest(
                f"error decoding patch: json: cannot unmarshal {what} into Go value of type "
                "map[string]interface {}"
            )
        document = merge_patch.apply(live, content)
    if not isinstance(document, dict):
        raise BadRequest("the patch does not give an object")
    result = PatchedText(live, content, ask.kind.schema.struct, media)
    if document is not live:
        _check_identity(ask, document, result)
    return document, result


def _strategic(ask: Ask, live: Document, content: Any) -> tuple[Document, Patched]:
    """Apply a strategic merge patch, which cannot change the kind or apiVersion of the object."""
    content = body.copied(content)
    document = strategic.merge(live, content, facts()["structs"], ask.kind.schema.struct)
    known = {key: live[key] for key in ("apiVersion", "kind")}
    same = all(document.get(key) == value for key, value in known.items())
    if not same and all(isinstance(document.get(key), str | None) for key in known):
        document = {**document, **known}
    return document, PatchedMap(live, content, ask.kind.schema.struct)


def check_operations(content: Any, checks: Validation) -> None:
    """Check that `op`, `path` and `from` of a JSON patch are strings; report unknown fields.

    Raises BadRequest.
    """
    if not isinstance(content, list):
        return
    if checks.duplicates:
        checks.duplicates[:] = [f'json patch duplicate field "{one}"' for one in checks.duplicates]
    told: list[str] = []
    for number, operation in enumerate(content):
        for key, value in operation.items() if isinstance(operation, dict) else ():
            if key in ("op", "path", "from") and not isinstance(value, str | None):
                raise BadRequest(
                    f"error decoding patch: json: cannot unmarshal {described(value)} into Go "
                    f"struct field jsonPatchOp.{key} of type string"
                )
            if key not in ("op", "path", "from", "value") and len(told) < MOST_UNKNOWN:
                told.append(f'json patch unknown field "[{number}].{key}"')
        if not isinstance(operation, dict | None):
            return  # an invalid patch is refused when it is applied
    if checks.duplicates is not None:
        checks.duplicates.extend(told)


async def _apply(plane: Plane, ask: Ask, checks: Validation, *, dry_run: bool) -> Reply:
    """Handle server-side apply: create the object or merge the applied configuration into it."""
    if ask.subresource and plane.table(ask.kind).latest(ask.namespace, ask.name) is None:
        raise not_found(ask.kind, ask.name)
    applied = await ask.compute(partial(read_applied, ask, checks))
    resource = ask.kind.resource
    check_type(applied, resource.api_version, resource.kind)
    force = flag(ask.request.query, "force")
    tracker, write = ask.kind.schema.tracker, write_of(plane, ask)

    def change(live: Document) -> Document:
        merged = tracker.apply(live, applied, write, force=force)
        if _owners_alone(live, merged):
            checks.report(ask, [])
            return merged
        meta = merged.get("metadata") or {}
        check_identity_of(ask, meta)
        if meta.get("namespace", "") != ask.namespace:
            settle_namespace(ask, merged)
        return _seen(plane, ask, typed(ask, merged, checks, applied=applied), merged)

    if plane.table(ask.kind).latest(ask.namespace, ask.name) is None:
        if ask.subresource:
            raise not_found(ask.kind, ask.name)

        def made() -> Document:
            merged = tracker.apply(None, applied, write, force=force)
            meta = merged.get("metadata") or {}
            if uid := meta.get("uid"):
                raise conflict(ask.kind, ask.name, _NO_OBJECT.format(uid=uid))
            check_identity_of(ask, meta)
            settle_namespace(ask, merged)
            return _seen(plane, ask, typed(ask, merged, checks, applied=applied), merged)

        document = await ask.compute(made)
        ask.check("create")
        return await insert(plane, ask, document, dry_run=dry_run, applied=True)
    return await revise(plane, ask, change, dry_run=dry_run, applied=True, patched=True)


def _owners_alone(live: Document, merged: Document) -> bool:
    """Report whether an apply changed at most the field ownership.

    Such an object gets no defaults: an object stored in another version may lack them.
    """
    if merged is live:
        return True
    before, after = live["metadata"], merged.get("metadata") or {}
    kept = live.keys() == merged.keys() and all(
        merged[key] is one for key, one in live.items() if key != "metadata"
    )
    return kept and all(
        before.get(key) is after.get(key) for key in (before.keys() | after) - {"managedFields"}
    )


def _seen(plane: Plane, ask: Ask, document: Document, merged: Document) -> Document:
    """Return an applied object as webhooks see it: a custom one with its empty metadata fields."""
    return with_empty(document, merged) if plane.webhooks and ask.kind.custom else document


def check_identity_of(ask: Ask, meta: Document) -> None:
    """Check that the applied object has the name and namespace of the path. Raises BadRequest."""
    check_name(ask, meta)
    check_namespace_of(ask, meta)


def read_applied(ask: Ask, checks: Validation) -> Document:
    """Parse the applied configuration of any kind. Raises BadRequest."""
    raw = ask.request.body
    try:
        content = (
            body.from_yaml(raw, checks.duplicates) if isinstance(raw, bytes) else body.read(ask)
        )
    except body.NotJson as error:
        raise BadRequest(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise BadRequest(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
            f"unmarshal {described(content)} into Go value of type map[string]interface {{}}"
        )
    return content


_NO_OBJECT = (
    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
)


def check_type(applied: Document, api_version: str, kind: str) -> None:
    """Check that the applied configuration has the kind and version of the path.

    Raises BadRequest.
    """
    given = applied.get("apiVersion"), applied.get("kind")
    found = [one if isinstance(one, str) else "" for one in given]
    if found != [api_version, kind]:
        group, version = split_api_version(found[0])
        raise BadRequest(f"invalid object type: {group}/{version}, Kind={found[1]}")
