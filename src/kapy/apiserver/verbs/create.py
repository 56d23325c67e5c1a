"""The verb create: turn a request body into a new stored object."""

from __future__ import annotations

from functools import partial

from kapy.apiserver.errors import StorageFailure, failure_status, resource_version_on_create
from kapy.apiserver.request import body
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.resources import metadata
from kapy.apiserver.resources.custom import DEFINITIONS
from kapy.apiserver.resources.kind_errors import already_exists, name_not_unique, status_details
from kapy.apiserver.resources.sizes import MOST_STORED, check_size
from kapy.apiserver.resources.structs import WrongType
from kapy.apiserver.store.table import Table
from kapy.apiserver.verbs.checks import (
    read_object,
    run_mutating_admission,
    run_with_conversions,
    track_ownership,
    validate_object,
)
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.options import parse_write_options
from kapy.apiserver.verbs.read import to_requested_version
from kapy.apiserver.verbs.serialization import serialize_response
from kapy.kube import Document
from kapy.kube.digits import parse_digits
from kapy.kube.errors import BadRequest, Forbidden, NotFound
from kapy.kube.http import Reply

_NAME_ATTEMPTS = 8

_LEFT_OUT = ("labels", "annotations", "finalizers", "ownerReferences")


async def create(server: ServerContext, context: RequestContext) -> Reply:
    """Handle the verb create: store a new object and return the response."""
    body.check_media_type(context)
    dry_run, checks = parse_write_options(context, "CreateOptions")
    if context.is_large:
        document = await context.compute(partial(read_object, context, checks))
    else:
        document = read_object(context, checks)
    meta = document["metadata"]
    if context.name and (meta.get("name") or meta.get("generateName")):
        check_name(context, meta)  # authorization was for this name
    set_namespace(context, document)
    metadata.strip_system_fields(document)
    _set_generated_name(server, context, document)
    owned = await run_with_conversions(
        server, context, partial(track_ownership, server, context, None, document)
    )
    return await insert(server, context, owned, dry_run=dry_run, applied=False)


def set_namespace(context: RequestContext, document: Document) -> None:
    """Set the namespace of the body to that of the path. Raises BadRequest if they differ."""
    meta = document["metadata"]
    if not context.kind.namespaced:
        meta.pop("namespace", None)
        return
    check_namespace_of(context, meta)
    if context.namespace:
        meta["namespace"] = context.namespace


