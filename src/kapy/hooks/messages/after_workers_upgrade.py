"""AfterWorkersUpgrade: called after workers have reached a version."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, AfterUpgradeRequest
from kapy.hooks.messages.message import RetryResponse


class AfterWorkersUpgradeRequest(AfterUpgradeRequest, kw_only=True):
    """AfterWorkersUpgradeRequest is the request of the AfterWorkersUpgrade hook."""


AFTER_WORKERS_UPGRADE: Final = Hook(
    "AfterWorkersUpgrade",
    AfterWorkersUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook after each step of the workers' upgrade",
    description=(
        "It is called for Clusters with a managed topology. All workers have the version in the "
        "request. A response with retryAfterSeconds blocks the next step, which upgrades the "
        "control plane, or blocks AfterClusterUpgrade after the last step."
    ),
)
