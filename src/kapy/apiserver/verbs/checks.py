"""Checks of every write: decoding, field ownership, admission, validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

from kapy.apiserver.admission.plugin import Review
from kapy.apiserver.request import body
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.resources import metadata
from kapy.apiserver.resources.conversion_cache import ConversionNeeded, resolve_conversions
from kapy.apiserver.resources.first_decoding_error import first_decoding_error
from kapy.apiserver.resources.kind_errors import invalid_object
from kapy.apiserver.resources.metadata import deduplicate_owners
from kapy.apiserver.resources.schemas import drop_invalid_metadata
from kapy.apiserver.resources.structs import WrongType
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.options import FieldValidation, webhook_options
from kapy.apiserver.verbs.patch_results import PatchResult
from kapy.kube import Document
from kapy.kube.apply import Write
from kapy.kube.apply.refusals import conversion_error
from kapy.kube.errors import ApiError, BadRequest, Invalid
from kapy.kube.field_errors import FieldError, TooManyErrors, invalid
from kapy.kube.names import split_api_version

Operation = Literal["CREATE", "UPDATE", "DELETE"]

_BUT_STATUS: Document = {"f:metadata": {}, "f:spec": {}}
_STATUS: Document = {"f:status": {}}


def decode_object(
    context: RequestContext,
    document: Document,
    checks: FieldValidation,
    *,
    patched: PatchResult | None = None,
    applied: Document | None = None,
) -> Document:
    """Return the object pruned and defaulted. Warn about unknown fields or refuse them.

    patched: the patch result that the object comes from; parts shared with the live object are not
    checked again. applied: the configuration of a server-side apply that the object comes from;
    nulls are then kept so that validation refuses them, and a custom object loses invalid times.
    """
    unknown: list[str] = []
    sent = document
    if applied is not None and context.kind.custom:
        document = drop_invalid_metadata(document)
    live = patched.live if patched is not None and defaults_are_stored(context) else None
    try:
        document = context.kind.schema.decode(
            document, unknown, live=live, keep_nulls=applied is not None
        )
    except WrongType as error:
        if applied is not None and not context.kind.custom:
            raise conversion_error(applied, str(error)) from None
        if patched is None:
            struct = context.kind.schema.struct
            error = (first_decoding_error(document, struct) if struct else None) or error
            kind, version = context.kind.resource.kind, context.kind.resource.version
            raise BadRequest(
                f'{kind} in version "{version}" cannot be handled as a {kind}: {error}'
            ) from None
        unknown = []
        document = context.kind.schema.decode(patched.repair(document, error), unknown, live=live)
    if patched is not None and unknown:
        unknown = patched.sort_paths(unknown)
    checks.report(context, unknown, None if patched is None else patched.invalid_error)
    if document.get("metadata") is None:
        document = {**document, "metadata": {}}
    elif not context.kind.custom and _resets_managed_fields(sent):
        document = {**document, "metadata": {**document["metadata"], "managedFields": []}}
    changed = patched is not None or applied is not None
    context.warnings.extend(deduplicate_owners(document, patched=changed))
    context.kind.strategy.default(document)
    return document


def _resets_managed_fields(sent: Document) -> bool:
    """Report whether the client sent an empty managedFields list, which resets field ownership.

    The decoder drops empty lists, so this must look at the object as it was sent.
    """
    meta = sent.get("metadata")
    return isinstance(meta, dict) and meta.get("managedFields") == []


def defaults_are_stored(context: RequestContext) -> bool:
    """Report whether stored objects already have the defaults of the request's version.

    Parts that a patch does not change then need no second check. An object stored in another
    version has only the defaults of that version.
    """
    return not context.kind.custom or context.kind.storage.version == context.kind.resource.version


def read_object(context: RequestContext, checks: FieldValidation) -> Document:
    """Return the object in the request body, pruned and defaulted. Raises BadRequest, Invalid."""
    document = body.read_object(context, checks.duplicates)
    if not has_other_type(context, document):
        return decode_object(context, document, checks)
    document = decode_metadata_only(context, document, checks)
    version, wanted = document["apiVersion"], context.kind.resource.api_version
    if version != wanted:
        raise BadRequest(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({wanted})"
        )
    return document


def has_other_type(context: RequestContext, document: Document) -> bool:
    """Report whether a custom object declares another kind or apiVersion than the request path."""
    resource = context.kind.resource
    return context.kind.custom and (
        document["kind"] != resource.kind or document.get("apiVersion") != resource.api_version
    )


def decode_metadata_only(
    context: RequestContext,
    document: Document,
    checks: FieldValidation,
    *,
    patched: PatchResult | None = None,
) -> Document:
    """Check a custom object of another kind or version than the path: decode only its metadata.

    If the kind does not serve that version, all its other fields are unknown. patched: the patch
    result that the object comes from. Raises BadRequest, Invalid.
    """
    kind, version = document["kind"], document.get("apiVersion") or ""
    resource, number = context.kind.resource, split_api_version(version)[1]

    def refusal(why: str) -> ApiError:
        if patched is not None:
            return patched.invalid_error(why)
        result = f'{kind} in version "{number}" cannot be handled as a {resource.kind}'
        return BadRequest(f"{result}: {why}")

    unknown: list[str] = []
    try:
        document = context.kind.schema.decode_metadata(document, unknown)
    except WrongType as error:
        raise refusal(str(error)) from None
    group = split_api_version(version)[0]
    ours = (group, kind) == (resource.group, resource.kind)
    if ours and version not in context.kind.schema.tracker.versions:
        unknown.extend(sorted(document.keys() - {"apiVersion", "kind", "metadata"}))
    checks.report(context, unknown, refusal)
    return {**document, "metadata": document.get("metadata") or {}}


def check_type(context: RequestContext, document: Document) -> None:
    """Check that a custom object has the kind and version of the request path. Raises Invalid."""
    if not has_other_type(context, document):
        return
    resource, kind, version = (
        context.kind.resource,
        document["kind"],
        document.get("apiVersion") or "",
    )
    errors: list[FieldError] = []
    if kind != resource.kind:
        errors.append(invalid("kind", kind, f"must be {resource.kind}"))
    if version != resource.api_version:
        errors.append(invalid("apiVersion", version, f"must be {resource.api_version}"))
    name = document["metadata"].get("name", "")
    raise Invalid.of(kind, split_api_version(version)[0], name, errors)


def describe_write(server: ServerContext, context: RequestContext) -> Write:
    """Return the description of this write that the managedFields tracker needs."""
    reset = None
    if context.subresource == "status":
        reset = _BUT_STATUS
    elif context.kind.strategy.status and not context.subresource:
        reset = _STATUS
    return Write(
        context.field_manager,
        context.kind.resource.api_version,
        metadata.format_time(server.clock()),
        context.subresource,
        reset,
    )


def track_ownership(
    server: ServerContext, context: RequestContext, live: Document | None, new: Document
) -> Document:
    """Return `new` with managedFields updated by the changes of this request."""
    return context.kind.schema.tracker.track(live, new, describe_write(server, context))


async def run_with_conversions(
    server: ServerContext, context: RequestContext, work: Callable[[], Document]
) -> Document:
    """Run `work`; if it needs a webhook conversion, convert the object and run it again."""
    try:
        return await context.compute(work) if context.is_large else work()
    except ConversionNeeded:
        return await resolve_conversions(
            partial(context.compute, work), partial(_convert, server, context)
        )


async def _convert(
    server: ServerContext, context: RequestContext, document: Document, version: str
) -> Document:
    """Convert an object of the request's kind to another apiVersion."""
    resource = context.kind.resource
    source, target = (
        replace(resource, version=split_api_version(item)[1])
        for item in (document["apiVersion"], version)
    )
    (result,) = await server.converter.convert_objects((document,), source, target)
    return result


