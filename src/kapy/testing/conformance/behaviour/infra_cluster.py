"""Checks that only infrastructure clusters have."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.names import Annotation
from kapy.testing.conformance.behaviour import every_part, setup
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import NAME, Fixture, quote_writes

_MANAGED: Final = {Annotation.MANAGED_BY: "somebody"}


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


CHECKS: Final = (
    *every_part.checks("infra-cluster"),
    Check("infra-cluster/endpoint-of-others", endpoint_of_others),
    Check("infra-cluster/externally-managed", externally_managed),
)
