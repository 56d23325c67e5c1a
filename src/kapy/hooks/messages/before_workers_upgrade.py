"""BeforeWorkersUpgrade: called before workers are upgraded to a version."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, BeforeUpgradeRequest
from kapy.hooks.messages.message import RetryResponse


class BeforeWorkersUpgradeRequest(BeforeUpgradeRequest, kw_only=True):
    """BeforeWorkersUpgradeRequest is the request of the BeforeWorkersUpgrade hook."""


BEFORE_WORKERS_UPGRADE: Final = Hook(
    "BeforeWorkersUpgrade",
    BeforeWorkersUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook before each step of the workers' upgrade",
    description=(
        "It is called for Clusters with a managed topology, for each version to which the "
        "workers are upgraded. Workers skip versions where the version skew policy of "
        "Kubernetes allows it. A response with retryAfterSeconds blocks this step."
    ),
)
