"""AfterClusterUpgrade: an upgrade is done."""

from __future__ import annotations

from typing import Annotated, Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, ClusterRequest
from kapy.hooks.messages.message import RetryResponse
from kapy.kube.model import rules


class AfterClusterUpgradeRequest(ClusterRequest, kw_only=True):
    """Asks AfterClusterUpgrade."""

    kubernetes_version: Annotated[str, rules("The version that has been reached.", zero="written")]


AFTER_CLUSTER_UPGRADE: Final = Hook(
    "AfterClusterUpgrade",
    AfterClusterUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Asked when an upgrade is done",
    description=(
        "For Clusters with a managed topology only. Control plane and workers have the version of "
        "spec.topology.version. An answer that waits holds the next upgrade."
    ),
)
