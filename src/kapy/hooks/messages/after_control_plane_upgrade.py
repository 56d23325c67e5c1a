"""AfterControlPlaneUpgrade: the control plane has its next version."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, AfterUpgradeRequest
from kapy.hooks.messages.message import RetryResponse


class AfterControlPlaneUpgradeRequest(AfterUpgradeRequest, kw_only=True):
    """Asks AfterControlPlaneUpgrade."""


AFTER_CONTROL_PLANE_UPGRADE: Final = Hook(
    "AfterControlPlaneUpgrade",
    AfterControlPlaneUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Asked when the control plane has its next version",
    description=(
        "For Clusters with a managed topology only. All machines of the control plane have the "
        "version of the request. An answer that waits holds what follows: workers, or the control "
        "plane's next version."
    ),
)
