"""BeforeControlPlaneUpgrade: before each version that the control plane goes through."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, BeforeUpgradeRequest
from kapy.hooks.messages.message import RetryResponse


class BeforeControlPlaneUpgradeRequest(BeforeUpgradeRequest, kw_only=True):
    """Asks BeforeControlPlaneUpgrade."""


BEFORE_CONTROL_PLANE_UPGRADE: Final = Hook(
    "BeforeControlPlaneUpgrade",
    BeforeControlPlaneUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Asked before the control plane gets its next version",
    description=(
        "For Clusters with a managed topology only. Follows BeforeClusterUpgrade, and comes again "
        "for each version that the control plane goes through. An answer that waits holds that "
        "step."
    ),
)
