"""What every write passes: typing, ownership of fields, admission, validation."""

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
from kapy.apiserver.resources.structs import Misfit
from kapy.apiserver.verbs.options import Validation, options_of
from kapy.apiserver.verbs.patch_results import Patched
from kapy.apiserver.webhooks.foreseen import Unforeseen, foreseen
from kapy.kube import Document
from kapy.kube.apply import Write
from kapy.kube.errors import BadRequest
from kapy.kube.field_errors import EnoughErrors, FieldError
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
    applied: bool = False,
) -> Document:
    """The object pruned and with defaults; unknown fields are warned about, or refused.

    patched: the result of a patch that the object is; what it shares with the object before needs
    no second look. applied: it comes from server-side apply, which keeps nulls for validation to
    refuse.
    """
    unknown: list[str] = []
    live = None if patched is None else patched.live
    try:
        document = ask.kind.schema.decoded(document, unknown, live=live, keep_nulls=applied)
    except Misfit as error:
        if patched is None:
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
    changed = patched is not None or applied
    ask.warnings.extend(without_repeated_owners(document, patched=changed))
    ask.kind.strategy.default(document)
    return document


def read_typed(ask: Ask, checks: Validation) -> Document:
    """The object of the body, pruned and with defaults. Raises BadRequest, Invalid."""
    return typed(ask, body.read_object(ask, checks.duplicates), checks)


def write_of(plane: Plane, ask: Ask) -> Write:
    """The write as ownership of fields sees it."""
    reset = None
    if ask.subresource == "status":
        reset = _BUT_STATUS
    elif ask.kind.strategy.status and not ask.subresource:
        reset = _STATUS
    return Write(
        ask.manager,
        ask.kind.resource.api_version,
        "" if ask.subresource == "scale" else metadata.stamp(plane.clock()),
        ask.subresource,
        reset,
    )


def tracked(plane: Plane, ask: Ask, live: Document | None, new: Document) -> Document:
    """`new` with managedFields that say what this request changed."""
    document = ask.kind.schema.tracker.track(live, new, write_of(plane, ask))
    return document if ask.subresource != "scale" else _timeless(document)


async def with_conversions(plane: Plane, ask: Ask, work: Callable[[], Document]) -> Document:
    """What `work` gives, which may need objects in other versions that a webhook converts to."""
    try:
        return await ask.compute(work) if ask.large else work()
    except Unforeseen:
        return await foreseen(partial(ask.compute, work), partial(_converted, plane, ask))


async def _converted(plane: Plane, ask: Ask, document: Document, version: str) -> Document:
    """An object of the request's kind in another apiVersion."""
    resource = ask.kind.resource
    source, target = (
        replace(resource, version=split_api_version(one)[1])
        for one in (document["apiVersion"], version)
    )
    (found,) = await plane.converted((document,), source, target)
    return found


def _timeless(document: Document) -> Document:
    """Without the times of scale's entries in managedFields: there kube-apiserver has none."""
    entries = [
        {key: value for key, value in entry.items() if key != "time"}
        if entry.get("subresource") == "scale"
        else entry
        for entry in document["metadata"].get("managedFields") or ()
    ]
    return {**document, "metadata": {**document["metadata"], "managedFields": entries}}


async def admitted(
    plane: Plane,
    ask: Ask,
    operation: Operation,
    new: Document,
    old: Document | None,
    *,
    dry_run: bool,
) -> Document:
    """The object after admission filled in its defaults."""
    for plugin in plane.plugins(ask.kind, ask.subresource):
        new = await plugin.default(review(ask, operation, new, old, dry_run=dry_run))
    return new


async def judged(plane: Plane, ask: Ask, document: Document, *, dry_run: bool) -> Document:
    """What is created but not stored (a review, an eviction, a token), after admission."""
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
) -> None:
    """Check metadata, schema and rules, then ask admission. Raises Invalid, Forbidden …"""
    if ask.guard is not None:
        ask.guard(review(ask, operation, new, old, dry_run=dry_run))
    await ask.compute(partial(_check_object, ask, new, old))
    for plugin in plane.plugins(ask.kind, ask.subresource):
        ask.warnings.extend(
            await plugin.validate(review(ask, operation, new, old, dry_run=dry_run))
        )


def _check_object(ask: Ask, new: Document, old: Document | None) -> None:
    """Check what the object says by itself. Raises Invalid."""
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
    others = kind.schema.errors(new, old, ask.warnings) + kind.strategy.validate(new, old)
    return others if others and old is None and kind.strategy.metadata_last else errors + others


def review(
    ask: Ask,
    operation: Operation,
    new: Document | None,
    old: Document | None,
    *,
    dry_run: bool,
    options: Callable[[], Document] | None = None,
) -> Review:
    """The write as admission sees it. options: when they are not those of the query."""
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
        options=options or partial(options_of, ask, operation, dry_run=dry_run),
        compute=ask.compute,
        warnings=ask.warnings,
    )
