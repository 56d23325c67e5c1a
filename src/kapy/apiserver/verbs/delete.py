"""The verbs delete and deletecollection: preconditions, finalizers, propagation."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from msgspec import structs

from kapy.apiserver.errors import invalid_parameters
from kapy.apiserver.request import body
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.request.parameters import (
    bool_parameter,
    dry_run_error,
    dry_run_values,
    int_parameter,
)
from kapy.apiserver.resources.custom import CLEANUP, DEFINITIONS
from kapy.apiserver.resources.kind import Kind
from kapy.apiserver.resources.kind_errors import conflict, not_found, status_details
from kapy.apiserver.resources.metadata import format_time
from kapy.apiserver.resources.structs import WrongType, decoder
from kapy.apiserver.verbs.checks import new_review
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.create import to_storage_version
from kapy.apiserver.verbs.read import (
    decode_in_turns,
    list_objects,
    list_selection,
    select_page,
    to_requested_version,
)
from kapy.apiserver.verbs.serialization import serialize_list, serialize_response
from kapy.kube import Document
from kapy.kube.errors import BadRequest, Conflict, Forbidden
from kapy.kube.field_errors import FieldError, invalid
from kapy.kube.http import Reply

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


class DeleteOptions(NamedTuple):
    """DeleteOptions from the body or the query. uid and resource_version are preconditions if
    set.
    """

    uid: str | None = None
    resource_version: str | None = None
    propagation: str | None = None
    orphan: bool | None = None
    grace: int | None = None
    dry_run: bool = False


def parse_delete_options(context: RequestContext) -> DeleteOptions:
    """Return the DeleteOptions of the request. Raises BadRequest or Invalid."""
    content = (
        _parse_query(context.request.query) if not context.request.body else _parse_body(context)
    )
    try:
        decoder(_STRUCT)(content, None, [])
    except WrongType as error:
        raise BadRequest(str(error)) from None
    return _parse_content(content)


_STRUCT = "meta.v1.DeleteOptions"


def _parse_query(query: Mapping[str, str]) -> Document:
    """Return the options in the query, which apply if there is no body. Raises BadRequest."""
    preconditions = {key: query[key] for key in ("uid", "resourceVersion") if key in query}
    return {
        "preconditions": preconditions,
        "propagationPolicy": query.get("propagationPolicy"),
        "gracePeriodSeconds": int_parameter(query, "gracePeriodSeconds"),
        "orphanDependents": (
            bool_parameter(query, "orphanDependents") if "orphanDependents" in query else None
        ),
        "dryRun": dry_run_values(query),
    }


def _parse_body(context: RequestContext) -> Document:
    """Return the options in the body; the DeleteOptions of any API group are allowed.

    Raises BadRequest.
    """
    media = body.check_media_type(context, meta=True)
    raw = context.request.body
    try:
        is_yaml = media == body.YAML
        content: Any = (
            body.decode_yaml(raw)
            if is_yaml and isinstance(raw, bytes)
            else body.decode_body(context)
        )
    except body.InvalidJson as error:
        raise BadRequest(f"{_COMPLAINTS.get(media, _OF_JSON)}{error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise BadRequest(f"couldn't get version/kind; {body.not_an_object_error(content)}")
    version, kind = content.get("apiVersion"), content.get("kind")
    for field, value in (("apiVersion", version), ("kind", kind)):
        if not isinstance(value, str | None):
            raise BadRequest(f"couldn't get version/kind; {body.not_a_string_error(field, value)}")
    _check_kind(version or "", kind or "")
    return content


_OF_JSON = "couldn't get version/kind; json parse error: "
_COMPLAINTS = {body.YAML: "", body.PROTOBUF: ""}


def _check_kind(version: str, kind: str) -> None:
    """Check that the body's kind is DeleteOptions, in any API group. Raises BadRequest."""
    if version.count("/") > 1:
        raise BadRequest(f"unexpected GroupVersion string: {version}")
    if (kind or "DeleteOptions") == "DeleteOptions":
        return
    kinds = _OTHERS if version == "v1" else _OPTIONS if not version else ()
    if kind in kinds:
        raise BadRequest(f"converting (v1.{kind}) to (v1.DeleteOptions): unknown conversion")
    version = version or "meta.k8s.io/v1"
    raise BadRequest(
        f'no kind "{kind}" is registered for version "{version}" in scheme '
        '"pkg/runtime/scheme.go:111"'
    )


