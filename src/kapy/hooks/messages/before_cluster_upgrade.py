"""BeforeClusterUpgrade: before an upgrade, once."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, BeforeUpgradeRequest
from kapy.hooks.messages.message import RetryResponse


class BeforeClusterUpgradeRequest(BeforeUpgradeRequest, kw_only=True):
    """Asks BeforeClusterUpgrade."""


BEFORE_CLUSTER_UPGRADE: Final = Hook(
    "BeforeClusterUpgrade",
    BeforeClusterUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Asked before a Cluster is upgraded",
    description=(
        "For Clusters with a managed topology only. The user has written another "
        "spec.topology.version, and nothing has been told of it. Asked once for an upgrade, "
        "however many versions it goes through. An answer that waits holds the whole upgrade."
    ),
)