async def run_mutating_admission(
    server: ServerContext,
    context: RequestContext,
    operation: Operation,
    new: Document,
    old: Document | None,
    *,
    dry_run: bool,
    name: str = "",
) -> Document:
    """Return the object after mutating admission. name: see `new_review`."""
    for plugin in server.admission.plugins(context.kind, context.subresource):
        new = await plugin.default(
            new_review(context, operation, new, old, dry_run=dry_run, name=name)
        )
    return new


async def run_admission(
    server: ServerContext, context: RequestContext, document: Document, *, dry_run: bool
) -> Document:
    """Run mutating and validating admission for an object that is not stored (a review, an
    eviction, a token request) and return it.
    """
    document = await run_mutating_admission(
        server, context, "CREATE", document, None, dry_run=dry_run
    )
    review = new_review(context, "CREATE", document, None, dry_run=dry_run)
    for plugin in server.admission.plugins(context.kind, context.subresource):
        context.warnings.extend(await plugin.validate(review))
    return document


async def validate_object(
    server: ServerContext,
    context: RequestContext,
    operation: Operation,
    new: Document,
    old: Document | None,
    *,
    dry_run: bool,
    name: str = "",
) -> None:
    """Validate metadata, schema and rules, then run validating admission.

    name: see `new_review`. Raises Invalid, Forbidden …
    """
    if context.guard is not None:
        context.guard(new_review(context, operation, new, old, dry_run=dry_run, name=name))
    if context.is_large:
        await context.compute(partial(_check_object, context, new, old))
    else:
        _check_object(context, new, old)
    for plugin in server.admission.plugins(context.kind, context.subresource):
        review = new_review(context, operation, new, old, dry_run=dry_run, name=name)
        context.warnings.extend(await plugin.validate(review))