_OTHERS = ("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status")
_OPTIONS = ("CreateOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions")
"""The other option kinds in the API group meta.k8s.io."""

_POLICIES = ("Foreground", "Background", "Orphan")


def _parse_content(content: Document) -> DeleteOptions:
    policy, orphan = content.get("propagationPolicy"), content.get("orphanDependents")
    errors: list[FieldError] = []
    if policy is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid("propagationPolicy", policy, why))
    if policy is not None and policy not in _POLICIES:
        supported = ", ".join(f'"{item}"' for item in (*_POLICIES, "nil"))
        why = f"supported values: {supported}"
        errors.append(FieldError("FieldValueNotSupported", "propagationPolicy", why, policy))
    dry_run = content.get("dryRun") or []
    if (error := dry_run_error(dry_run)) is not None:
        errors.append(error)
    if errors:
        raise invalid_parameters("DeleteOptions", errors)
    preconditions = content.get("preconditions") or {}
    return DeleteOptions(
        preconditions.get("uid"),
        preconditions.get("resourceVersion"),
        policy,
        orphan,
        content.get("gracePeriodSeconds"),
        bool(dry_run),
    )


_PRESERVED = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)


def _warn_about_orphans(context: RequestContext, options: DeleteOptions) -> None:
    """Warn that deleting a Job orphans its pods, unless the request sets a propagation policy."""
    if context.kind.table == "jobs.batch" and not options.propagation and options.orphan is None:
        context.warnings.append(_PRESERVED)


async def delete(
    server: ServerContext, context: RequestContext, *, admission: bool = True
) -> Reply:
    """Handle the verb delete for one object. admission: run validating admission first."""
    options = await context.compute(partial(parse_delete_options, context))
    _warn_about_orphans(context, options)
    table = server.table(context.kind)
    document = table.latest(context.namespace, context.name)
    if document is None:
        raise not_found(context.kind, context.name)
    if context.kind.table == "namespaces" and context.name in _IMMORTAL:
        raise Forbidden(
            f'namespaces "{context.name}" is forbidden: this namespace may not be deleted',
            details=status_details(context.kind, context.name),
        )
    if admission:
        await _run_validating_admission(server, context, document, options)
    document = await _get_deletable(server, context, options)
    document_after, removal = await delete_or_mark(server, context, document, options)
    if removal and context.kind.resource.plural not in _ANSWERS_OBJECT:
        return Reply(200, _success_status(context, document["metadata"]["uid"]))
    accepted = not removal and options.orphan is False
    return await serialize_response(server, context, document_after, 202 if accepted else 200)


async def _get_deletable(
    server: ServerContext, context: RequestContext, options: DeleteOptions
) -> Document:
    """Return the live object after a check of the preconditions and conversions.

    An object that cannot be converted to the request's version and back is not deleted. An object
    without finalizers is returned as stored, like from kube-apiserver's cache.

    Raises NotFound, Conflict, ConversionFailed.
    """
    table = server.table(context.kind)
    while (document := table.latest(context.namespace, context.name)) is not None:
        _check_preconditions(context, options, document)
        form = await to_requested_version(server, context, document)
        anew = await to_storage_version(server, context, form)
        if table.latest(context.namespace, context.name) is document:
            return anew if document["metadata"].get("finalizers") else document
    raise not_found(context.kind, context.name)


