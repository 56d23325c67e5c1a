"""create, update and patch (with server-side apply): from a body to a stored object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kapy.apiserver import body, metadata
from kapy.apiserver.admission import Review
from kapy.apiserver.ask import Ask
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import (
    already_exists,
    conflict,
    invalid_object,
    not_found,
    resource_version_set,
)
from kapy.apiserver.resources.schemas import Write
from kapy.apiserver.resources.structs import Misfit
from kapy.apiserver.shown import shown
from kapy.apiserver.store.table import Table
from kapy.apiserver.verbs.namespaces import check_namespace
from kapy.apiserver.verbs.options import Validation, field_validation
from kapy.kube import Document
from kapy.kube.errors import BadRequest, Conflict
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.http import Reply

Change = Callable[[Document | None], Document]
"""Computes the wanted object (in the request's version) from the live one; pure."""

_SPEC: Document = {"f:metadata": {}, "f:spec": {}}
_STATUS: Document = {"f:status": {}}
_ATTEMPTS = 5


async def create(plane: Plane, ask: Ask) -> Reply:
    """Store a new object."""
    dry_run = ask.dry_run("CreateOptions")
    document = decoded(ask)
    if not isinstance(document.get("metadata"), dict):
        document["metadata"] = {}
    _settle_namespace(ask, document)
    return await _insert(plane, ask, document, dry_run=dry_run, apply=None)


def decoded(ask: Ask) -> Document:
    """The body as an object of the kind, pruned and with defaults. Raises BadRequest."""
    checks = field_validation(ask)
    document = body.read_object(ask, checks.duplicates)
    return typed(ask, document, checks)


def typed(ask: Ask, document: Document, checks: Validation) -> Document:
    """The object pruned and with defaults; unknown fields are warned about, or refused."""
    unknown: list[str] = []
    try:
        document = ask.kind.schema.decoded(document, unknown)
    except Misfit as error:
        kind, version = ask.kind.resource.kind, ask.kind.resource.version
        raise BadRequest(
            f'{kind} in version "{version}" cannot be handled as a {kind}: {error}'
        ) from None
    checks.report(ask, unknown)
    return document


def _settle_namespace(ask: Ask, document: Document) -> None:
    meta = document["metadata"]
    found = meta.get("namespace", "")
    if not ask.kind.namespaced:
        meta.pop("namespace", None)
        return
    if found and found != ask.namespace:
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    meta["namespace"] = ask.namespace


async def _insert(
    plane: Plane, ask: Ask, document: Document, *, dry_run: bool, apply: Apply | None
) -> Reply:
    kind, table = ask.kind, plane.table(ask.kind)
    meta = document["metadata"]
    generated = not meta.get("name") and bool(meta.get("generateName"))
    if generated:
        document = {**document, "metadata": {**meta}}
        document["metadata"]["name"] = metadata.generated_name(meta["generateName"], plane.rng)
    check_namespace(plane, ask, document)
    version = document["metadata"].get("resourceVersion")
    if version and version != "0":
        raise resource_version_set()
    document = {**document, "metadata": {**document["metadata"]}}
    if kind.strategy.status:
        document.pop("status", None)
    metadata.born(document, kind, ask.namespace, plane.clock(), plane.rng)
    kind.strategy.prepare_create(document)
    name = document["metadata"].get("name", "")
    document = await _defaulted(plane, ask, "CREATE", document, None, dry_run=dry_run)
    if apply is None:
        document = _tracked(plane, ask, None, document)
    await _validated(plane, ask, "CREATE", document, None, dry_run=dry_run)
    if table.latest(document["metadata"].get("namespace", ""), name) is not None:
        raise already_exists(kind, name)
    document = await _stored_form(plane, ask, document)
    if not dry_run:
        document = await _keep(plane, table, document)
    ask.warnings.extend(kind.strategy.warnings(document))
    return await shown(plane, ask, document, 201)


async def _keep(plane: Plane, table: Table, document: Document) -> Document:
    meta = document["metadata"]
    kept = plane.store.put(table, meta.get("namespace", ""), meta["name"], document)
    await plane.store.committed()
    return kept


async def _stored_form(plane: Plane, ask: Ask, document: Document) -> Document:
    kind = ask.kind
    if kind.storage == kind.resource:
        return document
    (document,) = await plane.converted((document,), kind.resource, kind.storage)
    return {**document, "metadata": {**document["metadata"]}}


def _tracked(plane: Plane, ask: Ask, live: Document | None, new: Document) -> Document:
    """`new` with managedFields that say what this request changed."""
    return ask.kind.schema.tracker.track(live, new, _write(plane, ask))


def _write(plane: Plane, ask: Ask) -> Write:
    reset = None
    if ask.subresource == "status":
        reset = _SPEC
    elif ask.kind.strategy.status:
        reset = _STATUS
    return Write(
        ask.manager,
        ask.kind.resource.api_version,
        metadata.stamp(plane.clock()),
        ask.subresource,
        reset,
    )


async def _defaulted(
    plane: Plane, ask: Ask, operation: Any, new: Document, old: Document | None, *, dry_run: bool
) -> Document:
    for plugin in plane.plugins(ask.kind, ask.subresource):
        new = await plugin.default(_review(ask, operation, new, old, dry_run=dry_run))
    return new


async def _validated(
    plane: Plane, ask: Ask, operation: Any, new: Document, old: Document | None, *, dry_run: bool
) -> None:
    kind = ask.kind
    errors: list[FieldError] = metadata.errors(new, kind)
    if old is not None:
        errors += metadata.change_errors(new, old)
    errors += kind.schema.errors(new, old)
    errors += kind.strategy.validate(new, old)
    if errors:
        raise invalid_object(kind, new["metadata"].get("name", ""), errors)
    for plugin in plane.plugins(kind, ask.subresource):
        ask.warnings.extend(
            await plugin.validate(_review(ask, operation, new, old, dry_run=dry_run))
        )


def _review(
    ask: Ask, operation: Any, new: Document | None, old: Document | None, *, dry_run: bool
) -> Review:
    name = ask.name or ((new or {}).get("metadata") or {}).get("name", "")
    return Review(
        operation=operation,
        resource=ask.kind.resource,
        subresource=ask.subresource,
        namespace=ask.namespace,
        name=name,
        new=new,
        old=old,
        user=ask.user,
        dry_run=dry_run,
        options={},
    )


class Apply:
    """A server-side apply: what is applied, and whether conflicts are overridden."""

    def __init__(self, applied: Document, *, force: bool) -> None:
        self.applied = applied
        self.force = force


async def update(plane: Plane, ask: Ask) -> Reply:
    """Replace an object (or what a subresource is of it)."""
    dry_run = ask.dry_run("UpdateOptions")
    document = decoded(ask)
    if not isinstance(document.get("metadata"), dict):
        document["metadata"] = {}
    _check_name(ask, document)
    _settle_namespace(ask, document)
    return await revise(plane, ask, lambda _live: document, dry_run=dry_run)


def _check_name(ask: Ask, document: Document) -> None:
    name = document["metadata"].get("name", "")
    if not name:
        raise BadRequest(
            f"the name of the object ({ask.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != ask.name:
        raise BadRequest(
            f"the name of the object ({name}) does not match the name on the URL ({ask.name})"
        )


async def revise(
    plane: Plane, ask: Ask, change: Change, *, dry_run: bool, tracked: bool = False
) -> Reply:
    """Read, change, check and store, again when the object changed meanwhile.

    tracked: `change` brings managedFields up to date itself (server-side apply).
    """
    table = plane.table(ask.kind)
    for attempt in range(_ATTEMPTS):
        stored = table.latest(ask.namespace, ask.name)
        if stored is None:
            raise not_found(ask.kind, ask.name)
        live = await _requested_form(plane, ask, stored)
        wanted = change(live)
        _check_preconditions(ask, live, wanted)
        document = await _revised(plane, ask, live, wanted, dry_run=dry_run, tracked=tracked)
        if table.latest(ask.namespace, ask.name) is not stored:
            if _pinned(wanted, live) or attempt == _ATTEMPTS - 1:
                raise conflict(ask.kind, ask.name)
            continue
        if document is live:
            return await shown(plane, ask, stored)
        document = await _stored_form(plane, ask, document)
        if not dry_run:
            document = await _replace(plane, ask, table, document)
        return await shown(plane, ask, document)
    raise conflict(ask.kind, ask.name)


async def _requested_form(plane: Plane, ask: Ask, stored: Document) -> Document:
    kind = ask.kind
    if kind.storage == kind.resource:
        return stored
    (document,) = await plane.converted((stored,), kind.storage, kind.resource)
    return document


def _pinned(wanted: Document, live: Document) -> bool:
    del live
    return bool(wanted["metadata"].get("resourceVersion"))


def _check_preconditions(ask: Ask, live: Document, wanted: Document) -> None:
    meta, before = wanted["metadata"], live["metadata"]
    uid = meta.get("uid")
    if uid and uid != before["uid"]:
        raise _wrong_uid(ask, uid, before["uid"])
    version = meta.get("resourceVersion")
    if ask.kind.custom and version in (None, "", "0"):
        error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
        from kapy.kube.errors import Invalid

        resource = ask.kind.resource
        raise Invalid.of(resource.plural, resource.group, ask.name, [error])
    if version and version != "0" and version != before["resourceVersion"]:
        raise conflict(ask.kind, ask.name)


def _wrong_uid(ask: Ask, wanted: str, found: str) -> Conflict:
    kind = ask.kind
    where = "/".join(
        part
        for part in (
            "/registry",
            kind.resource.group if kind.custom else "",
            kind.resource.plural,
            ask.namespace,
            ask.name,
        )
        if part
    )
    error = conflict(
        kind,
        ask.name,
        f"StorageError: invalid object, Code: 4, Key: {where}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, "
        f"UID in object meta: {found}",
    )
    assert isinstance(error, Conflict)
    return error


async def _revised(
    plane: Plane, ask: Ask, live: Document, wanted: Document, *, dry_run: bool, tracked: bool
) -> Document:
    """The object as it would be stored; `live` itself when nothing changed."""
    kind = ask.kind
    document = _combined(ask, live, wanted)
    metadata.carried(document, live)
    if not ask.subresource:
        kind.strategy.prepare_update(document, live)
    _count_generation(ask, document, live)
    document = await _defaulted(plane, ask, "UPDATE", document, live, dry_run=dry_run)
    if not tracked:
        document = _tracked(plane, ask, live, document)
    await _validated(plane, ask, "UPDATE", document, live, dry_run=dry_run)
    return live if unchanged(document, live) else document


def _combined(ask: Ask, live: Document, wanted: Document) -> Document:
    """What the endpoint lets through of the wanted object."""
    if ask.subresource == "status":
        document = {**live, "metadata": {**live["metadata"]}}
        document.pop("status", None)
        if "status" in wanted:
            document["status"] = wanted["status"]
        if "managedFields" in wanted["metadata"]:
            document["metadata"]["managedFields"] = wanted["metadata"]["managedFields"]
        return document
    document = {**wanted, "metadata": {**wanted["metadata"]}}
    document["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
    if ask.kind.strategy.status:
        document.pop("status", None)
        if "status" in live:
            document["status"] = live["status"]
    return document


def _count_generation(ask: Ask, document: Document, live: Document) -> None:
    if not ask.kind.strategy.generation or ask.subresource == "status":
        return
    ignored = ("metadata", "status") if ask.kind.strategy.status else ("metadata",)
    if _without(document, ignored) != _without(live, ignored):
        document["metadata"]["generation"] = live["metadata"].get("generation", 0) + 1


def _without(document: Document, ignored: Sequence[str]) -> Document:
    return {key: value for key, value in document.items() if key not in ignored}


def unchanged(document: Document, live: Document) -> bool:
    """Whether storing `document` over `live` would change nothing."""
    return document is live or document == live


async def _replace(plane: Plane, ask: Ask, table: Table, document: Document) -> Document:
    meta = document["metadata"]
    if meta.get("deletionTimestamp") and not meta.get("finalizers"):
        plane.store.delete(table, ask.namespace, ask.name, document)
        await plane.store.committed()
        return document
    kept = plane.store.put(table, ask.namespace, ask.name, document)
    await plane.store.committed()
    return kept
