"""The verb patch: JSON patch, merge patch, strategic merge patch and server-side apply."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from kapy.apiserver.request import body
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.request.parameters import bool_parameter
from kapy.apiserver.resources.kind_errors import conflict, not_found
from kapy.apiserver.resources.structs import MOST_UNKNOWN, facts, json_type_name
from kapy.apiserver.verbs.checks import (
    decode_metadata_only,
    decode_object,
    defaults_are_stored,
    describe_write,
    has_other_type,
)
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.create import (
    check_name,
    check_namespace_of,
    insert,
    restore_empty_metadata,
    set_namespace,
)
from kapy.apiserver.verbs.options import FieldValidation, parse_write_options
from kapy.apiserver.verbs.patch_results import JSONPatchResult, PatchResult, StrategicPatchResult
from kapy.apiserver.verbs.update import write_change
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


async def patch(server: ServerContext, context: RequestContext) -> Reply:
    """Handle the verb patch: change an object and return the response."""
    media = _media_type(context)
    dry_run, checks = parse_write_options(
        context, "PatchOptions", patch_errors(context.request.query, media)
    )
    if media == APPLY_PATCH:
        return await _apply(server, context, checks, dry_run=dry_run)
    if server.table(context.kind).latest(context.namespace, context.name) is None:
        raise not_found(context.kind, context.name)
    if context.is_large:
        content = await context.compute(partial(read_patch, context, checks, media))
    else:
        content = read_patch(context, checks, media)

    def change(live: Document) -> Document:
        document, result = apply_patch(context, live, content, media)
        if document is live and defaults_are_stored(context):
            return live
        read = decode_metadata_only if has_other_type(context, document) else decode_object
        document = read(context, document, checks, patched=result)
        check_identity(context, document["metadata"])
        return document

    return await write_change(server, context, change, dry_run=dry_run, patched=True)


def _media_type(context: RequestContext) -> str:
    """Return the media type of the patch. Raises UnsupportedMediaType."""
    header = context.request.headers.get("content-type", "").partition(";")[0].strip()
    if not header and not isinstance(context.request.body, bytes):
        return MERGE_PATCH
    accepted = [JSON_PATCH, MERGE_PATCH]
    accepted += [APPLY_PATCH] if context.kind.custom else [STRATEGIC_MERGE_PATCH, APPLY_PATCH]
    if header in accepted:
        return header
    if context.kind.custom:
        raise body.unsupported_media_type(accepted)
    raise UnsupportedMediaType("415: Unsupported Media Type", details={})


def _check_identity(context: RequestContext, document: Document, result: PatchResult) -> None:
    """Check that a patch result has a kind and, for a built-in kind, the kind of the request.

    A custom object of another kind is refused later, in `checks.check_type`. Raises Invalid.
    """
    resource = context.kind.resource
    kind, version = document.get("kind"), document.get("apiVersion")
    if kind == resource.kind and version == resource.api_version:
        return
    if kind is None:
        raise result.invalid_error(f"Object 'Kind' is missing in '{result.describe()}'")
    for field, value in (("apiVersion", version), ("kind", kind)):
        if not isinstance(value, str | None):
            why = f"couldn't get version/kind; {body.not_a_string_error(field, value)}"
            raise result.invalid_error(why)
    if context.kind.custom:
        return
    errors: list[FieldError] = []
    if version != resource.api_version:
        errors.append(invalid("apiVersion", version, f"must be {resource.api_version}"))
    if kind != resource.kind:
        errors.append(invalid("kind", kind, f"must be {resource.kind}"))
    if errors:
        group = split_api_version(version or "")[0]
        raise Invalid.of(str(kind), group, context.name, errors)


def patch_errors(query: Mapping[str, str], media: str) -> list[FieldError]:
    """Validate the options that only patches have: `fieldManager` and `force`."""
    errors: list[FieldError] = []
    if media == APPLY_PATCH:
        if not query.get("fieldManager"):
            errors.append(required("fieldManager", "is required for apply patch"))
    elif "force" in query:
        errors.append(forbidden("force", "may not be specified for non-apply patch"))
    return errors


def read_patch(context: RequestContext, checks: FieldValidation, media: str) -> Any:
    """Parse the patch in the body. Raises BadRequest."""
    strategic_merge = media == STRATEGIC_MERGE_PATCH
    prefix = "" if strategic_merge else "error decoding patch: "
    try:
        content = body.decode_body(context, checks.duplicates)
    except body.InvalidJson as error:
        raise BadRequest(f"{prefix}{error}") from None
    if content is not None:
        if media == JSON_PATCH and checks.level != "Ignore":
            check_operations(content, checks)
        return content
    if not context.request.body:
        raise BadRequest(f"{prefix}unexpected end of JSON input")
    if media == MERGE_PATCH:
        raise BadRequest("Invalid JSON Patch")
    return {} if strategic_merge else []


def apply_patch(
    context: RequestContext, live: Document, content: Any, media: str
) -> tuple[Document, PatchResult]:
    """Return the live object with the patch applied; unchanged parts are shared with it."""
    if media == STRATEGIC_MERGE_PATCH:
        return _apply_strategic(context, live, content)
    if media == JSON_PATCH:
        document = json_patch.apply(live, content)
    else:
        if not isinstance(content, dict):
            what = json_type_name(content)
            raise BadRequest(
                f"error decoding patch: json: cannot unmarshal {what} into Go value of type "
                "map[string]interface {}"
            )
        document = merge_patch.apply(live, content)
    if not isinstance(document, dict):
        raise BadRequest("the patch does not give an object")
    result = JSONPatchResult(live, content, context.kind.schema.struct, media)
    if document is not live:
        _check_identity(context, document, result)
    return document, result


def _apply_strategic(
    context: RequestContext, live: Document, content: Any
) -> tuple[Document, PatchResult]:
    """Apply a strategic merge patch, which cannot change the kind or apiVersion of the object."""
    content = body.deep_copy(content)
    document = strategic.merge(live, content, facts()["structs"], context.kind.schema.struct)
    identity = {key: live[key] for key in ("apiVersion", "kind")}
    same = all(document.get(key) == value for key, value in identity.items())
    if not same and all(isinstance(document.get(key), str | None) for key in identity):
        document = {**document, **identity}
    return document, StrategicPatchResult(live, content, context.kind.schema.struct)


def check_operations(content: Any, checks: FieldValidation) -> None:
    """Check that `op`, `path` and `from` of a JSON patch are strings; report unknown fields.

    Raises BadRequest.
    """
    if not isinstance(content, list):
        return
    if checks.duplicates:
        checks.duplicates[:] = [
            f'json patch duplicate field "{duplicate}"' for duplicate in checks.duplicates
        ]
    operations: list[str] = []
    for number, operation in enumerate(content):
        for key, value in operation.items() if isinstance(operation, dict) else ():
            if key in ("op", "path", "from") and not isinstance(value, str | None):
                raise BadRequest(
                    f"error decoding patch: json: cannot unmarshal {json_type_name(value)} into Go "
                    f"struct field jsonPatchOp.{key} of type string"
                )
            if key not in ("op", "path", "from", "value") and len(operations) < MOST_UNKNOWN:
                operations.append(f'json patch unknown field "[{number}].{key}"')
        if not isinstance(operation, dict | None):
            return  # an invalid patch is refused when it is applied
    if checks.duplicates is not None:
        checks.duplicates.extend(operations)


async def _apply(
    server: ServerContext, context: RequestContext, checks: FieldValidation, *, dry_run: bool
) -> Reply:
    """Handle server-side apply: create the object or merge the applied configuration into it."""
    if (
        context.subresource
        and server.table(context.kind).latest(context.namespace, context.name) is None
    ):
        raise not_found(context.kind, context.name)
    applied = await context.compute(partial(read_apply_configuration, context, checks))
    resource = context.kind.resource
    check_type(applied, resource.api_version, resource.kind)
    force = bool_parameter(context.request.query, "force")
    tracker, write = context.kind.schema.tracker, describe_write(server, context)

    def change(live: Document) -> Document:
        merged = tracker.apply(live, applied, write, force=force)
        if _changes_ownership_only(live, merged):
            checks.report(context, [])
            return merged
        meta = merged.get("metadata") or {}
        check_identity(context, meta)
        if meta.get("namespace", "") != context.namespace:
            set_namespace(context, merged)
        return _object_for_webhooks(
            server, context, decode_object(context, merged, checks, applied=applied), merged
        )

    if server.table(context.kind).latest(context.namespace, context.name) is None:
        if context.subresource:
            raise not_found(context.kind, context.name)

        def create_applied() -> Document:
            merged = tracker.apply(None, applied, write, force=force)
            meta = merged.get("metadata") or {}
            if uid := meta.get("uid"):
                raise conflict(context.kind, context.name, _NO_OBJECT.format(uid=uid))
            check_identity(context, meta)
            set_namespace(context, merged)
            return _object_for_webhooks(
                server, context, decode_object(context, merged, checks, applied=applied), merged
            )

        document = await context.compute(create_applied)
        context.check_access("create")
        return await insert(server, context, document, dry_run=dry_run, applied=True)
    return await write_change(server, context, change, dry_run=dry_run, applied=True, patched=True)


def _changes_ownership_only(live: Document, merged: Document) -> bool:
    """Report whether an apply changed at most the field ownership.

    Such an object gets no defaults: an object stored in another version may lack them.
    """
    if merged is live:
        return True
    before, after = live["metadata"], merged.get("metadata") or {}
    same_fields = live.keys() == merged.keys() and all(
        merged[key] is value for key, value in live.items() if key != "metadata"
    )
    return same_fields and all(
        before.get(key) is after.get(key) for key in (before.keys() | after) - {"managedFields"}
    )


def _object_for_webhooks(
    server: ServerContext, context: RequestContext, document: Document, merged: Document
) -> Document:
    """Return an applied object in the form that webhooks get: a custom one has its empty metadata
    fields.
    """
    return (
        restore_empty_metadata(document, merged)
        if server.admission.has_webhooks and context.kind.custom
        else document
    )


def check_identity(context: RequestContext, meta: Document) -> None:
    """Check that the applied object has the name and namespace of the path. Raises BadRequest."""
    check_name(context, meta)
    check_namespace_of(context, meta)


def read_apply_configuration(context: RequestContext, checks: FieldValidation) -> Document:
    """Parse the applied configuration of any kind. Raises BadRequest."""
    raw = context.request.body
    try:
        content = (
            body.decode_yaml(raw, checks.duplicates)
            if isinstance(raw, bytes)
            else body.decode_body(context)
        )
    except body.InvalidJson as error:
        raise BadRequest(f"error decoding YAML: error converting YAML to JSON: {error}") from None
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise BadRequest(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
            f"unmarshal {json_type_name(content)} into Go value of type map[string]interface {{}}"
        )
    return content


_NO_OBJECT = (
    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
)


def check_type(applied: Document, api_version: str, kind: str) -> None:
    """Check that the applied configuration has the kind and version of the path.

    Raises BadRequest.
    """
    identity = applied.get("apiVersion"), applied.get("kind")
    result = [item if isinstance(item, str) else "" for item in identity]
    if result != [api_version, kind]:
        group, version = split_api_version(result[0])
        raise BadRequest(f"invalid object type: {group}/{version}, Kind={result[1]}")