def _check_object(context: RequestContext, new: Document, old: Document | None) -> None:
    """Validate the object without admission. Raises Invalid."""
    check_type(context, new)
    try:
        errors = _errors(context, new, old)
    except TooManyErrors as enough:
        errors = enough.errors
    if errors:
        raise invalid_object(context.kind, new["metadata"].get("name", ""), errors)
    context.warnings.extend(context.kind.strategy.warnings(new, old))


def _errors(context: RequestContext, new: Document, old: Document | None) -> list[FieldError]:
    kind = context.kind
    if old is None:
        errors = metadata.metadata_errors(new, kind)
    else:
        errors = metadata.metadata_update_errors(
            new, old, kind, subresource=bool(context.subresource)
        )
    result = kind.schema.errors(new, old, context.warnings, errors)
    if result and kind.custom and context.subresource == "status":
        result = [_relative_to_status(field_error) for field_error in result]
    others = result + kind.strategy.validate(new, old)
    return others if others and old is None and kind.strategy.metadata_last else errors + others


def _relative_to_status(error: FieldError) -> FieldError:
    """Rewrite an error of a custom object's status so that its path is relative to `status`."""
    if error.detail.startswith(f"{error.field} in body "):
        below = error.detail.removeprefix("status").removeprefix(".")
        return replace(error, detail=below)
    before, format_, path = error.detail.partition(" in status.")
    if error.field == "<nil>" and format_:
        return replace(error, field="status", detail=f"{before} in {path}")
    return error


def new_review(
    context: RequestContext,
    operation: Operation,
    new: Document | None,
    old: Document | None,
    *,
    dry_run: bool,
    options: Callable[[], Document] | None = None,
    name: str = "",
) -> Review:
    """Return the review of this write, with which admission plug-ins are called.

    options: builds the options if they are not in the query. name: the name in the request, if the
    object may have been renamed since.
    """
    name = name or context.name or ((new or {}).get("metadata") or {}).get("name", "")
    return Review(
        operation=operation,
        resource=context.kind.resource,
        subresource=context.subresource,
        namespace=context.namespace,
        name=name,
        new=new,
        old=old,
        user=context.user,
        dry_run=dry_run,
        options=options or partial(webhook_options, context, operation, dry_run=dry_run),
        compute=context.compute,
        warnings=context.warnings,
        large=context.is_large,
    )
