"""Checks of every write: decoding, field ownership, admission, validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

from kapy.apiserver import body, metadata
from kapy.apiserver.admission import Review
from kapy.apiserver.ask import Ask
from kapy.apiserver.metadata import without_repeated_owners
from kapy.apiserver.plane import Plane
from kapy.apiserver.refusals import invalid_object
from kapy.apiserver.resources.first_misfit import first_misfit
from kapy.apiserver.resources.schemas import with_fit_metadata
from kapy.apiserver.resources.structs import Misfit
from kapy.apiserver.verbs.options import Validation, options_of
from kapy.apiserver.verbs.patch_results import Patched
from kapy.apiserver.webhooks.foreseen import Unforeseen, foreseen
from kapy.kube import Document
from kapy.kube.apply import Write
from kapy.kube.apply.refusals import unconvertible
from kapy.kube.errors import ApiError, BadRequest, Invalid
from kapy.kube.field_errors import EnoughErrors, FieldError, invalid
from kapy.kube.names import split_api_version

Operation = Literal["CREATE", "UPDATE", "DELETE"]

_BUT_STATUS: Document = {"f:metadata": {}, "f:spec": {}}
_STATUS: Document = {"f:status": {}}


def typed(
    ask: Ask,
    document: Document,
    checks: Validation,
    *,
    patched: Patched | None = None,
    applied: Document | None = None,
) -> Document:
    """Return the object pruned and defaulted. Warn about unknown fields or refuse them.

    patched: the patch result that the object comes from; parts shared with the live object are not
    checked again. applied: the configuration of a server-side apply that the object comes from;
    nulls are then kept so that validation refuses them, and a custom object loses invalid times.
    """
    unknown: list[str] = []
    given = document
    if applied is not None and ask.kind.custom:
        document = with_fit_metadata(document)
    live = patched.live if patched is not None and defaults_are_stored(ask) else None
    try:
        document = ask.kind.schema.decoded(
            document, unknown, live=live, keep_nulls=applied is not None
        )
    except Misfit as error:
        if applied is not None and not ask.kind.custom:
            raise unconvertible(applied, str(error)) from None
        if patched is None:
            struct = ask.kind.schema.struct
            error = (first_misfit(document, struct) if struct else None) or error
            kind, version = ask.kind.resource.kind, ask.kind.resource.version
            raise BadRequest(
                f'{kind} in version "{version}" cannot be handled as a {kind}: {error}'
            ) from None
        unknown = []
        document = ask.kind.schema.decoded(patched.repaired(document, error), unknown, live=live)
    if patched is not None and unknown:
        unknown = patched.in_order(unknown)
    checks.report(ask, unknown, None if patched is None else patched.refusal)
    if document.get("metadata") is None:
        document = {**document, "metadata": {}}
    elif not ask.kind.custom and _resets_owners(given):
        document = {**document, "metadata": {**document["metadata"], "managedFields": []}}
    changed = patched is not None or applied is not None
    ask.warnings.extend(without_repeated_owners(document, patched=changed))
    ask.kind.strategy.default(document)
    return document


def _resets_owners(given: Document) -> bool:
    """Report whether the client sent an empty managedFields list, which resets field ownership.

    The decoder drops empty lists, so this must look at the object as it was sent.
    """
    meta = given.get("metadata")
    return isinstance(meta, dict) and meta.get("managedFields") == []


def defaults_are_stored(ask: Ask) -> bool:
    """Report whether stored objects already have the defaults of the request's version.

    Parts that a patch does not change then need no second check. An object stored in another
    version has only the defaults of that version.
    """
    return not ask.kind.custom or ask.kind.storage.version == ask.kind.resource.version


def read_typed(ask: Ask, checks: Validation) -> Document:
    """Return the object in the request body, pruned and defaulted. Raises BadRequest, Invalid."""
    document = body.read_object(ask, checks.duplicates)
    if not of_another_type(ask, document):
        return typed(ask, document, checks)
    document = half_typed(ask, document, checks)
    version, wanted = document["apiVersion"], ask.kind.resource.api_version
    if version != wanted:
        raise BadRequest(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({wanted})"
        )
    return document


def of_another_type(ask: Ask, document: Document) -> bool:
    """Report whether a custom object declares another kind or apiVersion than the request path."""
    resource = ask.kind.resource
    return ask.kind.custom and (
        document["kind"] != resource.kind or document.get("apiVersion") != resource.api_version
    )


def half_typed(
    ask: Ask, document: Document, checks: Validation, *, patched: Patched | None = None
) -> Document:
    """Check a custom object of another kind or version than the path: decode only its metadata.

    If the kind does not serve that version, all its other fields are unknown. patched: the patch
    result that the object comes from. Raises BadRequest, Invalid.
    """
    kind, version = document["kind"], document.get("apiVersion") or ""
    resource, number = ask.kind.resource, split_api_version(version)[1]

    def refused(why: str) -> ApiError:
        if patched is not None:
            return patched.refusal(why)
        said = f'{kind} in version "{number}" cannot be handled as a {resource.kind}'
        return BadRequest(f"{said}: {why}")

    unknown: list[str] = []
    try:
        document = ask.kind.schema.with_metadata(document, unknown)
    except Misfit as error:
        raise refused(str(error)) from None
    group = split_api_version(version)[0]
    ours = (group, kind) == (resource.group, resource.kind)
    if ours and version not in ask.kind.schema.tracker.versions:
        unknown.extend(sorted(document.keys() - {"apiVersion", "kind", "metadata"}))
    checks.report(ask, unknown, refused)
    return {**document, "metadata": document.get("metadata") or {}}


def check_type(ask: Ask, document: Document) -> None:
    """Check that a custom object has the kind and version of the request path. Raises Invalid."""
    if not of_another_type(ask, document):
        return
    resource, kind, version = ask.kind.resource, document["kind"], document.get("apiVersion") or ""
    errors: list[FieldError] = []
    if kind != resource.kind:
        errors.append(invalid("kind", kind, f"must be {resource.kind}"))
    if version != resource.api_version:
        errors.append(invalid("apiVersion", version, f"must be {resource.api_version}"))
    name = document["metadata"].get("name", "")
    raise Invalid.of(kind, split_api_version(version)[0], name, errors)


def write_of(plane: Plane, ask: Ask) -> Write:
    """Return the description of this write that the managedFields tracker needs."""
    reset = None
    if ask.subresource == "status":
        reset = _BUT_STATUS
    elif ask.kind.strategy.status and not ask.subresource:
        reset = _STATUS
    return Write(
        ask.manager,
        ask.kind.resource.api_version,
        metadata.stamp(plane.clock()),
        ask.subresource,
        reset,
    )


def tracked(plane: Plane, ask: Ask, live: Document | None, new: Document) -> Document:
    """Return `new` with managedFields updated by the changes of this request."""
    return ask.kind.schema.tracker.track(live, new, write_of(plane, ask))


async def with_conversions(plane: Plane, ask: Ask, work: Callable[[], Document]) -> Document:
    """Run `work`, and run it again with the webhook conversions that it turns out to need."""
    try:
        return await ask.compute(work) if ask.large else work()
    except Unforeseen:
        return await foreseen(partial(ask.compute, work), partial(_converted, plane, ask))


async def _converted(plane: Plane, ask: Ask, document: Document, version: str) -> Document:
    """Convert an object of the request's kind to another apiVersion."""
    resource = ask.kind.resource
    source, target = (
        replace(resource, version=split_api_version(one)[1])
        for one in (document["apiVersion"], version)
    )
    (found,) = await plane.converted((document,), source, target)
    return found


