"""The subresource `scale`: an autoscaling/v1 Scale derived from and written to an object.

The managers of `replicas` become managers of `spec.replicas` of the Scale. The Scale is then
written like any object, and its managers become managers of the object's `replicas` again. As in
kube-apiserver, an update of an owned `replicas` creates a separate entry without a time, and no
manager is recorded while the object has none. kube-apiserver fails when it converts an applied
Scale of a custom resource; this server returns the same error after the check for conflicts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypeAlias

from msgspec import structs

from kapy.apiserver.errors import StorageFailure, failure_status
from kapy.apiserver.request import body
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.request.negotiation import negotiate
from kapy.apiserver.request.parameters import bool_parameter
from kapy.apiserver.resources.kind_errors import invalid_object, not_found
from kapy.apiserver.resources.scale import BUILT_IN_PATHS, get_path, scale_of, set_path
from kapy.apiserver.resources.structs import WrongType, decoder, facts
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
from kapy.apiserver.verbs.serialization import partial_metadata
from kapy.apiserver.verbs.update import write_change
from kapy.kube import Document
from kapy.kube.apply import Tracker, Types, Write, managers
from kapy.kube.apply.fields import contains, difference, of_path
from kapy.kube.errors import ApiError, BadRequest, NotAcceptable
from kapy.kube.field_errors import invalid
from kapy.kube.http import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Reply
from kapy.kube.names import Resource, split_api_version
from kapy.kube.patch import json_patch, merge_patch

_STRUCT = "autoscaling.v1.Scale"


async def get(server: ServerContext, context: RequestContext) -> Reply:
    """Return the Scale of an object. Raises StorageFailure if the object has no replicas."""
    document = await to_requested_version(server, context, get_stored(server, context))
    return _reply(server, context, scale_of(context.kind, document))


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
    check_type(applied, _API_VERSION, "Scale")
    force = bool_parameter(context.request.query, "force")
    paths = _replicas_paths(server, context)

    def change(live: Document) -> Document:
        scale = _lenient_scale(context, live)
        merged, entries = _apply_scale(context, live, scale, applied, paths, force=force)
        check_identity(context, merged["metadata"])
        return _with_managed_fields(_set_scale(context, live, merged), entries)

    reply = await write_change(server, context, change, dry_run=dry_run, applied=True)
    document: Any = reply.body
    return _reply(server, context, scale_of(context.kind, document), reply.status)


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
            document, _managers_after_write(context, live, before, wanted, paths)
        )

    reply = await write_change(server, context, set_replicas, dry_run=dry_run, applied=True)
    document: Any = reply.body
    return _reply(server, context, scale_of(context.kind, document), reply.status)


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
    return scale_of(context.kind, live)


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


_Paths: TypeAlias = Mapping[str, str]
"""The path of `replicas` in an object, by the object's apiVersion."""

_API_VERSION = "autoscaling/v1"
_IN_SCALE = ("f:spec", "f:replicas")
_NO_VERSION = f"request to convert CR to an invalid group/version: {_API_VERSION}"


@cache
def _tracker() -> Tracker:
    zero = decoder(_STRUCT)({}, None, [])
    return Tracker({_API_VERSION: Types.of_struct(facts()["structs"], _STRUCT, zero=zero)})


class _ScaleManagers:
    """The managers of an object's fields and of its Scale.

    paths: the path of `replicas` by apiVersion.
    """

    def __init__(self, context: RequestContext, live: Document, paths: _Paths) -> None:
        versions = context.kind.schema.tracker.versions
        result = managers.read(live["metadata"].get("managedFields") or ())
        self._version = context.kind.resource.api_version
        self._paths = {version: _steps(path) for version, path in paths.items()}
        self._found = {
            who: managed_entry
            for who, managed_entry in result.items()
            if managed_entry.api_version in versions
        }

    def of_scale(self) -> list[Document]:
        """Return the managedFields of the Scale."""
        fields = of_path(_IN_SCALE)
        return managers.encode_entries(
            {
                who: managers.ManagedEntry(_API_VERSION, fields, managed_entry.time)
                for who, managed_entry in self._found.items()
                if self._owns_replicas(managed_entry)
            }
        )

    def of_object(self, scale: list[Document]) -> list[Document]:
        """Return the managedFields of the object, given those of the Scale."""
        remaining = managers.read(scale)
        result: managers.Managers = {}
        for who, managed_entry in self._found.items():
            if not self._owns_replicas(managed_entry) or remaining.pop(who, None) is not None:
                result[who] = managed_entry
            elif fields := difference(
                managed_entry.fields, of_path(self._paths[managed_entry.api_version])
            ):
                result[who] = managed_entry.with_fields(fields)
        for who, value in remaining.items():
            if contains(value.fields, _IN_SCALE):
                fields = of_path(self._paths[self._version])
                result[who] = managers.ManagedEntry(self._version, fields, None)
        return managers.encode_entries(result)

    def _owns_replicas(self, managed_entry: managers.ManagedEntry) -> bool:
        """Report whether a manager owns `replicas`, by the path in the manager's apiVersion."""
        path = self._paths.get(managed_entry.api_version)
        return path is not None and contains(managed_entry.fields, path)


def _steps(path: str) -> tuple[str, ...]:
    return tuple(f"f:{part}" for part in path.lstrip(".").split("."))


def _apply_scale(
    context: RequestContext,
    live: Document,
    scale: Document,
    applied: Document,
    paths: _Paths,
    *,
    force: bool,
) -> tuple[Document, list[Document]]:
    """Return the Scale after the apply, and the object's managedFields.

    The Scale is `scale` itself if nothing changed. paths: the path of `replicas` by apiVersion.
    Raises Conflict, or the error that kube-apiserver returns.
    """
    owners = _ScaleManagers(context, live, paths)
    before = _with_entries(scale, owners.of_scale())
    if context.kind.custom and not before["metadata"]["managedFields"]:
        raise _failure(
            "failed to create manager for existing fields: failed to convert live object "
            f"(/; {_API_VERSION}, Kind=Scale) to proper version: {_NO_VERSION}"
        )
    write = Write(context.field_manager, _API_VERSION, "", "scale")
    merged = _tracker().apply(before, applied, write, force=force)
    if context.kind.custom and merged.get("spec") != scale.get("spec"):
        meta = applied.get("metadata") or {}
        name = f"{meta.get('namespace', '')}/{meta.get('name', '')}"
        raise _failure(
            f"failed to convert new object ({name}; {_API_VERSION}, Kind=Scale) to proper version: "
            f"{_NO_VERSION}"
        )
    return merged, owners.of_object(merged["metadata"].get("managedFields") or [])


def _managers_after_write(
    context: RequestContext, live: Document, scale: Document, wanted: Document, paths: _Paths
) -> list[Document]:
    """Return the object's managedFields after an update or a patch of its Scale to `wanted`."""
    owners = _ScaleManagers(context, live, paths)
    replicas = (wanted.get("spec") or {}).get("replicas")
    after: Document = {
        **wanted,
        "metadata": wanted.get("metadata") or {},
        "spec": {"replicas": replicas} if replicas else {},
    }
    write = Write(context.field_manager, _API_VERSION, "", "scale")
    tracked = _tracker().track(_with_entries(scale, owners.of_scale()), after, write)
    return owners.of_object(tracked["metadata"].get("managedFields") or [])


def _with_entries(scale: Document, entries: list[Document]) -> Document:
    return {**scale, "metadata": {**scale["metadata"], "managedFields": entries}}


def _failure(message: str) -> ApiError:
    return StorageFailure(message, status=failure_status(message))
