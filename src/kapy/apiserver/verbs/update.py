"""The verb update, and the write loop of update and patch, which retries on conflicts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import eq
from typing import NamedTuple

from kapy.apiserver.errors import StorageFailure, failure_status
from kapy.apiserver.request.context import RequestContext, is_over_network
from kapy.apiserver.resources import metadata
from kapy.apiserver.resources.kind_errors import conflict, not_found
from kapy.apiserver.resources.sizes import MOST_STORED, check_size
from kapy.apiserver.store.table import Table
from kapy.apiserver.verbs.checks import (
    check_type,
    has_other_type,
    read_object,
    run_mutating_admission,
    run_with_conversions,
    track_ownership,
    validate_object,
)
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.create import (
    check_name,
    insert,
    prune_custom,
    set_namespace,
    to_storage_version,
)
from kapy.apiserver.verbs.options import parse_write_options
from kapy.apiserver.verbs.read import to_requested_version
from kapy.apiserver.verbs.serialization import serialize_response
from kapy.kube import Document
from kapy.kube.digits import has_only_digits
from kapy.kube.errors import ApiError, Conflict, Invalid
from kapy.kube.field_errors import invalid
from kapy.kube.go_literals import go_quoted
from kapy.kube.http import Reply

Change = Callable[[Document], Document]
"""A pure function from the live object to the wanted object (in the request's version)."""

ATTEMPTS = 5


async def update(server: ServerContext, context: RequestContext) -> Reply:
    """Replace an object or one of its subresources."""
    dry_run, checks = parse_write_options(context, "UpdateOptions")
    document = await context.compute(partial(read_object, context, checks))
    set_namespace(context, document)
    check_name(context, document["metadata"])
    if context.kind.strategy.allow_create_on_update and not context.subresource:
        created = await _create_missing(server, context, document, dry_run=dry_run)
        if created is not None:
            return created
    return await write_change(
        server,
        context,
        lambda _live: document,
        dry_run=dry_run,
        strict=not context.kind.strategy.allow_unconditional_update,
    )


async def _create_missing(
    server: ServerContext, context: RequestContext, document: Document, *, dry_run: bool
) -> Reply | None:
    """Create the object of an update if it does not exist; return None if it exists."""
    if server.table(context.kind).latest(context.namespace, context.name) is not None:
        return None
    if uid := document["metadata"].get("uid"):
        raise _wrong_uid(context, uid, "")
    version = document["metadata"].get("resourceVersion", "")
    if version and not has_only_digits(version):
        raise _invalid_version(version)
    context.check_access("create")
    owned = await run_with_conversions(
        server, context, partial(track_ownership, server, context, None, document)
    )
    return await insert(server, context, owned, dry_run=dry_run, applied=True)


async def write_change(
    server: ServerContext,
    context: RequestContext,
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
    table, how = server.table(context.kind), _ChangeMode(strict, patched, applied)
    for _ in range(ATTEMPTS):
        stored = table.latest(context.namespace, context.name)
        if stored is None:
            raise not_found(context.kind, context.name)
        context.is_large = context.is_large or (
            is_over_network(context) and table.is_large(context.namespace, context.name)
        )
        same = stored["apiVersion"] == context.kind.resource.api_version
        live = stored if same else await to_requested_version(server, context, stored)
        try:
            wanted = await run_with_conversions(server, context, partial(change, live))
            check_uid(context, live, wanted, patched=patched)
            if has_other_type(context, wanted):
                check_version(context, live, wanted, how)
                check_type(context, wanted)
            document = await _compute_update(
                server, context, table, live, wanted, how, dry_run=dry_run
            )
        except Conflict:
            # A read after this answer must find the write that caused the conflict.
            await server.store.wait_for_commit()
            raise
        if context.is_large:
            await context.compute(partial(check_size, document, dry_run=dry_run))
        if document is live:
            document = await _rewrite_unchanged(server, context, stored, live)
        else:
            document = await to_storage_version(server, context, document, before=stored)
        if table.latest(context.namespace, context.name) is not stored:
            if wanted["metadata"].get("resourceVersion") and strict:
                raise conflict(context.kind, context.name)
            continue
        if not dry_run and document is not stored:
            await _store_update(server, context, table, document)
        return await serialize_response(server, context, document)
    raise conflict(context.kind, context.name)


async def _rewrite_unchanged(
    server: ServerContext, context: RequestContext, stored: Document, live: Document
) -> Document:
    """Return the object to store for a write without changes.

    This is `stored` itself, unless the storage version has changed or the stored object lacks new
    fields. Clients migrate objects to a new storage version by writing each one back unchanged.
    """
    anew = server.undefaulted.contains(context.kind.table, stored)
    if (
        live is stored
        and context.kind.storage.version == context.kind.resource.version
        and not anew
    ):
        return stored
    document = await to_storage_version(server, context, live, before=stored)
    if not anew and document == stored:
        return stored
    return {**document, "metadata": {**document["metadata"]}}


class _ChangeMode(NamedTuple):
    """The mode of a change, see `write_change`."""

    strict: bool
    patched: bool
    applied: bool


def check_uid(context: RequestContext, live: Document, wanted: Document, *, patched: bool) -> None:
    """Check that the uid in the wanted object is that of the live one. Raises Conflict."""
    uid, before = wanted["metadata"].get("uid"), live["metadata"]["uid"]
    if uid and uid != before and not patched:
        raise _wrong_uid(context, uid, before)


def check_version(
    context: RequestContext, live: Document, wanted: Document, how: _ChangeMode
) -> None:
    """Check the wanted object's resourceVersion against the live one (after admission).

    Raises Conflict, Invalid.
    """
    before, version = live["metadata"], wanted["metadata"].get("resourceVersion")
    needed = how.strict or (how.patched and not context.kind.strategy.allow_unconditional_update)
    if needed and version in (None, "", "0"):
        error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
        resource = context.kind.resource
        raise Invalid.of(resource.plural, resource.group, context.name, [error])
    if version and version != "0" and version != before["resourceVersion"]:
        if not has_only_digits(version):
            raise _invalid_version(version)
        raise conflict(context.kind, context.name)


def _invalid_version(version: str) -> ApiError:
    """Return the error for a metadata.resourceVersion that is not a number."""
    message = f"strconv.ParseUint: parsing {go_quoted(version)}: invalid syntax"
    return StorageFailure(message, status=failure_status(message))


def _wrong_uid(context: RequestContext, wanted: str, value: str) -> Conflict:
    kind = context.kind
    group = kind.resource.group if kind.custom else ""
    parts = ("/registry", group, kind.resource.plural, context.namespace, context.name)
    where = "/".join(part for part in parts if part)
    return conflict(
        kind,
        context.name,
        f"StorageError: invalid object, Code: 4, Key: {where}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {wanted}, "
        f"UID in object meta: {value}",
    )


async def _compute_update(
    server: ServerContext,
    context: RequestContext,
    table: Table,
    live: Document,
    wanted: Document,
    how: _ChangeMode,
    *,
    dry_run: bool,
) -> Document:
    """Return the object to store after admission and validation; `live` itself if nothing
    changed.
    """
    if wanted is live and not server.admission.has_webhooks:
        if not (context.kind.custom or context.subresource):
            context.warnings.extend(context.kind.strategy.warnings(live, live))
        return live
    kind, uid = context.kind, not how.patched
    document = {**wanted, "metadata": {**wanted["metadata"]}}
    metadata.preserve_immutable(document, live, uid=uid)
    if not how.applied:
        document = await run_with_conversions(
            server, context, partial(track_ownership, server, context, live, document)
        )
        if document is live and not server.admission.has_webhooks:
            return live
    request = (
        document
        if how.patched or not server.admission.has_webhooks
        else _update_for_webhooks(document, wanted)
    )
    mutated = await run_mutating_admission(
        server, context, "UPDATE", request, live, dry_run=dry_run
    )
    shaped = (
        kind.custom and server.admission.has_webhooks and (how.applied or mutated is not request)
    )
    if mutated is not document:
        document = {**mutated, "metadata": {**mutated["metadata"]}}
        metadata.preserve_immutable(document, live, uid=uid)
    check_version(context, live, document, how)
    document = _combine(context, live, document)
    if not context.subresource:
        kind.strategy.allocate(document, live, table)
        kind.strategy.prepare_update(document, live)
    elif context.subresource == "status":
        kind.strategy.prepare_status(document, live)
    _count_generation(context, document, live)
    await validate_object(server, context, "UPDATE", document, live, dry_run=dry_run)
    if shaped:
        document = prune_custom(context, document)
    same = (
        await context.compute(partial(eq, document, live)) if context.is_large else document == live
    )
    return live if same or (how.applied and _changes_times_only(document, live)) else document


def _changes_times_only(document: Document, live: Document) -> bool:
    """Report whether only times in managedFields changed; such a write is dropped."""
    value, two = (
        [{**entry, "time": ""} for entry in item["metadata"].get("managedFields") or ()]
        for item in (document, live)
    )
    if value != two:
        return False
    meta = {**document["metadata"], "managedFields": live["metadata"].get("managedFields")}
    return {**document, "metadata": meta} == live


def _update_for_webhooks(document: Document, wanted: Document) -> Document:
    """Return the object of an update as webhooks see it: without metadata that the client left out
    and the server restored.
    """
    sent = wanted["metadata"]
    removal = [key for key in ("uid", "creationTimestamp", "generation") if key not in sent]
    meta = {key: value for key, value in document["metadata"].items() if key not in removal}
    return {**document, "metadata": meta}


def _combine(context: RequestContext, live: Document, wanted: Document) -> Document:
    """Combine the live object with those parts of the wanted one that this endpoint may change."""
    if context.subresource == "status":
        if context.kind.strategy.status_update_keeps_metadata:
            meta = {**live["metadata"]}
            _copy_field(meta, wanted["metadata"], "managedFields")
        else:
            meta = {**wanted["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}
        document = {**live, "metadata": meta}
        _copy_field(document, wanted, "status")
        if context.kind.custom and "status" not in live and document.get("status", live) is None:
            return context.kind.schema.prune(document)  # null: still not set
        return document
    if context.subresource == "finalize":
        finalizers = (wanted.get("spec") or {}).get("finalizers") or []
        spec = {**(live.get("spec") or {}), "finalizers": finalizers}
        return {**live, "metadata": {**live["metadata"]}, "spec": spec}
    document = {**wanted, "metadata": {**wanted["metadata"]}}
    document["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
    if context.kind.strategy.status:
        _copy_field(document, live, "status")
    return document


def _copy_field(document: Document, other: Document, field: str) -> None:
    """Copy a field from the other document, or remove it if the other one lacks it."""
    if field in other:
        document[field] = other[field]
    else:
        document.pop(field, None)


_METADATA_BESIDE: Document = {"metadata": None}
_STATUS_BESIDE: Document = {"metadata": None, "status": None}
"""Fields that are overwritten in both objects so that a comparison ignores them."""


def _count_generation(context: RequestContext, document: Document, live: Document) -> None:
    if not context.kind.strategy.generation or context.subresource == "status":
        return
    ignored = _STATUS_BESIDE if context.kind.strategy.status else _METADATA_BESIDE
    annotated = context.kind.strategy.generation_counts_annotations and _annotations(
        document
    ) != _annotations(live)
    if annotated or {**document, **ignored} != {**live, **ignored}:
        document["metadata"]["generation"] = live["metadata"].get("generation", 0) + 1


def _annotations(document: Document) -> Document:
    return document["metadata"].get("annotations") or {}


async def _store_update(
    server: ServerContext, context: RequestContext, table: Table, document: Document
) -> None:
    """Store a changed object; delete it if it was being deleted and lost its last finalizer."""
    meta = document["metadata"]
    if (
        meta.get("deletionTimestamp")
        and not meta.get("finalizers")
        and _is_finalized(context, document)
    ):
        stored = table.latest(context.namespace, context.name)
        server.store.delete(table, context.namespace, context.name, stored or document)
    else:
        server.store.put(table, context.namespace, context.name, document, most=MOST_STORED)
        if context.was_defaulted:
            server.undefaulted.add(table.name, document)
    await server.store.wait_for_commit()


def _is_finalized(context: RequestContext, document: Document) -> bool:
    """Report whether only finalizers keep the object: no grace period, no namespace content."""
    if document["metadata"].get("deletionGracePeriodSeconds"):
        return False
    return context.kind.table != "namespaces" or not (document.get("spec") or {}).get("finalizers")
