"""What clusters' infrastructure is asked for beyond what all kinds are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.names import Annotation
from kapy.testing.conformance.behaviour import every_part, stage
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import NAME, Scene, quoted

_MANAGED: Final = {Annotation.MANAGED_BY: "somebody"}


async def endpoint_of_others(scene: Scene) -> AsyncIterator[Finding]:
    """Who makes no endpoint is done when the Cluster has one, and not before."""
    await stage.owned(scene, data=False)
    await scene.quiet()
    found = await scene.read() or {}
    if stage.value(scene, found, "control_plane_endpoint"):
        raise NotApplicable("the provider makes the endpoint")
    if stage.is_done(scene, found):
        yield scene.fault(
            stage.flag(scene),
            "it is set, and neither the object nor the Cluster has a control plane endpoint",
            "exit until the Cluster has spec.controlPlaneEndpoint, or make one",
        )
        return
    if not scene.writes():
        raise CannotRun("the provider does not answer it at all")
    await scene.patch({"spec": {"controlPlaneEndpoint": stage.ENDPOINT}}, NAME, Cluster.RESOURCE)
    if await scene.reached(lambda one: stage.is_done(scene, one)) is None:
        yield scene.fault(
            stage.flag(scene),
            f"it was not set {scene.patience.within:g} seconds after the Cluster had an endpoint",
            "watch the Cluster",
        )


async def externally_managed(scene: Scene) -> AsyncIterator[Finding]:
    """What somebody else manages is left alone."""
    await stage.whole(scene, annotations=_MANAGED)
    await scene.quiet()
    if wrong := scene.writes():
        evidence = f"the annotation {Annotation.MANAGED_BY} is there, and yet: {quoted(wrong)}"
        mend = "exit where the annotation is, before anything else"
        yield scene.fault("metadata.annotations", evidence, mend)


CHECKS: Final = (
    *every_part.checks("infra-cluster"),
    Check("infra-cluster/endpoint-of-others", endpoint_of_others),
    Check("infra-cluster/externally-managed", externally_managed),
)