async def _run_validating_admission(
    server: ServerContext,
    context: RequestContext,
    document: Document,
    options: DeleteOptions,
    *,
    named: bool = True,
) -> None:
    """Run validating admission for a deletion.

    named: the request is for this object alone, and not for a collection. Raises Forbidden …
    """
    for plugin in server.admission.plugins(context.kind, ""):
        result = partial(_options_for_webhooks, options)
        review = new_review(
            context, "DELETE", None, document, dry_run=options.dry_run, options=result
        )
        review = review if named else structs.replace(review, name="")
        context.warnings.extend(await plugin.validate(review))


def _options_for_webhooks(options: DeleteOptions) -> Document:
    """Return the DeleteOptions as they are sent to admission webhooks."""
    result: Document = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    if options.grace is not None:
        result["gracePeriodSeconds"] = options.grace
    conditions = {"uid": options.uid, "resourceVersion": options.resource_version}
    if any(condition is not None for condition in conditions.values()):
        body = {key: value for key, value in conditions.items() if value is not None}
        result["preconditions"] = body
    if options.orphan is not None:
        result["orphanDependents"] = options.orphan
    if options.propagation:
        result["propagationPolicy"] = options.propagation
    if options.dry_run:
        result["dryRun"] = ["All"]
    return result


_IMMORTAL = ("default", "kube-public", "kube-system")
_ANSWERS_OBJECT = (
    "csidrivers",
    "csinodes",
    "customresourcedefinitions",
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "pods",
    "podtemplates",
    "resourcequotas",
    "serviceaccounts",
    "services",
    "storageclasses",
    "volumeattachments",
)


def _success_status(context: RequestContext, uid: str) -> Document:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {**status_details(context.kind, context.name), "uid": uid},
    }


def _check_preconditions(
    context: RequestContext, options: DeleteOptions, document: Document
) -> None:
    meta, resource = document["metadata"], context.kind.resource
    qualified = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    if options.uid is not None and options.uid != meta["uid"]:
        raise _precondition_error(context, qualified, "UID", options.uid, meta["uid"])
    version = options.resource_version
    if version is not None and version != meta["resourceVersion"]:
        raise _precondition_error(
            context, qualified, "ResourceVersion", version, meta["resourceVersion"]
        )


_SINCE = {"UID": "deleted and then recreated", "ResourceVersion": "modified"}


def _precondition_error(
    context: RequestContext, qualified: str, what: str, wanted: str, value: str
) -> Conflict:
    message = (
        f'Operation cannot be fulfilled on {qualified} "{context.name}": the {what} in the '
        f"precondition ({wanted}) does not match the {what} in record ({value}). The object might "
        f"have been {_SINCE[what]}"
    )
    error = conflict(context.kind, context.name)
    found_details = {**(error.details or {}), "kind": context.kind.resource.kind}
    return Conflict(message, details=found_details)


async def delete_or_mark(
    server: ServerContext, context: RequestContext, document: Document, options: DeleteOptions
) -> tuple[Document, bool]:
    """Delete an object, or mark it for deletion if finalizers or a grace period keep it.

    Returns the object and whether it is gone.
    """
    result = stage_deletion(server, context.kind, document, options)
    if not options.dry_run:
        await server.store.wait_for_commit()
    return result


def stage_deletion(
    server: ServerContext, kind: Kind, document: Document, options: DeleteOptions | None = None
) -> tuple[Document, bool]:
    """Stage the deletion of an object. Returns the object and whether it will be gone."""
    options = options or DeleteOptions()
    meta, table = document["metadata"], server.store.table(kind.table)
    finalizers = _propagation_finalizers(meta.get("finalizers") or [], options)
    if kind.table == DEFINITIONS and CLEANUP not in finalizers:
        finalizers = [*finalizers, CLEANUP]
    grace = 0
    if kind.table == "pods" and server.has_kubelets:
        grace = _grace_period(document, options)
        if meta.get("deletionGracePeriodSeconds") and grace >= meta["deletionGracePeriodSeconds"]:
            return document, False
    held = (
        grace
        or bool(finalizers)
        or (kind.table == "namespaces" and (document.get("spec") or {}).get("finalizers"))
    )
    namespace, name = meta.get("namespace", ""), meta["name"]
    if not held:
        if options.dry_run:
            return document, True
        return server.store.delete(table, namespace, name, document), True
    marked = _mark_for_deletion(server, kind, document, finalizers, grace)
    if marked == document or options.dry_run:
        return marked, False
    server.store.put(table, namespace, name, marked)
    return marked, False


