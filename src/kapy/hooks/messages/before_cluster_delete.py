"""BeforeClusterDelete: before anything of a Cluster is deleted."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, ClusterRequest
from kapy.hooks.messages.message import RetryResponse


class BeforeClusterDeleteRequest(ClusterRequest, kw_only=True):
    """Asks BeforeClusterDelete."""


BEFORE_CLUSTER_DELETE: Final = Hook(
    "BeforeClusterDelete",
    BeforeClusterDeleteRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Asked before anything of a Cluster is deleted",
    description=(
        "For Clusters with a managed topology only. The user has deleted the Cluster, and all "
        "that belongs to it is still there. An answer that waits holds the deletion."
    ),
)
