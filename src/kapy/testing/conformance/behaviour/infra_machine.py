"""Checks that only infrastructure machines have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Final

from kapy.contract.errors import ContractError
from kapy.contract.infra_cluster import InfraCluster
from kapy.testing.conformance.behaviour import deletion, every_part, setup
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import NAME, Fixture, quote_writes

TYPES: Final = ("Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS")
SECOND: Final = "worker-1"
DOMAIN: Final = "conformance-domain"


async def infrastructure_wait(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that no machine is created before the Cluster's infrastructure is provisioned."""
    await setup.create_cluster(fixture, ready=False)
    await setup.create_owned(fixture)
    await fixture.settle()
    if wrong := setup.evidence_of_work(fixture, fixture.writes()):
        yield fixture.finding(
            "",
            f"the Cluster's infrastructure is not provisioned, and yet: {quote_writes(wrong)}",
            "exit until status.initialization.infrastructureProvisioned of the Cluster is true",
        )


async def bootstrap_wait(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that no machine is created before its Machine has bootstrap data."""
    await setup.create_cluster(fixture)
    await setup.create_owned(fixture, data=False)
    await fixture.settle()
    if wrong := setup.evidence_of_work(fixture, fixture.writes()):
        yield fixture.finding(
            "",
            f"the Machine has no spec.bootstrap.dataSecretName, and yet: {quote_writes(wrong)}",
            "exit until it has",
        )


async def provider_id_value(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that two machines have different provider IDs, which do not change."""
    await setup.create_cluster(fixture)
    for name in (NAME, SECOND):
        await setup.create_owned(fixture, name)
    for name in (NAME, SECOND):
        await setup.wait_until_done(fixture, name)
    await fixture.patch({"metadata": {"labels": {"conformance": "touched"}}})
    await fixture.settle()
    value, other = (_ids(fixture, name) for name in (NAME, SECOND))
    for name, ids in ((NAME, value), (SECOND, other)):
        if len(ids) > 1:
            evidence = f"it was {ids[0]}, and became {ids[1]}"
            remedy = "name the instance once and for all"
            yield fixture.finding("spec.providerID", evidence, remedy, name)
    if set(value) & set(other):
        evidence = f"{value[0]} is that of {SECOND}, too"
        yield fixture.finding("spec.providerID", evidence, "name each instance by an ID of its own")


def _ids(fixture: Fixture, name: str) -> list[str]:
    """Return all provider IDs that a machine ever had, in order."""
    result = (setup.value(fixture, state, "provider_id") for state in fixture.states(name))
    return list(dict.fromkeys(filter(None, result)))


async def failure_domain(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that a machine is created in the failure domain that its Machine requests."""
    await setup.create_cluster(fixture)
    domain = await _last_domain(fixture)
    example = fixture.example()
    await fixture.core.machine(
        fixture.cluster, NAME, example, bootstrap_data=setup.DATA, failureDomain=domain
    )
    wait = await fixture.wait_for(lambda value: setup.is_done(fixture, value))
    text = None if wait is None else setup.value(fixture, wait, "failure_domain")
    if not text:
        raise NotApplicable("status.failureDomain tells none")
    if text != domain:
        evidence = f"it is {text}; the Machine's spec.failureDomain is {domain}"
        remedy = "put the machine where spec.failureDomain of its Machine says"
        yield fixture.finding("status.failureDomain", evidence, remedy)


async def _last_domain(fixture: Fixture) -> str:
    """Return the last failure domain that the Cluster's infrastructure reports: the first one may
    be the provider's default. A provider that reports none gets a name of ours.
    """
    for kind in fixture.session.provider.kinds_of_role("infra-cluster")[:1]:
        infra = await fixture.read(fixture.cluster, kind.resource)
        try:
            domains = InfraCluster(infra or {}, kind.contract).failure_domains
        except ContractError as error:
            raise CannotRun(f"{kind.resource.kind} {fixture.cluster}: {error}") from None
        if domains:
            return domains[-1].name
    return DOMAIN


async def address_types(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that all addresses have a type that the contract defines."""
    await setup.create_complete(fixture)
    wait = await setup.wait_until_done(fixture)
    await fixture.settle()
    wait = await fixture.read() or wait
    addresses = (wait.get("status") or {}).get("addresses")
    if not addresses:
        raise NotApplicable("status.addresses tells none")
    if wrong := sorted(_unknown(addresses)):
        evidence = f"there are addresses of type {', '.join(wrong)}"
        yield fixture.finding("status.addresses", evidence, f"use one of {', '.join(TYPES)}")


def _unknown(addresses: Iterable[dict[str, str]]) -> set[str]:
    return {str(address.get("type")) for address in addresses} - set(TYPES)


CHECKS: Final = (
    *every_part.checks("infra-machine"),
    Check("infra-machine/deletion", deletion.early_deletion, objects_created=3),
    Check("infra-machine/infrastructure-wait", infrastructure_wait),
    Check("infra-machine/bootstrap-wait", bootstrap_wait),
    Check("infra-machine/provider-id-value", provider_id_value, objects_created=2),
    Check("infra-machine/failure-domain", failure_domain),
    Check("infra-machine/address-types", address_types),
)
