"""The subresource `scale`: an autoscaling/v1 Scale derived from and written to an object."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from msgspec import structs

from kapy.apiserver import body
from kapy.apiserver.ask import Ask
from kapy.apiserver.negotiation import accepted
from kapy.apiserver.parameters import flag
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import StorageFailure, invalid_object, not_found, plain_failure
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.structs import Misfit, decoder
from kapy.apiserver.shown import partial_metadata
from kapy.apiserver.verbs.creation import check_name, check_namespace_of
from kapy.apiserver.verbs.options import Validation, write_options
from kapy.apiserver.verbs.patch_results import PatchedText
from kapy.apiserver.verbs.patching import (
    check_identity_of,
    check_type,
    patch_errors,
    read_applied,
    read_patch,
)
from kapy.apiserver.verbs.reading import requested_form, stored
from kapy.apiserver.verbs.revision import revise
from kapy.apiserver.verbs.scale_owners import API_VERSION, applied_scale, written_scale
from kapy.kube import Document
from kapy.kube.errors import BadRequest, NotAcceptable
from kapy.kube.field_errors import invalid
from kapy.kube.http import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Reply
from kapy.kube.names import Resource, split_api_version
from kapy.kube.patch import json_patch, merge_patch
from kapy.kube.schema.scale import value_at
from kapy.kube.selectors import selector_of

_STRUCT = "autoscaling.v1.Scale"
_BUILT_IN: Document = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
}


def scale_of(ask: Ask, document: Document) -> Document:
    """Return the Scale of an object. Raises StorageFailure if the object has no replicas."""
    return scale_seen(ask.kind, document)


def replicas_set(kind: Kind, document: Document, scale: Document) -> Document:
    """Return the object with the replicas of its Scale."""
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    return _with(document, (kind.scale or _BUILT_IN)["specReplicasPath"], replicas)


def scale_seen(kind: Kind, document: Document) -> Document:
    """Return the Scale of an object of a kind. Raises StorageFailure if it has no replicas."""
    meta = document["metadata"]
    paths = kind.scale or _BUILT_IN
    replicas = _at(document, paths["specReplicasPath"], int)
    if replicas is None:
        why = f'the spec replicas field "{paths["specReplicasPath"]}" does not exist'
        causes = [{"message": why}]
        raise StorageFailure(f"Internal error occurred: {why}", details={"causes": causes})
    status: Document = {"replicas": _at(document, paths["statusReplicasPath"], int) or 0}
    selector = _selector(kind, document)
    if selector:
        status["selector"] = selector
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector(kind: Kind, document: Document) -> str:
    if kind.scale is None:
        selector = (document.get("spec") or {}).get("selector")
        return str(selector_of(selector)) if selector else ""
    path = kind.scale.get("labelSelectorPath")
    return str(_at(document, path, str) or "") if path else ""


def _at(document: Document, path: str, wanted: type) -> Any:
    """Return the value at a path, None if it is not set.

    Raises StorageFailure if the value or one of its parents has a wrong type: objects converted by
    a webhook are not validated.
    """
    value, problem = value_at(document, path, wanted)
    if problem:
        raise StorageFailure(problem, status=plain_failure(problem))
    return value


def _with(document: Document, path: str, value: Any) -> Document:
    """Return the document with the value at a path replaced; everything else is shared."""
    head, _, rest = path.lstrip(".").partition(".")
    if not rest:
        return {**document, head: value}
    return {**document, head: _with(document.get(head) or {}, rest, value)}


async def get(plane: Plane, ask: Ask) -> Reply:
    """Return the Scale of an object."""
    document = await requested_form(plane, ask, stored(plane, ask))
    return _reply(plane, ask, scale_of(ask, document))


def _reply(plane: Plane, ask: Ask, scale: Document, status: int = 200) -> Reply:
    """Encode a Scale in the form that the client accepts. Raises NotAcceptable, BadRequest."""
    accept = accepted(ask.request.headers)
    if accept.form == "Table":
        from kapy.apiserver.tables import scale_table

        scale = scale_table(ask, scale, accept.version, plane.clock)
    elif accept.form == "PartialObjectMetadata":
        scale = partial_metadata(scale, accept.version)
    elif accept.form:
        what = "*v1.Scale" if ask.kind.custom else "*autoscaling.Scale"
        raise NotAcceptable(
            f"you requested {accept.form}, but the requested object is not a list ({what})"
        )
    return Reply(status, scale)


async def update(plane: Plane, ask: Ask) -> Reply:
    """Update the Scale of an object."""
    dry_run, checks = write_options(ask, "UpdateOptions")
    scale = await ask.compute(partial(_read, ask, checks))
    return await _revise(plane, ask, lambda _live: scale, dry_run=dry_run)


def _read(ask: Ask, checks: Validation) -> Document:
    body.check_media_type(ask)
    try:
        scale = _decoded(ask, checks)
    except BadRequest:
        if not ask.kind.custom:
            raise
        # For custom resources kube-apiserver fails here, because its scheme lacks the Scale.
        why = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
        raise BadRequest(why) from None
    meta = scale.get("metadata") or {}
    check_name(ask, meta)
    check_namespace_of(ask, meta)
    return scale


def _decoded(ask: Ask, checks: Validation) -> Document:
    resource = Resource("autoscaling", "v1", "scales", "Scale", namespaced=True)
    asked = structs.replace(ask, kind=replace(ask.kind, resource=resource, custom=False))
    scale, unknown = body.read_object(asked, checks.duplicates), list[str]()
    try:
        decoded: Document = decoder(_STRUCT)(scale, None, unknown)
    except Misfit as error:
        why = f'Scale in version "v1" cannot be handled as a Scale: {error}'
        raise BadRequest(why) from None
    checks.report(asked, unknown)
    return decoded


async def patch(plane: Plane, ask: Ask) -> Reply:
    """Patch the Scale of an object."""
    media = body.media_type(ask) or MERGE_PATCH
    accepted = [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH]
    if media not in accepted:
        raise body.refuse_media_type(accepted)
    dry_run, checks = write_options(ask, "PatchOptions", patch_errors(ask.request.query, media))
    if media == APPLY_PATCH:
        return await _apply(plane, ask, checks, dry_run=dry_run)
    if plane.table(ask.kind).latest(ask.namespace, ask.name) is None:
        raise not_found(ask.kind, ask.name)
    content = await ask.compute(partial(read_patch, ask, checks, media))

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
        except Misfit as error:
            result = PatchedText(live, content, _STRUCT, media)
            decoded = result.repaired(scale, error)
        return decoded

    return await _revise(plane, ask, change, dry_run=dry_run)


async def _apply(plane: Plane, ask: Ask, checks: Validation, *, dry_run: bool) -> Reply:
    """Handle server-side apply of a Scale."""
    if plane.table(ask.kind).latest(ask.namespace, ask.name) is None:
        raise not_found(ask.kind, ask.name)
    applied = read_applied(ask, checks)
    check_type(applied, API_VERSION, "Scale")
    force = flag(ask.request.query, "force")
    paths = _replicas_paths(plane, ask)

    def change(live: Document) -> Document:
        scale = _lenient_scale(ask, live)
        merged, entries = applied_scale(ask, live, scale, applied, paths, force=force)
        check_identity_of(ask, merged["metadata"])
        return _owned(_scaled(ask, live, merged), entries)

    reply = await revise(plane, ask, change, dry_run=dry_run, applied=True)
    document: Any = reply.body
    return _reply(plane, ask, scale_of(ask, document), reply.status)


async def _revise(
    plane: Plane, ask: Ask, change: Callable[[Document], Document], *, dry_run: bool
) -> Reply:
    paths = _replicas_paths(plane, ask)

    def scaled(live: Document) -> Document:
        before = _lenient_scale(ask, live)
        wanted = change(before)
        document = _scaled(ask, live, wanted)
        return _owned(document, written_scale(ask, live, before, wanted, paths))

    reply = await revise(plane, ask, scaled, dry_run=dry_run, applied=True)
    document: Any = reply.body
    return _reply(plane, ask, scale_of(ask, document), reply.status)


def _replicas_paths(plane: Plane, ask: Ask) -> dict[str, str]:
    """Return the path of `replicas` for each version of the kind that has a Scale."""
    one, found = ask.kind.resource, dict[str, str]()
    for version in ask.kind.schema.tracker.versions:
        group, number = split_api_version(version)
        kind = plane.registry.find(group, number, one.plural)
        if kind is not None and (kind.scale or not kind.custom):
            found[version] = (kind.scale or _BUILT_IN)["specReplicasPath"]
    return found


def _scaled(ask: Ask, live: Document, scale: Document) -> Document:
    """Return the object with the replicas and the resourceVersion of a Scale."""
    replicas = (scale.get("spec") or {}).get("replicas") or 0
    _check(ask, live, replicas)
    wanted = _with(live, (ask.kind.scale or _BUILT_IN)["specReplicasPath"], replicas)
    version = (scale.get("metadata") or {}).get("resourceVersion")
    meta = {**wanted["metadata"]}
    if version:
        meta["resourceVersion"] = version
    return {**wanted, "metadata": meta}


def _owned(document: Document, entries: list[Document]) -> Document:
    """Return the object with these managedFields."""
    meta = {key: one for key, one in document["metadata"].items() if key != "managedFields"}
    return {**document, "metadata": {**meta, "managedFields": entries} if entries else meta}


def _lenient_scale(ask: Ask, live: Document) -> Document:
    paths = ask.kind.scale or _BUILT_IN
    if _at(live, paths["specReplicasPath"], int) is None:
        live = _with(live, paths["specReplicasPath"], 0)
    return scale_of(ask, live)


def _check(ask: Ask, live: Document, replicas: int) -> None:
    if replicas < 0:
        path = (ask.kind.scale or _BUILT_IN)["specReplicasPath"]
        errors = ask.kind.schema.errors(_with(live, path, replicas), live)
        negative = invalid(path, replicas, "should be a non-negative integer")
        others = [one for one in errors if one != negative]
        raise invalid_object(ask.kind, ask.name, [negative, *others])


VERBS: dict[str, Callable[[Plane, Ask], Awaitable[Reply]]] = {
    "get": get,
    "update": update,
    "patch": patch,
}
