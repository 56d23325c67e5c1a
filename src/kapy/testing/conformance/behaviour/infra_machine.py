"""What machines' infrastructure is asked for beyond what all kinds are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Final

from kapy.testing.conformance.behaviour import deletion, every_part, stage
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import NAME, Scene, quoted

TYPES: Final = ("Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS")
SECOND: Final = "worker-1"
DOMAIN: Final = "conformance-domain"


async def infrastructure_wait(scene: Scene) -> AsyncIterator[Finding]:
    """No machine is made before the Cluster's infrastructure is provisioned."""
    await stage.cluster(scene, ready=False)
    await stage.owned(scene)
    await scene.quiet()
    if wrong := stage.begun(scene, scene.writes()):
        yield scene.fault(
            "",
            f"the Cluster's infrastructure is not provisioned, and yet: {quoted(wrong)}",
            "exit until status.initialization.infrastructureProvisioned of the Cluster is true",
        )


async def bootstrap_wait(scene: Scene) -> AsyncIterator[Finding]:
    """No machine is made before its Machine has bootstrap data."""
    await stage.cluster(scene)
    await stage.owned(scene, data=False)
    await scene.quiet()
    if wrong := stage.begun(scene, scene.writes()):
        yield scene.fault(
            "",
            f"the Machine has no spec.bootstrap.dataSecretName, and yet: {quoted(wrong)}",
            "exit until it has",
        )


async def provider_id_value(scene: Scene) -> AsyncIterator[Finding]:
    """Two machines have two provider IDs, which stay as they are."""
    await stage.cluster(scene)
    for name in (NAME, SECOND):
        await stage.owned(scene, name)
    for name in (NAME, SECOND):
        await stage.done(scene, name)
    await scene.patch({"metadata": {"labels": {"conformance": "touched"}}})
    await scene.quiet()
    one, other = (_ids(scene, name) for name in (NAME, SECOND))
    for name, ids in ((NAME, one), (SECOND, other)):
        if len(ids) > 1:
            evidence = f"it was {ids[0]}, and became {ids[1]}"
            mend = "name the instance once and for all"
            yield scene.fault("spec.providerID", evidence, mend, name)
    if set(one) & set(other):
        evidence = f"{one[0]} is that of {SECOND}, too"
        yield scene.fault("spec.providerID", evidence, "name each instance by an ID of its own")


def _ids(scene: Scene, name: str) -> list[str]:
    """All provider IDs that a machine ever had, in order."""
    found = (stage.value(scene, state, "provider_id") for state in scene.states(name))
    return list(dict.fromkeys(filter(None, found)))


async def failure_domain(scene: Scene) -> AsyncIterator[Finding]:
    """A machine is where its Machine wants it."""
    await stage.cluster(scene)
    example = scene.example()
    await scene.core.machine(
        scene.cluster, NAME, example, bootstrap_data=stage.DATA, failureDomain=DOMAIN
    )
    found = await scene.reached(lambda one: stage.is_done(scene, one))
    told = None if found is None else stage.value(scene, found, "failure_domain")
    if not told:
        raise NotApplicable("status.failureDomain tells none")
    if told != DOMAIN:
        evidence = f"it is {told}; the Machine's spec.failureDomain is {DOMAIN}"
        mend = "put the machine where spec.failureDomain of its Machine says"
        yield scene.fault("status.failureDomain", evidence, mend)


async def address_types(scene: Scene) -> AsyncIterator[Finding]:
    """Addresses have a type that there is."""
    await stage.whole(scene)
    found = await stage.done(scene)
    await scene.quiet()
    found = await scene.read() or found
    addresses = (found.get("status") or {}).get("addresses")
    if not addresses:
        raise NotApplicable("status.addresses tells none")
    if wrong := sorted(_unknown(addresses)):
        evidence = f"there are addresses of type {', '.join(wrong)}"
        yield scene.fault("status.addresses", evidence, f"use one of {', '.join(TYPES)}")


def _unknown(addresses: Iterable[dict[str, str]]) -> set[str]:
    return {str(one.get("type")) for one in addresses} - set(TYPES)


CHECKS: Final = (
    *every_part.checks("infra-machine"),
    Check("infra-machine/deletion", deletion.early_deletion, makes=3),
    Check("infra-machine/infrastructure-wait", infrastructure_wait),
    Check("infra-machine/bootstrap-wait", bootstrap_wait),
    Check("infra-machine/provider-id-value", provider_id_value, makes=2),
    Check("infra-machine/failure-domain", failure_domain),
    Check("infra-machine/address-types", address_types),
)
