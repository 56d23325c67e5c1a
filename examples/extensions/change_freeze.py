"""Holds upgrades of Clusters that carry the label `example.com/frozen`, for as long as they do."""

from kapy.hooks import (
    BEFORE_CLUSTER_UPGRADE,
    BeforeClusterUpgradeRequest,
    Extension,
    RetryResponse,
)

LABEL = "example.com/frozen"
RETRY_SECONDS = 300

extension = Extension()


@extension.handles(BEFORE_CLUSTER_UPGRADE, name="freeze")
async def freeze(request: BeforeClusterUpgradeRequest) -> RetryResponse:
    labels = request.cluster["metadata"].get("labels", {})
    if LABEL not in labels:
        return RetryResponse()
    why = labels[LABEL] or "frozen"
    return RetryResponse.wait(
        RETRY_SECONDS,
        f"the upgrade to {request.to_kubernetes_version} waits until the label {LABEL} ({why}) "
        "is taken away",
    )
