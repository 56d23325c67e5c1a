"""What is paused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Final

from kapy.api.names import Annotation
from kapy.kube import Document
from kapy.testing.conformance.behaviour import stage
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import Scene, quoted

_PAUSED: Final = {Annotation.PAUSED: ""}


async def pausing(scene: Scene) -> AsyncIterator[Finding]:
    """Nothing is done for what is paused, by itself or with its Cluster."""
    await stage.whole(scene, annotations=_PAUSED)
    await scene.quiet()
    for finding in _did(scene, f"the annotation {Annotation.PAUSED} is set"):
        yield finding
    await scene.patch({"metadata": {"annotations": {Annotation.PAUSED: None}}})
    held = stage.finalizers(await stage.done(scene))
    await stage.pause(scene, paused=True)
    await scene.quiet()
    await scene.delete()
    await scene.quiet()
    if held and await scene.read() is None:
        yield scene.fault(
            "",
            "the Cluster's spec.paused is true; it was deleted, and is gone",
            "leave what is paused alone, also when it is to be deleted",
        )
    await stage.pause(scene, paused=False)


def _did(scene: Scene, how: str) -> list[Finding]:
    wrong = stage.begun(scene, scene.writes())
    if not wrong:
        return []
    mend = "look for the annotation and for spec.paused of the Cluster before anything is made"
    return [scene.fault("", f"{how}, and yet: {quoted(wrong)}", mend)]


async def paused_condition(scene: Scene) -> AsyncIterator[Finding]:
    """The condition Paused tells of it."""
    await stage.whole(scene)
    await stage.done(scene)
    for paused in (True, False):
        await stage.pause(scene, paused=paused)
        if await scene.reached(_says(str(paused))) is None:
            found = _paused((await scene.read()) or {}) or "not there"
            yield scene.fault(
                "status.conditions[Paused]",
                f"spec.paused of the Cluster is {str(paused).lower()}, the condition is {found}",
                "set the condition Paused each time that the object is looked at",
            )
            return


def _says(wanted: str) -> Callable[[Document], bool]:
    return lambda one: _paused(one) == wanted


def _paused(document: Document) -> str:
    found = (document.get("status") or {}).get("conditions") or ()
    return next((str(one.get("status")) for one in found if one.get("type") == "Paused"), "")
