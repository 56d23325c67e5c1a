"""Checks of the life of an object: first reaction, order of writes, the flag of completion, and no
writes at rest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import dropwhile
from typing import Final

from kapy.kube import Document
from kapy.testing.conformance.behaviour import setup
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import NAME, Fixture, quote_writes

EVENTS: Final = 20
"""Events that a provider may write about nothing new, in a quiet time."""

_TOUCH: Final[Document] = {"metadata": {"labels": {"conformance": "touched"}}}


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


async def initialized(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the flag is set, and never unset."""
    await setup.create_complete(fixture)
    flag = setup.flag(fixture)
    wait = await fixture.wait_for(lambda value: setup.is_done(fixture, value))
    if wait is None:
        if not fixture.writes():
            raise CannotRun(f"{fixture.kind.resource.kind} {NAME} is not answered at all")
        yield fixture.finding(
            flag,
            f"it was not set in {fixture.timeouts.within:g} seconds"
            f"{fixture.capacity_hint(fixture.kind.resource)}",
            "set it when everything is there that the owner waits for",
        )
        return
    if fixture.kind.role == "infra-machine" and not setup.value(
        fixture, _first(fixture), "provider_id"
    ):
        evidence = f"{flag} is set and this is not"
        yield fixture.finding("spec.providerID", evidence, "store the provider ID before the flag")
    await _trigger_reconcile(fixture)
    for finding in flag_was_unset(fixture, flag):
        yield finding


async def _trigger_reconcile(fixture: Fixture) -> None:
    """Make changes that cause the provider to reconcile again."""
    await fixture.patch(_TOUCH)
    await fixture.settle()
    for paused in (True, False):
        await setup.pause(fixture, paused=paused)
        await fixture.settle()


def _first(fixture: Fixture) -> Document:
    """Return the first state in which the flag is set."""
    return next(state for state in fixture.states() if setup.is_done(fixture, state))


def flag_was_unset(fixture: Fixture, flag: str) -> list[Finding]:
    """Return a finding if an object was observed without the flag after the flag had been set."""
    since = dropwhile(lambda state: not setup.is_done(fixture, state), fixture.states())
    back = [item for item in since if not setup.is_done(fixture, item)]
    if not back:
        return []
    version = back[0]["metadata"].get("resourceVersion")
    evidence = f"it was set and taken back, in resourceVersion {version}"
    remedy = "leave it set, whatever becomes of the infrastructure: conditions tell that"
    return [fixture.finding(flag, evidence, remedy)]
