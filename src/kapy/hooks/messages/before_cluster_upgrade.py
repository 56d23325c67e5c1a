"""BeforeClusterUpgrade: called once before an upgrade."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, BeforeUpgradeRequest
from kapy.hooks.messages.message import RetryResponse


class BeforeClusterUpgradeRequest(BeforeUpgradeRequest, kw_only=True):
    """BeforeClusterUpgradeRequest is the request of the BeforeClusterUpgrade hook."""


BEFORE_CLUSTER_UPGRADE: Final = Hook(
    "BeforeClusterUpgrade",
    BeforeClusterUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook before the upgrade of a Cluster",
    description=(
        "It is called for Clusters with a managed topology. The user has changed "
        "spec.topology.version, and no object has the new version. It is called once for each "
        "upgrade, regardless of the number of steps. A response with retryAfterSeconds blocks "
        "the whole upgrade."
    ),
)
