"""AfterControlPlaneUpgrade: called after the control plane has reached a version."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, AfterUpgradeRequest
from kapy.hooks.messages.message import RetryResponse


class AfterControlPlaneUpgradeRequest(AfterUpgradeRequest, kw_only=True):
    """AfterControlPlaneUpgradeRequest is the request of the AfterControlPlaneUpgrade hook."""


AFTER_CONTROL_PLANE_UPGRADE: Final = Hook(
    "AfterControlPlaneUpgrade",
    AfterControlPlaneUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook after each step of the control plane's upgrade",
    description=(
        "It is called for Clusters with a managed topology. All control plane machines have the "
        "version in the request. A response with retryAfterSeconds blocks the next step, which "
        "upgrades the workers or the control plane."
    ),
)
