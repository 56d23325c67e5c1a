"""Checks that templates are immutable except for the topology controller's dry run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from kapy.api.names import Annotation
from kapy.kube import Document
from kapy.kube.errors import ApiError
from kapy.kube.names import Resource
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import NAME, Fixture

_MANAGER: Final = "capi-topology"
_DRY: Final = {Annotation.TOPOLOGY_DRY_RUN: ""}


async def ssa_dry_run(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that a dry run of the topology controller may change an immutable template."""
    resource, changed = await _changed_template(fixture)
    why = await _refusal(
        fixture, resource, changed | _with_dry_run_annotation(changed), dry_run=True
    )
    if why is not None:
        yield fixture.finding(
            "spec",
            f"a dry run of server-side apply with {Annotation.TOPOLOGY_DRY_RUN} is refused: {why}",
            "let changes through where the request is a dry run and the annotation is there",
            kind=resource.kind,
        )


async def immutable(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that neither the annotation alone nor a dry run alone permits a change."""
    resource, changed = await _changed_template(fixture)
    if await _refusal(fixture, resource, changed) is None:
        raise NotApplicable("its templates can be changed")
    for document, dry_run, how in (
        (changed | _with_dry_run_annotation(changed), False, f"sets {Annotation.TOPOLOGY_DRY_RUN}"),
        (changed, True, "asks for a dry run"),
    ):
        if await _refusal(fixture, resource, document, dry_run=dry_run) is None:
            yield fixture.finding(
                "spec",
                f"it is immutable, and whoever {how} may change it",
                "make the exception only for dry runs that have the annotation",
                kind=resource.kind,
            )


async def _changed_template(fixture: Fixture) -> tuple[Resource, Document]:
    """Create a template; return it with a different and equally valid spec."""
    resource, example = fixture.kind.template, fixture.kind.example
    if resource is None:
        raise NotApplicable("there is no template kind")
    if fixture.session.provider.unreached and fixture.environment.embedded:
        raise CannotRun("the provider's webhooks are called only where it runs in a cluster")
    spec = example.get("spec") or {}
    document: Document = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": NAME, "namespace": fixture.namespace},
        "spec": {"template": {"spec": spec}},
    }
    await fixture.client.apply(resource, document, field_manager=_MANAGER)
    stored = await fixture.read(NAME, resource)
    for item in _others(spec):
        other = {**document, "spec": {"template": item}}
        create = await _dry_run_create(fixture, resource, other)
        if create is not None and create["spec"] != (stored or {}).get("spec"):
            return resource, other
    raise CannotRun("nothing was found in its example that could be changed")


def _others(spec: Document) -> Iterator[Document]:
    """Yield the template with one thing changed."""
    yield {"metadata": {"labels": {"conformance": "changed"}}, "spec": spec}
    for changed in _variants(spec):
        yield {"spec": changed}


def _variants(value: Any) -> Iterator[Any]:
    """Yield the value with one leaf changed, or with one member left out."""
    if isinstance(value, dict):
        for name, item in value.items():
            for other in _variants(item):
                yield {**value, name: other}
            yield {key: two for key, two in value.items() if key != name}
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        yield f"{value}0"


async def _dry_run_create(
    fixture: Fixture, resource: Resource, document: Document
) -> Document | None:
    """Return the result of a dry-run create; None if the document is invalid."""
    named = {**document, "metadata": {**document["metadata"], "name": f"{NAME}-other"}}
    try:
        return await fixture.client.create(resource, named, dry_run=True)
    except ApiError:
        return None


async def _refusal(
    fixture: Fixture, resource: Resource, document: Document, *, dry_run: bool = False
) -> str | None:
    """Return why the document cannot be applied; None if it can."""
    try:
        await fixture.client.apply(resource, document, field_manager=_MANAGER, dry_run=dry_run)
    except ApiError as error:
        return str(error)
    return None


def _with_dry_run_annotation(document: Document) -> Document:
    return {"metadata": {**document["metadata"], "annotations": _DRY}}
