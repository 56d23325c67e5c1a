"""BeforeClusterCreate: before anything of a Cluster is made."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, ClusterRequest
from kapy.hooks.messages.message import RetryResponse


class BeforeClusterCreateRequest(ClusterRequest, kw_only=True):
    """Asks BeforeClusterCreate."""


BEFORE_CLUSTER_CREATE: Final = Hook(
    "BeforeClusterCreate",
    BeforeClusterCreateRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Asked before anything of a Cluster is made",
    description=(
        "For Clusters with a managed topology only. The user has created the Cluster; none of the "
        "objects that its topology is made of is there yet. An answer that waits holds all of "
        "them."
    ),
)
