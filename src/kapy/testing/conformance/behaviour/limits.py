"""A provider that is told --namespace and --watch-filter. It runs so in stage 1."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.names import Label
from kapy.testing.conformance.behaviour import ipam, stage
from kapy.testing.conformance.errors import CannotRun
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import ONLY, Scene, quoted

_LABELS: Final = {Label.WATCH_FILTER: ONLY}


async def instances(scene: Scene) -> AsyncIterator[Finding]:
    """Only what both flags choose is served."""
    chosen = await scene.world.scene(scene.kind, ONLY, scene.namespace)
    name, other = f"{scene.namespace}-chosen", f"{scene.namespace}-other"
    if not await _is_served(chosen, name):
        if scene.kind.resource not in scene.world.answered:
            raise CannotRun("the provider answers no object of the kind, limited or not")
        yield scene.fault("", "what the flags choose is not served", _MEND, name)
        return
    for finding in await _elsewhere(scene):
        yield finding
    await stage.owned(chosen, other)
    await scene.quiet()
    if wrong := stage.to_object(chosen.writes(), chosen, other):
        evidence = f"--watch-filter {ONLY} is set, it has no such label, and yet: {quoted(wrong)}"
        yield scene.fault(f"metadata.labels[{Label.WATCH_FILTER}]", evidence, _MEND, other)


async def namespace_flag(scene: Scene) -> AsyncIterator[Finding]:
    """Only what is in the namespace of --namespace is served."""
    for finding in await _elsewhere(scene):
        yield finding


_MEND: Final = "serve what --namespace and --watch-filter choose, and nothing else"


async def _is_served(scene: Scene, name: str) -> bool:
    scene.core.labels = _LABELS
    await stage.around(scene)
    await stage.owned(scene, name, labels=_LABELS)
    found = await scene.reached(lambda _: bool(stage.to_object(scene.writes(), scene, name)), name)
    scene.core.labels = {}
    return found is not None


async def _elsewhere(scene: Scene) -> list[Finding]:
    """What becomes of an object in another namespace."""
    scene.core.labels = _LABELS
    if scene.kind.role == ipam.PART:
        await ipam.claimed(scene)
    else:
        await stage.around(scene, ready=False)
        await stage.owned(scene, labels=_LABELS)
        await scene.core.cluster_provisioned(stage.cluster_name(scene))
    scene.core.labels = {}
    await scene.quiet()
    wrong = scene.writes()
    evidence = f"--namespace {ONLY} is set, it is in {scene.namespace}, and yet: {quoted(wrong)}"
    return [scene.fault("metadata.namespace", evidence, _MEND)] if wrong else []
