"""Checks of the flag that reports that an object is provisioned or initialized."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import dropwhile
from typing import Final

from kapy.kube import Document
from kapy.testing.conformance.behaviour import setup
from kapy.testing.conformance.errors import CannotRun
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import NAME, Fixture

_TOUCH: Final[Document] = {"metadata": {"labels": {"conformance": "touched"}}}


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
