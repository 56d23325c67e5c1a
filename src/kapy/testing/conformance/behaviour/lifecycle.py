"""Checks of new objects: reaction, order of writes, and no writes at rest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.testing.conformance.behaviour import setup
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import Fixture, quote_writes

EVENTS: Final = 20
"""Events that a provider may write about nothing new, in a quiet time."""


async def watch(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the provider reacts to a new object."""
    await setup.create_complete(fixture)
    answered = await fixture.wait_for(
        lambda value: (
            bool(setup.writes_to_object(fixture.writes(), fixture))
            or setup.reported_fields(fixture, value)
        )
    )
    if answered is not None:
        fixture.session.handled_kinds.add(fixture.kind.resource)
    else:
        yield fixture.finding(
            "",
            f"in {fixture.timeouts.within:g} seconds nothing was written to it",
            "watch this kind, in all namespaces unless --namespace says otherwise",
        )


async def owner(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that an object without an owner is left unchanged."""
    await setup.create_surrounding_cluster(fixture)
    since = fixture.write_position()
    example = fixture.example()
    await fixture.create(
        {**example, "metadata": {**example["metadata"], "namespace": fixture.namespace}}
    )
    await fixture.settle()
    wrong = [
        write
        for write in setup.writes_to_object(fixture.writes(since), fixture)
        if setup.finalizers(write.after) or setup.reported_fields(fixture, write.after or {})
    ]
    if wrong:
        yield fixture.finding(
            "metadata.ownerReferences",
            f"it has none, and yet: {quote_writes(wrong)}",
            "exit until core has set the owner reference",
        )


async def finalizer(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the finalizer is stored before the provider makes or reports anything."""
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    held = False
    for write in fixture.writes():
        if setup.evidence_of_work(fixture, [write]) and not held:
            yield fixture.finding(
                "metadata.finalizers",
                f"there was none yet when something was made: {write}",
                "store the finalizer by a write of its own, before anything is made",
            )
            return
        if setup.writes_to_object([write], fixture):
            held = bool(setup.finalizers(write.after))


async def restored(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that a removed finalizer is added again."""
    await setup.create_complete(fixture)
    wait = await setup.wait_until_done(fixture)
    was = setup.finalizers(wait)
    if not was:
        raise NotApplicable("the provider sets no finalizer")
    again = None
    try:
        await fixture.patch({"metadata": {"finalizers": None}})
        again = await fixture.wait_for(lambda value: set(was) <= set(setup.finalizers(value)))
    finally:  # otherwise its infrastructure would remain
        if again is None:
            await fixture.client.patch(
                fixture.kind.resource, fixture.key(), {"metadata": {"finalizers": was}}
            )
    if again is None:
        yield fixture.finding(
            "metadata.finalizers",
            f"{', '.join(was)} was taken away and did not come back in "
            f"{fixture.timeouts.within:g} seconds",
            "see to the finalizer each time that the object is looked at",
        )


async def idle(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that nothing is written while nothing changes."""
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    await fixture.settle()
    for times in (1, 2):  # the first time, earlier work may still be in progress
        await fixture.settle()
        since, events = fixture.write_position(), fixture.events()
        await fixture.settle(times)
        writes, more = fixture.writes(since), fixture.events() - events
        if not writes and more <= EVENTS:
            return
    seconds = f"{fixture.timeouts.quiet * times:g} seconds"
    if writes:
        yield fixture.finding(
            "metadata.resourceVersion",
            f"nothing happened for {seconds}, but {quote_writes(writes)}",
            "write only what differs from what is there",
        )
    if more > EVENTS:
        yield fixture.finding(
            "",
            f"{more} Events were written in {seconds} without any news",
            "record an Event when something happens, not each time that the object is looked at",
        )