def check_namespace_of(context: RequestContext, meta: Document) -> None:
    """Check that metadata.namespace is empty or equal to that of the path. Raises BadRequest."""
    if context.kind.namespaced and (meta.get("namespace") or "") not in ("", context.namespace):
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_name(context: RequestContext, meta: Document) -> None:
    """Check that metadata.name is equal to that of the path. Raises BadRequest."""
    name = meta.get("name", "")
    if not name:
        raise BadRequest(
            f"the name of the object ({context.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != context.name:
        raise BadRequest(
            f"the name of the object ({name}) does not match the name on the URL ({context.name})"
        )


def _set_generated_name(server: ServerContext, context: RequestContext, document: Document) -> None:
    """Generate a free name for an object with generateName."""
    meta = document["metadata"]
    if meta.get("name") or not meta.get("generateName"):
        return
    table = server.table(context.kind)
    for _ in range(_NAME_ATTEMPTS):
        meta["name"] = metadata.generate_name(meta["generateName"], server.rng)
        if table.latest(context.namespace, meta["name"]) is None:
            return


async def insert(
    server: ServerContext,
    context: RequestContext,
    document: Document,
    *,
    dry_run: bool,
    applied: bool,
) -> Reply:
    """Run admission and validation on a new object with managedFields, then store it.

    applied: the request is a server-side apply.
    """
    kind, table = context.kind, server.table(context.kind)
    _check_namespace(server, context, document)
    _check_definition(server, context, document)
    version, name = (
        document["metadata"].get("resourceVersion") or "",
        _requested_name(context, document),
    )
    original = document
    document = await run_mutating_admission(
        server, context, "CREATE", document, None, dry_run=dry_run, name=name
    )
    shaped = kind.custom and server.admission.has_webhooks and (applied or document is not original)
    document = {**document, "metadata": {**document["metadata"]}}
    metadata.strip_system_fields(document)
    metadata.init_metadata(document, kind, context.namespace, server.clock(), server.rng)
    if "status" in document and kind.strategy.status and not kind.strategy.keep_status_on_create:
        without = {key: value for key, value in document.items() if key != "status"}
        # An object of another version gets the defaults of the storage version (`stored_form`).
        document = kind.schema.add_defaults(without) if kind.resource == kind.storage else without
    kind.strategy.allocate(document, None, table)
    kind.strategy.prepare_create(document, table)
    await validate_object(server, context, "CREATE", document, None, dry_run=dry_run, name=name)
    _check_namespace(server, context, document)  # the namespace may have been deleted meanwhile
    if shaped:
        document = prune_custom(context, document)
    if parse_digits(version) and not dry_run and not applied:
        raise resource_version_on_create()
    if context.is_large:
        await context.compute(partial(check_size, document, dry_run=dry_run))
    if dry_run:
        await _check_free(server, context, document, shown=True)
    stored = await to_storage_version(server, context, document)
    if not dry_run:
        meta = document["metadata"]
        if table.latest(meta.get("namespace", ""), meta["name"]) is not None:
            await _check_free(
                server, context, document
            )  # no await follows, so no request can interfere
        stored = await _store_object(server, table, stored)
        if context.was_defaulted:
            server.undefaulted.add(table.name, stored)
    elif version:
        stored = {**stored, "metadata": {**stored["metadata"], "resourceVersion": version}}
    return await serialize_response(server, context, stored, 201)


async def _check_free(
    server: ServerContext, context: RequestContext, document: Document, *, shown: bool = False
) -> None:
    """Check that the object does not exist yet. Raises AlreadyExists.

    shown: ignore an object that cannot be converted to the request's version (for a dry run).
    """
    kind, meta = context.kind, document["metadata"]
    live = server.table(kind).latest(meta.get("namespace", ""), meta["name"])
    if live is None:
        return
    if shown:
        try:
            await to_requested_version(server, context, live)
        except StorageFailure:
            return
    await server.store.wait_for_commit()  # a read after this error must find the object
    if meta.get("generateName"):
        raise name_not_unique(kind, meta["name"])
    raise already_exists(kind, meta["name"], ending=bool(live["metadata"].get("deletionTimestamp")))


def _requested_name(context: RequestContext, document: Document) -> str:
    """Return the name in the request; a webhook may change the name in the object."""
    return context.name or document["metadata"].get("name", "")


def restore_empty_metadata(document: Document, original: Document) -> Document:
    """Return an applied object with its empty metadata fields restored, as admission must see
    them.
    """
    meta = original["metadata"]
    empty = {key: meta[key] for key in _LEFT_OUT if key in meta and not meta[key]}
    return {**document, "metadata": {**document["metadata"], **empty}} if empty else document


def prune_custom(context: RequestContext, document: Document) -> Document:
    """Return a custom object in its stored form: without empty metadata fields and without fields
    that webhooks added but the schema does not know. Raises StorageFailure.
    """
    try:
        return context.kind.schema.decode(document, [])
    except WrongType as error:
        message = str(error)
        raise StorageFailure(message, status=failure_status(message)) from None


async def _store_object(server: ServerContext, table: Table, document: Document) -> Document:
    """Store an object and wait until the write is durable."""
    meta = document["metadata"]
    result = server.store.put(
        table, meta.get("namespace", ""), meta["name"], document, most=MOST_STORED
    )
    await server.store.wait_for_commit()
    return result


async def to_storage_version(
    server: ServerContext,
    context: RequestContext,
    document: Document,
    *,
    before: Document | None = None,
) -> Document:
    """Return the object in the storage version.

    before: the stored object. If it has another version, the defaults of the storage version are
    filled in.
    """
    kind = context.kind
    document = kind.strategy.to_stored(document)
    if kind.storage is kind.resource or kind.storage == kind.resource:
        if before is not None and before["apiVersion"] != kind.storage.api_version:
            document = kind.schema.add_defaults(document)
        return document
    (document,) = await server.converter.convert_objects(
        (document,), kind.resource, kind.storage, stored=True
    )
    stored = server.registry.find(kind.storage.group, kind.storage.version, kind.storage.plural)
    if stored is not None:
        full = stored.schema.add_defaults(document)
        context.was_defaulted = full != document
        document = full
    return {**document, "metadata": {**document["metadata"]}}


def _check_namespace(server: ServerContext, context: RequestContext, document: Document) -> None:
    """Check that objects can be created in the namespace. Raises NotFound or Forbidden."""
    if not context.kind.namespaced:
        return
    table = server.store.peek("namespaces")
    namespace = None if table is None else table.latest("", context.namespace)
    if namespace is None:
        raise NotFound(
            f'namespaces "{context.namespace}" not found',
            details={"name": context.namespace, "kind": "namespaces"},
        )
    if namespace["metadata"].get("deletionTimestamp"):
        name = document["metadata"].get("name", "")
        resource = context.kind.resource
        what = f'{resource.group_resource} "{name}"'
        why = (
            f"unable to create new content in namespace {context.namespace} because it is being "
            "terminated"
        )
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {context.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        raise Forbidden(
            f"{what} is forbidden: {why}",
            details={**status_details(context.kind, name), "causes": [cause]},
        )


def _check_definition(server: ServerContext, context: RequestContext, document: Document) -> None:
    """Check that the kind's CustomResourceDefinition is not being deleted. Raises Forbidden."""
    if not context.kind.custom:
        return
    table = server.store.peek(DEFINITIONS)
    definition = None if table is None else table.latest("", context.kind.table)
    if definition is not None and definition["metadata"].get("deletionTimestamp"):
        name = document["metadata"].get("name", "")
        raise Forbidden(
            f'{context.kind.group_resource} "{name}" is forbidden: create not allowed while custom '
            "resource definition is terminating",
            details=status_details(context.kind, name),
        )
