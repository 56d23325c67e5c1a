"""Checks for infrastructure providers only: of clusters, machines and machine pools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Annotation
from kapy.contract.errors import ContractError
from kapy.contract.infra_cluster import InfraCluster
from kapy.kube import Document
from kapy.testing.conformance.behaviour import deletion, every_part, setup
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import NAME, Fixture, quote_writes
from kapy.testing.conformance.provider_under_test import Kind

_MANAGED: Final = {Annotation.MANAGED_BY: "somebody"}

TYPES: Final = ("Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS")
SECOND: Final = "worker-1"
DOMAIN: Final = "conformance-domain"
WANTED: Final = (2, 3, 1)
"""The desired numbers of machines, in the order in which a check sets them."""


async def endpoint_of_others(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that a provider without an endpoint of its own waits for the Cluster's endpoint."""
    await setup.create_owned(fixture, data=False)
    await fixture.settle()
    result = await fixture.read() or {}
    if setup.value(fixture, result, "control_plane_endpoint"):
        raise NotApplicable("the provider makes the endpoint")
    if setup.is_done(fixture, result):
        yield fixture.finding(
            setup.flag(fixture),
            "it is set, and neither the object nor the Cluster has a control plane endpoint",
            "exit until the Cluster has spec.controlPlaneEndpoint, or make one",
        )
        return
    if not fixture.writes():
        raise CannotRun("the provider does not answer it at all")
    await fixture.patch({"spec": {"controlPlaneEndpoint": setup.ENDPOINT}}, NAME, Cluster.RESOURCE)
    if await fixture.wait_for(lambda value: setup.is_done(fixture, value)) is None:
        yield fixture.finding(
            setup.flag(fixture),
            f"it was not set {fixture.timeouts.within:g} seconds after the Cluster had an endpoint",
            "watch the Cluster",
        )


async def externally_managed(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that an externally managed object is not changed."""
    await setup.create_complete(fixture, annotations=_MANAGED)
    await fixture.settle()
    if wrong := setup.without_inventory(fixture, fixture.writes()):
        evidence = (
            f"the annotation {Annotation.MANAGED_BY} is there, and yet: {quote_writes(wrong)}"
        )
        remedy = "exit where the annotation is, before anything else"
        yield fixture.finding("metadata.annotations", evidence, remedy)


CLUSTER_CHECKS: Final = (
    *every_part.checks("infra-cluster"),
    Check("infra-cluster/endpoint-of-others", endpoint_of_others),
    Check("infra-cluster/externally-managed", externally_managed),
)


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


MACHINE_CHECKS: Final = (
    *every_part.checks("infra-machine"),
    Check("infra-machine/deletion", deletion.early_deletion, objects_created=3),
    Check("infra-machine/infrastructure-wait", infrastructure_wait),
    Check("infra-machine/bootstrap-wait", bootstrap_wait),
    Check("infra-machine/provider-id-value", provider_id_value, objects_created=2),
    Check("infra-machine/failure-domain", failure_domain),
    Check("infra-machine/address-types", address_types),
)


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


POOL_CHECKS: Final = (
    *every_part.checks("infra-machinepool"),
    Check("infra-machinepool/provider-ids", provider_ids),
    Check("infra-machinepool/machines", machines),
)
