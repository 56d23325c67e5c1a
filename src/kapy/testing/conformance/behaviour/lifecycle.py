"""New objects: when they are answered, what is stored first, what is written when all is done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.testing.conformance.behaviour import stage
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import Scene, quoted

EVENTS: Final = 20
"""Events that a provider may write about nothing new, in a quiet time."""


async def watch(scene: Scene) -> AsyncIterator[Finding]:
    """A new object gets something of the provider."""
    await stage.whole(scene)
    answered = await scene.reached(
        lambda one: bool(stage.to_object(scene.writes(), scene)) or stage.made(scene, one)
    )
    if answered is not None:
        scene.world.answered.add(scene.kind.resource)
    else:
        yield scene.fault(
            "",
            f"in {scene.patience.within:g} seconds nothing was written to it",
            "watch this kind, in all namespaces unless --namespace says otherwise",
        )


async def owner(scene: Scene) -> AsyncIterator[Finding]:
    """An object without an owner is left alone."""
    await stage.around(scene)
    since = scene.mark()
    example = scene.example()
    await scene.create(
        {**example, "metadata": {**example["metadata"], "namespace": scene.namespace}}
    )
    await scene.quiet()
    wrong = [
        one
        for one in stage.to_object(scene.writes(since), scene)
        if stage.finalizers(one.after) or stage.made(scene, one.after or {})
    ]
    if wrong:
        yield scene.fault(
            "metadata.ownerReferences",
            f"it has none, and yet: {quoted(wrong)}",
            "exit until core has set the owner reference",
        )


async def finalizer(scene: Scene) -> AsyncIterator[Finding]:
    """The finalizer is stored before anything tells that something was made."""
    await stage.whole(scene)
    await stage.done(scene)
    held = False
    for write in scene.writes():
        if stage.begun(scene, [write]) and not held:
            yield scene.fault(
                "metadata.finalizers",
                f"there was none yet when something was made: {write}",
                "store the finalizer by a write of its own, before anything is made",
            )
            return
        if stage.to_object([write], scene):
            held = bool(stage.finalizers(write.after))


async def restored(scene: Scene) -> AsyncIterator[Finding]:
    """A finalizer that got lost is set again."""
    await stage.whole(scene)
    found = await stage.done(scene)
    was = stage.finalizers(found)
    if not was:
        raise NotApplicable("the provider sets no finalizer")
    again = None
    try:
        await scene.patch({"metadata": {"finalizers": None}})
        again = await scene.reached(lambda one: set(was) <= set(stage.finalizers(one)))
    finally:  # else nobody would free what was made for it
        if again is None:
            await scene.client.patch(
                scene.kind.resource, scene.key(), {"metadata": {"finalizers": was}}
            )
    if again is None:
        yield scene.fault(
            "metadata.finalizers",
            f"{', '.join(was)} was taken away and did not come back in "
            f"{scene.patience.within:g} seconds",
            "see to the finalizer each time that the object is looked at",
        )


async def idle(scene: Scene) -> AsyncIterator[Finding]:
    """Nothing is written while nothing happens."""
    await stage.whole(scene)
    await stage.done(scene)
    await scene.quiet()
    for times in (1, 2):  # the first time a busy machine may still be at what there was to do
        await scene.quiet()
        since, events = scene.mark(), scene.events()
        await scene.quiet(times)
        writes, more = scene.writes(since), scene.events() - events
        if not writes and more <= EVENTS:
            return
    seconds = f"{scene.patience.quiet * times:g} seconds"
    if writes:
        yield scene.fault(
            "metadata.resourceVersion",
            f"nothing happened for {seconds}, but {quoted(writes)}",
            "write only what differs from what is there",
        )
    if more > EVENTS:
        yield scene.fault(
            "",
            f"{more} Events were written in {seconds} without any news",
            "record an Event when something happens, not each time that the object is looked at",
        )
