"""The verb update, and the write loop of update and patch, which retries on conflicts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import eq
from typing import NamedTuple

from kapy.apiserver import metadata
from kapy.apiserver.ask import Ask, over_network
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import StorageFailure, conflict, not_found, plain_failure
from kapy.apiserver.shown import shown
from kapy.apiserver.sizes import MOST_STORED, check_size
from kapy.apiserver.store.table import Table
from kapy.apiserver.verbs.checks import (
    admitted,
    check_type,
    of_another_type,
    read_typed,
    tracked,
    validated,
    with_conversions,
)
from kapy.apiserver.verbs.creation import (
    check_name,
    insert,
    pruned,
    settle_namespace,
    stored_form,
)
from kapy.apiserver.verbs.options import write_options
from kapy.apiserver.verbs.reading import requested_form
from kapy.kube import Document
from kapy.kube.errors import ApiError, Conflict, Invalid
from kapy.kube.field_errors import invalid
from kapy.kube.go_quoted import go_quoted
from kapy.kube.http import Reply

Change = Callable[[Document], Document]
"""A pure function from the live object to the wanted object (in the request's version)."""

ATTEMPTS = 5


async def update(plane: Plane, ask: Ask) -> Reply:
    """Replace an object or one of its subresources."""
    dry_run, checks = write_options(ask, "UpdateOptions")
    document = await ask.compute(partial(read_typed, ask, checks))
    settle_namespace(ask, document)
    check_name(ask, document["metadata"])
    if ask.kind.strategy.created_by_update and not ask.subresource:
        created = await _created(plane, ask, document, dry_run=dry_run)
        if created is not None:
            return created
    return await revise(
        plane,
        ask,
        lambda _live: document,
        dry_run=dry_run,
        strict=not ask.kind.strategy.unconditional,
    )


async def _created(plane: Plane, ask: Ask, document: Document, *, dry_run: bool) -> Reply | None:
    """Create the object of an update if it does not exist; return None if it exists."""
    if plane.table(ask.kind).latest(ask.namespace, ask.name) is not None:
        return None
    if uid := document["metadata"].get("uid"):
        raise _wrong_uid(ask, uid, "")
    version = document["metadata"].get("resourceVersion", "")
    if version and not version.isdigit():
        raise _no_version(version)
    ask.check("create")
    owned = await with_conversions(plane, ask, partial(tracked, plane, ask, None, document))
    return await insert(plane, ask, owned, dry_run=dry_run, applied=True)


async def revise(
    plane: Plane,
    ask: Ask,
    change: Change,
    *,
    dry_run: bool,
    strict: bool = False,
    patched: bool = False,
    applied: bool = False,
) -> Reply:
    """Change the object that the path names.

    strict: a resourceVersion is required. patched: `change` derives the object from the live one,
    so a different uid is an attempt to change it and no failed precondition. applied: `change`
    updates managedFields itself.
    """
    table, how = plane.table(ask.kind), _How(strict, patched, applied)
    for _ in range(ATTEMPTS):
        stored = table.latest(ask.namespace, ask.name)
        if stored is None:
            raise not_found(ask.kind, ask.name)
        ask.large = ask.large or (over_network(ask) and table.is_large(ask.namespace, ask.name))
        same = stored["apiVersion"] == ask.kind.resource.api_version
        live = stored if same else await requested_form(plane, ask, stored)
        try:
            wanted = await with_conversions(plane, ask, partial(change, live))
            check_uid(ask, live, wanted, patched=patched)
            if of_another_type(ask, wanted):
                check_version(ask, live, wanted, how)
                check_type(ask, wanted)
            document = await _revised(plane, ask, table, live, wanted, how, dry_run=dry_run)
        except Conflict:
            # A read after this answer must find the write that caused the conflict.
            await plane.store.committed()
            raise
        if ask.large:
            await ask.compute(partial(check_size, document, dry_run=dry_run))
        if document is live:
            document = await _stored_anew(plane, ask, stored, live)
        else:
            document = await stored_form(plane, ask, document, before=stored)
        if table.latest(ask.namespace, ask.name) is not stored:
            if wanted["metadata"].get("resourceVersion") and strict:
                raise conflict(ask.kind, ask.name)
            continue
        if not dry_run and document is not stored:
            await _replace(plane, ask, table, document)
        return await shown(plane, ask, document)
    raise conflict(ask.kind, ask.name)


async def _stored_anew(plane: Plane, ask: Ask, stored: Document, live: Document) -> Document:
    """Return the object to store for a write without changes.

    This is `stored` itself, unless the storage version has changed or the stored object lacks new
    fields. Clients migrate objects to a new storage version by writing each one back unchanged.
    """
    anew = plane.unfilled.holds(ask.kind.table, stored)
    if live is stored and ask.kind.storage.version == ask.kind.resource.version and not anew:
        return stored
    document = await stored_form(plane, ask, live, before=stored)
    if not anew and document == stored:
        return stored
    return {**document, "metadata": {**document["metadata"]}}


class _How(NamedTuple):
    """The mode of a change, see `revise`."""

    strict: bool
    patched: bool
    applied: bool


def check_uid(ask: Ask, live: Document, wanted: Document, *, patched: bool) -> None:
    """Check that the uid in the wanted object is that of the live one. Raises Conflict."""
    uid, before = wanted["metadata"].get("uid"), live["metadata"]["uid"]
    if uid and uid != before and not patched:
        raise _wrong_uid(ask, uid, before)


def check_version(ask: Ask, live: Document, wanted: Document, how: _How) -> None:
    """Check the wanted object's resourceVersion against the live one (after admission).

    Raises Conflict, Invalid.
    """
    before, version = live["metadata"], wanted["metadata"].get("resourceVersion")
    needed = how.strict or (how.patched and not ask.kind.strategy.unconditional)
    if needed and version in (None, "", "0"):
        error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
        resource = ask.kind.resource
        raise Invalid.of(resource.plural, resource.group, ask.name, [error])
    if version and version != "0" and version != before["resourceVersion"]:
        if not version.isdigit():
            raise _no_version(version)
        raise conflict(ask.kind, ask.name)


def _no_version(version: str) -> ApiError:
    """Return the error for a metadata.resourceVersion that is not a number."""
    message = f"strconv.ParseUint: parsing {go_quoted(version)}: invalid syntax"
    return StorageFailure(message, status=plain_failure(message))


def _wrong_uid(ask: Ask, wanted: str, found: str) -> Conflict:
    kind = ask.kind
    group = kind.resource.group if kind.custom else ""
    parts = ("/registry", group, kind.resource.plural, ask.namespace, ask.name)
    where = "/".join(part for part in parts if part)
    return conflict(
        kind,
        ask.name,
        f"StorageError: invalid object, Code: 4, Key: {where}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, "
        f"UID in object meta: {found}",
    )


async def _revised(
    plane: Plane,
    ask: Ask,
    table: Table,
    live: Document,
    wanted: Document,
    how: _How,
    *,
    dry_run: bool,
) -> Document:
    """Return the object to store after admission and validation; `live` itself if nothing
    changed.
    """
    if wanted is live and not plane.webhooks:
        if not (ask.kind.custom or ask.subresource):
            ask.warnings.extend(ask.kind.strategy.warnings(live, live))
        return live
    kind, uid = ask.kind, not how.patched
    document = {**wanted, "metadata": {**wanted["metadata"]}}
    metadata.carried(document, live, uid=uid)
    if not how.applied:
        document = await with_conversions(plane, ask, partial(tracked, plane, ask, live, document))
        if document is live and not plane.webhooks:
            return live
    asked = document if how.patched or not plane.webhooks else _as_sent(document, wanted)
    mutated = await admitted(plane, ask, "UPDATE", asked, live, dry_run=dry_run)
    shaped = kind.custom and plane.webhooks and (how.applied or mutated is not asked)
    if mutated is not document:
        document = {**mutated, "metadata": {**mutated["metadata"]}}
        metadata.carried(document, live, uid=uid)
    check_version(ask, live, document, how)
    document = _combined(ask, live, document)
    if not ask.subresource:
        kind.strategy.allocate(document, live, table)
        kind.strategy.prepare_update(document, live)
    elif ask.subresource == "status":
        kind.strategy.prepare_status(document, live)
    _count_generation(ask, document, live)
    await validated(plane, ask, "UPDATE", document, live, dry_run=dry_run)
    if shaped:
        document = pruned(ask, document)
    same = await ask.compute(partial(eq, document, live)) if ask.large else document == live
    return live if same or (how.applied and _times_alone(document, live)) else document


def _times_alone(document: Document, live: Document) -> bool:
    """Report whether only times in managedFields changed; such a write is dropped."""
    one, two = (
        [{**entry, "time": ""} for entry in each["metadata"].get("managedFields") or ()]
        for each in (document, live)
    )
    if one != two:
        return False
    meta = {**document["metadata"], "managedFields": live["metadata"].get("managedFields")}
    return {**document, "metadata": meta} == live


def _as_sent(document: Document, wanted: Document) -> Document:
    """Return the object of an update as webhooks see it: without metadata that the client left out
    and the server restored.
    """
    sent = wanted["metadata"]
    gone = [key for key in ("uid", "creationTimestamp", "generation") if key not in sent]
    meta = {key: one for key, one in document["metadata"].items() if key not in gone}
    return {**document, "metadata": meta}


def _combined(ask: Ask, live: Document, wanted: Document) -> Document:
    """Combine the live object with those parts of the wanted one that this endpoint may change."""
    if ask.subresource == "status":
        if ask.kind.strategy.status_alone:
            meta = {**live["metadata"]}
            _take(meta, wanted["metadata"], "managedFields")
        else:
            meta = {**wanted["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}
        document = {**live, "metadata": meta}
        _take(document, wanted, "status")
        if ask.kind.custom and "status" not in live and document.get("status", live) is None:
            return ask.kind.schema.pruned(document)  # null: still not set
        return document
    if ask.subresource == "finalize":
        finalizers = (wanted.get("spec") or {}).get("finalizers") or []
        spec = {**(live.get("spec") or {}), "finalizers": finalizers}
        return {**live, "metadata": {**live["metadata"]}, "spec": spec}
    document = {**wanted, "metadata": {**wanted["metadata"]}}
    document["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
    if ask.kind.strategy.status:
        _take(document, live, "status")
    return document


def _take(document: Document, other: Document, field: str) -> None:
    """Copy a field from the other document, or remove it if the other one lacks it."""
    if field in other:
        document[field] = other[field]
    else:
        document.pop(field, None)


_METADATA_BESIDE: Document = {"metadata": None}
_STATUS_BESIDE: Document = {"metadata": None, "status": None}
"""Fields that are overwritten in both objects so that a comparison ignores them."""


def _count_generation(ask: Ask, document: Document, live: Document) -> None:
    if not ask.kind.strategy.generation or ask.subresource == "status":
        return
    ignored = _STATUS_BESIDE if ask.kind.strategy.status else _METADATA_BESIDE
    annotated = ask.kind.strategy.annotations_count and _annotations(document) != _annotations(live)
    if annotated or {**document, **ignored} != {**live, **ignored}:
        document["metadata"]["generation"] = live["metadata"].get("generation", 0) + 1


def _annotations(document: Document) -> Document:
    return document["metadata"].get("annotations") or {}


async def _replace(plane: Plane, ask: Ask, table: Table, document: Document) -> None:
    """Store a changed object; delete it if it was being deleted and lost its last finalizer."""
    meta = document["metadata"]
    if meta.get("deletionTimestamp") and not meta.get("finalizers") and _released(ask, document):
        stored = table.latest(ask.namespace, ask.name)
        plane.store.delete(table, ask.namespace, ask.name, stored or document)
    else:
        plane.store.put(table, ask.namespace, ask.name, document, most=MOST_STORED)
        if ask.filled:
            plane.unfilled.add(table.name, document)
    await plane.store.committed()


def _released(ask: Ask, document: Document) -> bool:
    """Report whether only finalizers keep the object: no grace period, no namespace content."""
    if document["metadata"].get("deletionGracePeriodSeconds"):
        return False
    return ask.kind.table != "namespaces" or not (document.get("spec") or {}).get("finalizers")
