"""Holds a Cluster that wants more machines than its team may have (`settings.machines`)."""

from typing import Any

from kapy.hooks import (
    BEFORE_CLUSTER_CREATE,
    BeforeClusterCreateRequest,
    Extension,
    HookFailed,
    RetryResponse,
)

RETRY_SECONDS = 60

extension = Extension()


@extension.handles(BEFORE_CLUSTER_CREATE, name="machines")
async def machines(request: BeforeClusterCreateRequest) -> RetryResponse:
    limit = request.settings.get("machines", "")
    if not limit.isdecimal():
        raise HookFailed(f'settings.machines of the ExtensionConfig is "{limit}", not a number')
    wanted = machines_of(request.cluster)
    if wanted > int(limit):
        return RetryResponse.wait(RETRY_SECONDS, f"{wanted} machines are wanted, {limit} are free")
    return RetryResponse()


def machines_of(cluster: dict[str, Any]) -> int:
    """The machines that a Cluster's topology asks for; one where it does not say how many."""
    topology = cluster.get("spec", {}).get("topology", {})
    deployments = topology.get("workers", {}).get("machineDeployments", [])
    parts = [topology.get("controlPlane", {}), *deployments]
    return sum(part.get("replicas", 1) for part in parts)
