"""Checks of a provider that was started with --namespace and --watch-filter (stage 1)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.names import Label
from kapy.testing.conformance.behaviour import ipam, setup
from kapy.testing.conformance.errors import CannotRun
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import ONLY, Fixture, quote_writes

_LABELS: Final = {Label.WATCH_FILTER: ONLY}


async def instances(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that only objects which both flags select are reconciled."""
    chosen = await fixture.session.fixture(fixture.kind, ONLY, fixture.namespace)
    name, other = f"{fixture.namespace}-chosen", f"{fixture.namespace}-other"
    if not await _is_served(chosen, name):
        if fixture.kind.resource not in fixture.session.handled_kinds:
            raise CannotRun("the provider answers no object of the kind, limited or not")
        yield fixture.finding("", "what the flags choose is not served", _MEND, name)
        return
    for finding in await _elsewhere(fixture):
        yield finding
    await setup.create_owned(chosen, other)
    await fixture.settle()
    if wrong := setup.writes_to_object(chosen.writes(), chosen, other):
        evidence = (
            f"--watch-filter {ONLY} is set, it has no such label, and yet: {quote_writes(wrong)}"
        )
        yield fixture.finding(f"metadata.labels[{Label.WATCH_FILTER}]", evidence, _MEND, other)


async def namespace_flag(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that only objects in the namespace of --namespace are reconciled."""
    for finding in await _elsewhere(fixture):
        yield finding


_MEND: Final = "serve what --namespace and --watch-filter choose, and nothing else"


async def _is_served(fixture: Fixture, name: str) -> bool:
    fixture.core.labels = _LABELS
    await setup.create_surrounding_cluster(fixture)
    await setup.create_owned(fixture, name, labels=_LABELS)
    wait = await fixture.wait_for(
        lambda _: bool(setup.writes_to_object(fixture.writes(), fixture, name)), name
    )
    fixture.core.labels = {}
    return wait is not None


async def _elsewhere(fixture: Fixture) -> list[Finding]:
    """Return findings if an object in another namespace is reconciled."""
    fixture.core.labels = _LABELS
    if fixture.kind.role == ipam.PART:
        await ipam.create_claim(fixture)
    else:
        await setup.create_surrounding_cluster(fixture, ready=False)
        await setup.create_owned(fixture, labels=_LABELS)
        await fixture.core.cluster_provisioned(setup.cluster_name(fixture))
    fixture.core.labels = {}
    await fixture.settle()
    wrong = fixture.writes()
    evidence = (
        f"--namespace {ONLY} is set, it is in {fixture.namespace}, and yet: {quote_writes(wrong)}"
    )
    return [fixture.finding("metadata.namespace", evidence, _MEND)] if wrong else []