def _grace_period(pod: Document, options: DeleteOptions) -> int:
    """Return the grace period of a pod in seconds; 0 if no kubelet runs the pod."""
    spec, meta = pod.get("spec") or {}, pod["metadata"]
    if not spec.get("nodeName") or (pod.get("status") or {}).get("phase") in _OVER:
        return 0
    if meta.get("deletionTimestamp") and not meta.get("deletionGracePeriodSeconds"):
        return 0
    wanted: int | None = options.grace
    if wanted is None:
        wanted = meta.get("deletionGracePeriodSeconds") or spec.get("terminationGracePeriodSeconds")
    return max(wanted, 1) if wanted and wanted < 0 else wanted or 0


_OVER = ("Succeeded", "Failed")


def _mark_for_deletion(
    server: ServerContext, kind: Kind, document: Document, finalizers: list[str], grace: int
) -> Document:
    meta = {**document["metadata"]}
    marked = {**document, "metadata": meta}
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)
    if meta.get("deletionTimestamp"):
        if meta.get("deletionGracePeriodSeconds"):
            meta["deletionTimestamp"] = format_time(server.clock() + timedelta(seconds=grace))
            meta["deletionGracePeriodSeconds"] = grace
        return marked
    now = format_time(server.clock())
    meta["deletionTimestamp"] = (
        format_time(server.clock() + timedelta(seconds=grace)) if grace else now
    )
    if kind.table == "namespaces":
        marked["status"] = {**(document.get("status") or {}), "phase": "Terminating"}
    elif kind.table == DEFINITIONS:
        marked["status"] = _terminating_status(document, now)
    else:
        meta["deletionGracePeriodSeconds"] = grace
        if meta.get("generation"):
            meta["generation"] += 1
    return marked


def _terminating_status(document: Document, now: str) -> Document:
    status = document.get("status") or {}
    condition = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; "
        "CustomResource deletion will begin soon",
    }
    others = [item for item in status.get("conditions") or () if item["type"] != "Terminating"]
    return {**status, "conditions": [*others, condition]}


def _propagation_finalizers(value: list[str], options: DeleteOptions) -> list[str]:
    """Return the finalizers that the propagation policy of the request leads to."""
    wanted = ""
    if options.propagation == "Orphan" or options.orphan:
        wanted = ORPHAN
    elif options.propagation == "Foreground":
        wanted = FOREGROUND
    elif options.propagation == "Background" or options.orphan is False:
        wanted = "none"
    if not wanted:
        return value
    others = [item for item in value if item not in (ORPHAN, FOREGROUND)]
    return others if wanted == "none" else [*others, wanted]


async def delete_collection(server: ServerContext, context: RequestContext) -> Reply:
    """Delete all objects that the request selects."""
    chosen, limit = list_selection(context)
    options = await context.compute(partial(parse_delete_options, context))
    _warn_about_orphans(context, options)
    table = server.table(context.kind)
    await decode_in_turns(table, context.namespace)
    metadata, result = select_page(server, context, chosen, limit)
    for document in result:
        meta = document["metadata"]
        request_context = structs.replace(
            context, namespace=meta.get("namespace", ""), name=meta["name"]
        )
        await _run_validating_admission(server, request_context, document, options, named=False)
        current = table.latest(request_context.namespace, request_context.name)
        if current is not None:
            _check_preconditions(request_context, options, current)
            await delete_or_mark(server, context, current, options)
    result = list(await server.converter.to_version(result, context.kind.resource))
    return Reply(200, serialize_list(server, context, result, metadata))


__all__ = ["delete", "delete_collection", "delete_or_mark", "list_objects"]
