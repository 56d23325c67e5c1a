"""BeforeControlPlaneUpgrade: called before each version that the control plane is upgraded to."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, BeforeUpgradeRequest
from kapy.hooks.messages.message import RetryResponse


class BeforeControlPlaneUpgradeRequest(BeforeUpgradeRequest, kw_only=True):
    """BeforeControlPlaneUpgradeRequest is the request of the BeforeControlPlaneUpgrade hook."""


BEFORE_CONTROL_PLANE_UPGRADE: Final = Hook(
    "BeforeControlPlaneUpgrade",
    BeforeControlPlaneUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook before each step of the control plane's upgrade",
    description=(
        "It is called for Clusters with a managed topology, after BeforeClusterUpgrade and for "
        "each version to which the control plane is upgraded. A response with retryAfterSeconds "
        "blocks this step."
    ),
)
