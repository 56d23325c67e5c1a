"""The flag that says that everything is there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import dropwhile
from typing import Final

from kapy.kube import Document
from kapy.testing.conformance.behaviour import stage
from kapy.testing.conformance.errors import CannotRun
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import NAME, Scene

_TOUCH: Final[Document] = {"metadata": {"labels": {"conformance": "touched"}}}


async def initialized(scene: Scene) -> AsyncIterator[Finding]:
    """The flag is set, and never taken back."""
    await stage.whole(scene)
    flag = stage.flag(scene)
    found = await scene.reached(lambda one: stage.is_done(scene, one))
    if found is None:
        if not scene.writes():
            raise CannotRun(f"{scene.kind.resource.kind} {NAME} is not answered at all")
        yield scene.fault(
            flag,
            f"it was not set in {scene.patience.within:g} seconds"
            f"{scene.crowd(scene.kind.resource)}",
            "set it when everything is there that the owner waits for",
        )
        return
    if scene.kind.role == "infra-machine" and not stage.value(scene, _first(scene), "provider_id"):
        evidence = f"{flag} is set and this is not"
        yield scene.fault("spec.providerID", evidence, "store the provider ID before the flag")
    await _disturb(scene)
    for finding in taken_back(scene, flag):
        yield finding


async def _disturb(scene: Scene) -> None:
    """Give the provider reasons to look again."""
    await scene.patch(_TOUCH)
    await scene.quiet()
    for paused in (True, False):
        await stage.pause(scene, paused=paused)
        await scene.quiet()


def _first(scene: Scene) -> Document:
    """The first state in which the flag is set."""
    return next(one for one in scene.states() if stage.is_done(scene, one))


def taken_back(scene: Scene, flag: str) -> list[Finding]:
    """Whether an object was ever seen without the flag after it had been set."""
    since = dropwhile(lambda one: not stage.is_done(scene, one), scene.states())
    back = [one for one in since if not stage.is_done(scene, one)]
    if not back:
        return []
    version = back[0]["metadata"].get("resourceVersion")
    evidence = f"it was set and taken back, in resourceVersion {version}"
    mend = "leave it set, whatever becomes of the infrastructure: conditions tell that"
    return [scene.fault(flag, evidence, mend)]
