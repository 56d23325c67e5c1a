"""The subresource `scale`: an autoscaling/v1 Scale derived from and written to an object."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from msgspec import structs

from kapy.apiserver.request import body
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.request.negotiation import negotiate
from kapy.apiserver.request.parameters import bool_parameter
from kapy.apiserver.resources.kind_errors import invalid_object, not_found
from kapy.apiserver.resources.scale import BUILT_IN_PATHS, get_path, scale_of, set_path
from kapy.apiserver.resources.structs import WrongType, decoder
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.create import check_name, check_namespace_of
from kapy.apiserver.verbs.options import FieldValidation, parse_write_options
from kapy.apiserver.verbs.patch import (
    check_identity,
    check_type,
    patch_errors,
    read_apply_configuration,
    read_patch,
)
from kapy.apiserver.verbs.patch_results import JSONPatchResult
from kapy.apiserver.verbs.read import get_stored, to_requested_version
from kapy.apiserver.verbs.scale_managed_fields import API_VERSION, apply_scale, managers_after_write
from kapy.apiserver.verbs.serialization import partial_metadata
from kapy.apiserver.verbs.update import write_change
from kapy.kube import Document
from kapy.kube.errors import BadRequest, NotAcceptable
from kapy.kube.field_errors import invalid
from kapy.kube.http import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Reply
from kapy.kube.names import Resource, split_api_version
from kapy.kube.patch import json_patch, merge_patch

_STRUCT = "autoscaling.v1.Scale"


def scale_of_request(context: RequestContext, document: Document) -> Document:
    """Return the Scale of an object. Raises StorageFailure if the object has no replicas."""
    return scale_of(context.kind, document)


async def get(server: ServerContext, context: RequestContext) -> Reply:
    """Return the Scale of an object."""
    document = await to_requested_version(server, context, get_stored(server, context))
    return _reply(server, context, scale_of_request(context, document))


def _reply(
    server: ServerContext, context: RequestContext, scale: Document, status: int = 200
) -> Reply:
    """Encode a Scale in the form that the client accepts. Raises NotAcceptable, BadRequest."""
    accept = negotiate(context.request.headers)
    if accept.form == "Table":
        from kapy.apiserver.verbs.tables import scale_table

        scale = scale_table(context, scale, accept.version, server.clock)
    elif accept.form == "PartialObjectMetadata":
        scale = partial_metadata(scale, accept.version)
    elif accept.form:
        what = "*v1.Scale" if context.kind.custom else "*autoscaling.Scale"
        raise NotAcceptable(
            f"you requested {accept.form}, but the requested object is not a list ({what})"
        )
    return Reply(status, scale)


async def update(server: ServerContext, context: RequestContext) -> Reply:
    """Update the Scale of an object."""
    dry_run, checks = parse_write_options(context, "UpdateOptions")
    scale = await context.compute(partial(_read, context, checks))
    return await _write_change(server, context, lambda _live: scale, dry_run=dry_run)


def _read(context: RequestContext, checks: FieldValidation) -> Document:
    body.check_media_type(context)
    try:
        scale = _decode(context, checks)
    except BadRequest:
        if not context.kind.custom:
            raise
        # For custom resources kube-apiserver fails here, because its scheme lacks the Scale.
        why = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
        raise BadRequest(why) from None
    meta = scale.get("metadata") or {}
    check_name(context, meta)
    check_namespace_of(context, meta)
    return scale


def _decode(context: RequestContext, checks: FieldValidation) -> Document:
    resource = Resource("autoscaling", "v1", "scales", "Scale", namespaced=True)
    request_context = structs.replace(
        context, kind=replace(context.kind, resource=resource, custom=False)
    )
    scale, unknown = body.read_object(request_context, checks.duplicates), list[str]()
    try:
        decoded: Document = decoder(_STRUCT)(scale, None, unknown)
    except WrongType as error:
        why = f'Scale in version "v1" cannot be handled as a Scale: {error}'
        raise BadRequest(why) from None
    checks.report(request_context, unknown)
    return decoded


async def patch(server: ServerContext, context: RequestContext) -> Reply:
    """Patch the Scale of an object."""
    media = body.media_type(context) or MERGE_PATCH
    accepted = [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH]
    if media not in accepted:
        raise body.unsupported_media_type(accepted)
    dry_run, checks = parse_write_options(
        context, "PatchOptions", patch_errors(context.request.query, media)
    )
    if media == APPLY_PATCH:
        return await _apply(server, context, checks, dry_run=dry_run)
    if server.table(context.kind).latest(context.namespace, context.name) is None:
        raise not_found(context.kind, context.name)
    content = await context.compute(partial(read_patch, context, checks, media))

    def change(live: Document) -> Document:
        scale: Any
        if media == JSON_PATCH:
            scale = json_patch.apply(live, content)
        else:
            scale = merge_patch.apply(live, content)
        if not isinstance(scale, dict):
            raise BadRequest("the patch does not give an object")
        try:
            decoded: Document = decoder(_STRUCT)(scale, None, [])
        except WrongType as error:
            result = JSONPatchResult(live, content, _STRUCT, media)
            decoded = result.repair(scale, error)
        return decoded

    return await _write_change(server, context, change, dry_run=dry_run)


async def _apply(
    server: ServerContext, context: RequestContext, checks: FieldValidation, *, dry_run: bool
) -> Reply:
    """Handle server-side apply of a Scale."""
    if server.table(context.kind).latest(context.namespace, context.name) is None:
        raise not_found(context.kind, context.name)
    applied = read_apply_configuration(context, checks)
    check_type(applied, API_VERSION, "Scale")
    force = bool_parameter(context.request.query, "force")
    paths = _replicas_paths(server, context)

    def change(live: Document) -> Document:
        scale = _lenient_scale(context, live)
        merged, entries = apply_scale(context, live, scale, applied, paths, force=force)
        check_identity(context, merged["metadata"])
        return _with_managed_fields(_set_scale(context, live, merged), entries)

    reply = await write_change(server, context, change, dry_run=dry_run, applied=True)
    document: Any = reply.body
    return _reply(server, context, scale_of_request(context, document), reply.status)


async def _write_change(
    server: ServerContext,
    context: RequestContext,
    change: Callable[[Document], Document],
    *,
    dry_run: bool,
) -> Reply:
    paths = _replicas_paths(server, context)

    def set_replicas(live: Document) -> Document:
        before = _lenient_scale(context, live)
        wanted = change(before)
        document = _set_scale(context, live, wanted)
        return _with_managed_fields(
            document, managers_after_write(context, live, before, wanted, paths)
        )

    reply = await write_change(server, context, set_replicas, dry_run=dry_run, applied=True)
    document: Any = reply.body
    return _reply(server, context, scale_of_request(context, document), reply.status)


def _replicas_paths(server: ServerContext, context: RequestContext) -> dict[str, str]:
    """Return the path of `replicas` for each version of the kind that has a Scale."""
    resource, result = context.kind.resource, dict[str, str]()
    for version in context.kind.schema.tracker.versions:
        group, number = split_api_version(version)
        kind = server.registry.find(group, number, resource.plural)
        if kind is not None and (kind.scale or not kind.custom):
            result[version] = (kind.scale or BUILT_IN_PATHS)["specReplicasPath"]
    return result


def _set_scale(context: RequestContext, live: Document, scale: Document) -> Document:
    """Return the object with the replicas and the resourceVersion of a Scale."""
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    _check(context, live, replicas)
    wanted = set_path(live, (context.kind.scale or BUILT_IN_PATHS)["specReplicasPath"], replicas)
    version = (scale.get("metadata") or {}).get("resourceVersion")
    meta = {**wanted["metadata"]}
    if version:
        meta["resourceVersion"] = version
    return {**wanted, "metadata": meta}


def _with_managed_fields(document: Document, entries: list[Document]) -> Document:
    """Return the object with these managedFields."""
    meta = {key: value for key, value in document["metadata"].items() if key != "managedFields"}
    return {**document, "metadata": {**meta, "managedFields": entries} if entries else meta}


def _lenient_scale(context: RequestContext, live: Document) -> Document:
    paths = context.kind.scale or BUILT_IN_PATHS
    if get_path(live, paths["specReplicasPath"], int) is None:
        live = set_path(live, paths["specReplicasPath"], 0)
    return scale_of_request(context, live)


def _check(context: RequestContext, live: Document, replicas: int) -> None:
    if replicas < 0:
        path = (context.kind.scale or BUILT_IN_PATHS)["specReplicasPath"]
        errors = context.kind.schema.errors(set_path(live, path, replicas), live)
        negative = invalid(path, replicas, "should be a non-negative integer")
        others = [error for error in errors if error != negative]
        raise invalid_object(context.kind, context.name, [negative, *others])


VERBS: dict[str, Callable[[ServerContext, RequestContext], Awaitable[Reply]]] = {
    "get": get,
    "update": update,
    "patch": patch,
}
