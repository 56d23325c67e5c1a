"""The verb create: turn a request body into a new stored object."""

from __future__ import annotations

from functools import partial

from kapy.apiserver import body, metadata
from kapy.apiserver.ask import Ask
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import (
    StorageFailure,
    already_exists,
    name_not_unique,
    plain_failure,
    resource_version_set,
)
from kapy.apiserver.resources.structs import Misfit
from kapy.apiserver.shown import shown
from kapy.apiserver.sizes import MOST_STORED, check_size
from kapy.apiserver.store.table import Table
from kapy.apiserver.verbs.checks import admitted, read_typed, tracked, validated, with_conversions
from kapy.apiserver.verbs.namespaces import check_definition, check_namespace
from kapy.apiserver.verbs.options import write_options
from kapy.apiserver.verbs.reading import requested_form
from kapy.kube import Document
from kapy.kube.errors import BadRequest
from kapy.kube.http import Reply

_NAME_ATTEMPTS = 8


async def create(plane: Plane, ask: Ask) -> Reply:
    """Store a new object."""
    body.check_media_type(ask)
    dry_run, checks = write_options(ask, "CreateOptions")
    if ask.large:
        document = await ask.compute(partial(read_typed, ask, checks))
    else:
        document = read_typed(ask, checks)
    meta = document["metadata"]
    if ask.name and (meta.get("name") or meta.get("generateName")):
        check_name(ask, meta)  # authorization was for this name
    settle_namespace(ask, document)
    metadata.wiped(document)
    _settle_name(plane, ask, document)
    owned = await with_conversions(plane, ask, partial(tracked, plane, ask, None, document))
    return await insert(plane, ask, owned, dry_run=dry_run, applied=False)


def settle_namespace(ask: Ask, document: Document) -> None:
    """Set the namespace of the body to that of the path. Raises BadRequest if they differ."""
    meta = document["metadata"]
    if not ask.kind.namespaced:
        meta.pop("namespace", None)
        return
    check_namespace_of(ask, meta)
    if ask.namespace:
        meta["namespace"] = ask.namespace


