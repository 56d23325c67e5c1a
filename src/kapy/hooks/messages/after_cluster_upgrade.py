"""AfterClusterUpgrade: called after an upgrade has completed."""

from __future__ import annotations

from typing import Annotated, Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, ClusterRequest
from kapy.hooks.messages.message import RetryResponse
from kapy.kube.model import rules


class AfterClusterUpgradeRequest(ClusterRequest, kw_only=True):
    """AfterClusterUpgradeRequest is the request of the AfterClusterUpgrade hook."""

    kubernetes_version: Annotated[
        str,
        rules(
            "kubernetesVersion is the Kubernetes version that the whole cluster has after "
            "the upgrade.",
            zero="written",
        ),
    ]


AFTER_CLUSTER_UPGRADE: Final = Hook(
    "AfterClusterUpgrade",
    AfterClusterUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook after the upgrade of a Cluster",
    description=(
        "It is called for Clusters with a managed topology. The control plane and all workers "
        "have the version in spec.topology.version. A response with retryAfterSeconds blocks "
        "the next upgrade."
    ),
)
