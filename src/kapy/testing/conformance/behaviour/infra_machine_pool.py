"""Checks that only infrastructure machine pools have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Final

from kapy.api.machine_pool import MachinePool
from kapy.kube import Document
from kapy.testing.conformance.behaviour import every_part, setup
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import NAME, Fixture
from kapy.testing.conformance.provider_under_test import Kind

WANTED: Final = (2, 3, 1)
"""How many machines are wanted, one after the other."""


async def provider_ids(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the list has one provider ID per machine while the pool is scaled."""
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    for wanted in WANTED:
        await _scale(fixture, wanted)
        wait = await fixture.wait_for(_has(fixture, wanted))
        if wait is None:
            count = _count(fixture, await fixture.read() or {})
            evidence = f"{wanted} replicas are wanted, and it has {count} provider IDs"
            remedy = "keep one provider ID for each machine that is there"
            yield fixture.finding("spec.providerIDList", evidence, remedy)
            return
        ids = setup.value(fixture, wait, "provider_id_list")
        if len(set(ids)) < wanted:
            evidence, remedy = f"the IDs are {', '.join(ids)}", "give each machine an ID of its own"
            yield fixture.finding("spec.providerIDList", evidence, remedy)
            return


async def machines(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that there is one object per machine, which is created and deleted with it."""
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    kind = await _kind_of_machines(fixture)
    for wanted in WANTED:
        await _scale(fixture, wanted)
        await fixture.wait_for(_has(fixture, wanted))
        await fixture.settle()
        result = await _objects(fixture, kind)
        if len(result) != wanted:
            yield fixture.finding(
                "status.infrastructureMachineKind",
                f"{wanted} machines are wanted, and there are {len(result)} objects of the kind "
                f"{kind.resource.kind}",
                "make an object for each machine, and delete it with the machine",
            )
            return


async def _kind_of_machines(fixture: Fixture) -> Kind:
    text = setup.value(fixture, await fixture.read() or {}, "infrastructure_machine_kind")
    if not text:
        raise NotApplicable("status.infrastructureMachineKind names none")
    kinds = fixture.session.provider.kinds_of_role("infra-machine")
    kind = next((item for item in kinds if item.resource.kind == text), None)
    if kind is None:
        raise CannotRun(f"{text}, of which the pool's machines are, is not among the kinds checked")
    return kind


async def _scale(fixture: Fixture, wanted: int) -> None:
    await fixture.patch({"spec": {"replicas": wanted}}, NAME, MachinePool.RESOURCE)


def _has(fixture: Fixture, wanted: int) -> Callable[[Document], bool]:
    return lambda value: _count(fixture, value) == wanted


def _count(fixture: Fixture, document: Document) -> int:
    return len(setup.value(fixture, document, "provider_id_list") or ())


async def _objects(fixture: Fixture, kind: Kind) -> list[Document]:
    resource = await fixture.client.list(kind.resource, fixture.namespace)
    return [item for item in resource.items if not item["metadata"].get("deletionTimestamp")]


CHECKS: Final = (
    *every_part.checks("infra-machinepool"),
    Check("infra-machinepool/provider-ids", provider_ids),
    Check("infra-machinepool/machines", machines),
)
