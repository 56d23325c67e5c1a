"""Templates that stay as they are, but for the topology controller's dry run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Final

from kapy.api.names import Annotation
from kapy.kube import Document
from kapy.kube.errors import ApiError
from kapy.kube.names import Resource
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import NAME, Scene

_MANAGER: Final = "capi-topology"
_DRY: Final = {Annotation.TOPOLOGY_DRY_RUN: ""}


async def ssa_dry_run(scene: Scene) -> AsyncIterator[Finding]:
    """A dry run of the topology controller may change what nobody may."""
    resource, changed = await _changed(scene)
    why = await _refused(scene, resource, changed | _annotated(changed), dry_run=True)
    if why is not None:
        yield scene.fault(
            "spec",
            f"a dry run of server-side apply with {Annotation.TOPOLOGY_DRY_RUN} is refused: {why}",
            "let changes through where the request is a dry run and the annotation is there",
            kind=resource.kind,
        )


async def immutable(scene: Scene) -> AsyncIterator[Finding]:
    """Neither the annotation alone nor a dry run alone opens the way."""
    resource, changed = await _changed(scene)
    if await _refused(scene, resource, changed) is None:
        raise NotApplicable("its templates can be changed")
    for document, dry_run, how in (
        (changed | _annotated(changed), False, f"sets {Annotation.TOPOLOGY_DRY_RUN}"),
        (changed, True, "asks for a dry run"),
    ):
        if await _refused(scene, resource, document, dry_run=dry_run) is None:
            yield scene.fault(
                "spec",
                f"it is immutable, and whoever {how} may change it",
                "make the exception only for dry runs that have the annotation",
                kind=resource.kind,
            )


async def _changed(scene: Scene) -> tuple[Resource, Document]:
    """A template that was created, as it would be with another spec that is as good."""
    resource, example = scene.kind.template, scene.kind.example
    if resource is None:
        raise NotApplicable("there is no template kind")
    if scene.world.subject.unreached and scene.ground.embedded:
        raise CannotRun("the provider's webhooks are called only where it runs in a cluster")
    spec = example.get("spec") or {}
    document: Document = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": NAME, "namespace": scene.namespace},
        "spec": {"template": {"spec": spec}},
    }
    await scene.client.apply(resource, document, field_manager=_MANAGER)
    stored = await scene.read(NAME, resource)
    for one in _others(spec):
        other = {**document, "spec": {"template": one}}
        made = await _made(scene, resource, other)
        if made is not None and made["spec"] != (stored or {}).get("spec"):
            return resource, other
    raise CannotRun("nothing was found in its example that could be changed")


def _others(spec: Document) -> Iterator[Document]:
    """The template with something changed."""
    yield {"metadata": {"labels": {"conformance": "changed"}}, "spec": spec}
    for changed in _variants(spec):
        yield {"spec": changed}


def _variants(value: Any) -> Iterator[Any]:
    """A value with one leaf changed, or one left out."""
    if isinstance(value, dict):
        for name, one in value.items():
            for other in _variants(one):
                yield {**value, name: other}
            yield {key: two for key, two in value.items() if key != name}
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        yield f"{value}0"


async def _made(scene: Scene, resource: Resource, document: Document) -> Document | None:
    """What would be created of a document; None where it is no good."""
    named = {**document, "metadata": {**document["metadata"], "name": f"{NAME}-other"}}
    try:
        return await scene.client.create(resource, named, dry_run=True)
    except ApiError:
        return None


async def _refused(
    scene: Scene, resource: Resource, document: Document, *, dry_run: bool = False
) -> str | None:
    """Why it cannot be applied; None where it can."""
    try:
        await scene.client.apply(resource, document, field_manager=_MANAGER, dry_run=dry_run)
    except ApiError as error:
        return str(error)
    return None


def _annotated(document: Document) -> Document:
    return {"metadata": {**document["metadata"], "annotations": _DRY}}