async def admitted(
    plane: Plane,
    ask: Ask,
    operation: Operation,
    new: Document,
    old: Document | None,
    *,
    dry_run: bool,
    name: str = "",
) -> Document:
    """Return the object after mutating admission. name: see `review`."""
    for plugin in plane.plugins(ask.kind, ask.subresource):
        new = await plugin.default(review(ask, operation, new, old, dry_run=dry_run, name=name))
    return new


async def judged(plane: Plane, ask: Ask, document: Document, *, dry_run: bool) -> Document:
    """Run mutating and validating admission for an object that is not stored (a review, an
    eviction, a token request) and return it.
    """
    document = await admitted(plane, ask, "CREATE", document, None, dry_run=dry_run)
    asked = review(ask, "CREATE", document, None, dry_run=dry_run)
    for plugin in plane.plugins(ask.kind, ask.subresource):
        ask.warnings.extend(await plugin.validate(asked))
    return document


async def validated(
    plane: Plane,
    ask: Ask,
    operation: Operation,
    new: Document,
    old: Document | None,
    *,
    dry_run: bool,
    name: str = "",
) -> None:
    """Validate metadata, schema and rules, then run validating admission.

    name: see `review`. Raises Invalid, Forbidden …
    """
    if ask.guard is not None:
        ask.guard(review(ask, operation, new, old, dry_run=dry_run, name=name))
    if ask.large:
        await ask.compute(partial(_check_object, ask, new, old))
    else:
        _check_object(ask, new, old)
    for plugin in plane.plugins(ask.kind, ask.subresource):
        asked = review(ask, operation, new, old, dry_run=dry_run, name=name)
        ask.warnings.extend(await plugin.validate(asked))


def _check_object(ask: Ask, new: Document, old: Document | None) -> None:
    """Validate the object without admission. Raises Invalid."""
    check_type(ask, new)
    try:
        errors = _errors(ask, new, old)
    except EnoughErrors as enough:
        errors = enough.errors
    if errors:
        raise invalid_object(ask.kind, new["metadata"].get("name", ""), errors)
    ask.warnings.extend(ask.kind.strategy.warnings(new, old))


def _errors(ask: Ask, new: Document, old: Document | None) -> list[FieldError]:
    kind = ask.kind
    if old is None:
        errors = metadata.errors(new, kind)
    else:
        errors = metadata.update_errors(new, old, kind, subresource=bool(ask.subresource))
    found = kind.schema.errors(new, old, ask.warnings, errors)
    if found and kind.custom and ask.subresource == "status":
        found = [_of_status(one) for one in found]
    others = found + kind.strategy.validate(new, old)
    return others if others and old is None and kind.strategy.metadata_last else errors + others


def _of_status(error: FieldError) -> FieldError:
    """Rewrite an error of a custom object's status so that its path is relative to `status`."""
    if error.detail.startswith(f"{error.field} in body "):
        below = error.detail.removeprefix("status").removeprefix(".")
        return replace(error, detail=below)
    before, format_, path = error.detail.partition(" in status.")
    if error.field == "<nil>" and format_:
        return replace(error, field="status", detail=f"{before} in {path}")
    return error


def review(
    ask: Ask,
    operation: Operation,
    new: Document | None,
    old: Document | None,
    *,
    dry_run: bool,
    options: Callable[[], Document] | None = None,
    name: str = "",
) -> Review:
    """Return the admission review of this write.

    options: builds the options if they are not in the query. name: the name in the request, if the
    object may have been renamed since.
    """
    name = name or ask.name or ((new or {}).get("metadata") or {}).get("name", "")
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
        options=options or partial(options_of, ask, operation, dry_run=dry_run),
        compute=ask.compute,
        warnings=ask.warnings,
        large=ask.large,
    )