def check_namespace_of(ask: Ask, meta: Document) -> None:
    """Check that metadata.namespace is empty or equal to that of the path. Raises BadRequest."""
    if ask.kind.namespaced and (meta.get("namespace") or "") not in ("", ask.namespace):
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_name(ask: Ask, meta: Document) -> None:
    """Check that metadata.name is equal to that of the path. Raises BadRequest."""
    name = meta.get("name", "")
    if not name:
        raise BadRequest(
            f"the name of the object ({ask.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != ask.name:
        raise BadRequest(
            f"the name of the object ({name}) does not match the name on the URL ({ask.name})"
        )


def _settle_name(plane: Plane, ask: Ask, document: Document) -> None:
    """Generate a free name for an object with generateName."""
    meta = document["metadata"]
    if meta.get("name") or not meta.get("generateName"):
        return
    table = plane.table(ask.kind)
    for _ in range(_NAME_ATTEMPTS):
        meta["name"] = metadata.generated_name(meta["generateName"], plane.rng)
        if table.latest(ask.namespace, meta["name"]) is None:
            return


async def insert(
    plane: Plane, ask: Ask, document: Document, *, dry_run: bool, applied: bool
) -> Reply:
    """Run admission and validation on a new object with managedFields, then store it.

    applied: the request is a server-side apply.
    """
    kind, table = ask.kind, plane.table(ask.kind)
    check_namespace(plane, ask, document)
    check_definition(plane, ask, document)
    version, name = document["metadata"].get("resourceVersion") or "", _asked_name(ask, document)
    given = document
    document = await admitted(plane, ask, "CREATE", document, None, dry_run=dry_run, name=name)
    shaped = kind.custom and plane.webhooks and (applied or document is not given)
    document = {**document, "metadata": {**document["metadata"]}}
    metadata.wiped(document)
    metadata.born(document, kind, ask.namespace, plane.clock(), plane.rng)
    if "status" in document and kind.strategy.status and not kind.strategy.status_at_birth:
        without = {key: value for key, value in document.items() if key != "status"}
        # An object of another version gets the defaults of the storage version (`stored_form`).
        document = kind.schema.filled(without) if kind.resource == kind.storage else without
    kind.strategy.allocate(document, None, table)
    kind.strategy.prepare_create(document, table)
    await validated(plane, ask, "CREATE", document, None, dry_run=dry_run, name=name)
    check_namespace(plane, ask, document)  # the namespace may have been deleted meanwhile
    if shaped:
        document = pruned(ask, document)
    if version.isdigit() and int(version) and not dry_run and not applied:
        raise resource_version_set()
    if ask.large:
        await ask.compute(partial(check_size, document, dry_run=dry_run))
    if dry_run:
        await _check_free(plane, ask, document, shown=True)
    stored = await stored_form(plane, ask, document)
    if not dry_run:
        meta = document["metadata"]
        if table.latest(meta.get("namespace", ""), meta["name"]) is not None:
            await _check_free(plane, ask, document)  # no await follows, so no request can interfere
        stored = await keep(plane, table, stored)
        if ask.filled:
            plane.unfilled.add(table.name, stored)
    elif version:
        stored = {**stored, "metadata": {**stored["metadata"], "resourceVersion": version}}
    return await shown(plane, ask, stored, 201)


async def _check_free(plane: Plane, ask: Ask, document: Document, *, shown: bool = False) -> None:
    """Check that the object does not exist yet. Raises AlreadyExists.

    shown: ignore an object that cannot be converted to the request's version (for a dry run).
    """
    kind, meta = ask.kind, document["metadata"]
    live = plane.table(kind).latest(meta.get("namespace", ""), meta["name"])
    if live is None:
        return
    if shown:
        try:
            await requested_form(plane, ask, live)
        except StorageFailure:
            return
    await plane.store.committed()  # a read after this error must find the object
    if meta.get("generateName"):
        raise name_not_unique(kind, meta["name"])
    raise already_exists(kind, meta["name"], ending=bool(live["metadata"].get("deletionTimestamp")))


def _asked_name(ask: Ask, document: Document) -> str:
    """Return the name in the request; a webhook may change the name in the object."""
    return ask.name or document["metadata"].get("name", "")


_LEFT_OUT = ("labels", "annotations", "finalizers", "ownerReferences")


def with_empty(document: Document, given: Document) -> Document:
    """Return an applied object with its empty metadata fields restored, as admission must see
    them.
    """
    meta = given["metadata"]
    empty = {key: meta[key] for key in _LEFT_OUT if key in meta and not meta[key]}
    return {**document, "metadata": {**document["metadata"], **empty}} if empty else document


def pruned(ask: Ask, document: Document) -> Document:
    """Return a custom object as it is stored: without empty metadata fields and without fields that
    webhooks added but the schema does not know. Raises StorageFailure.
    """
    try:
        return ask.kind.schema.decoded(document, [])
    except Misfit as error:
        message = str(error)
        raise StorageFailure(message, status=plain_failure(message)) from None


async def keep(plane: Plane, table: Table, document: Document) -> Document:
    """Store an object and wait until the write is durable."""
    meta = document["metadata"]
    kept = plane.store.put(
        table, meta.get("namespace", ""), meta["name"], document, most=MOST_STORED
    )
    await plane.store.committed()
    return kept


async def stored_form(
    plane: Plane, ask: Ask, document: Document, *, before: Document | None = None
) -> Document:
    """Return the object in the storage version.

    before: the stored object. If it has another version, the defaults of the storage version are
    filled in.
    """
    kind = ask.kind
    document = kind.strategy.stored(document)
    if kind.storage is kind.resource or kind.storage == kind.resource:
        if before is not None and before["apiVersion"] != kind.storage.api_version:
            document = kind.schema.filled(document)
        return document
    (document,) = await plane.converted((document,), kind.resource, kind.storage, stored=True)
    stored = plane.registry.find(kind.storage.group, kind.storage.version, kind.storage.plural)
    if stored is not None:
        full = stored.schema.filled(document)
        ask.filled = full != document
        document = full
    return {**document, "metadata": {**document["metadata"]}}
