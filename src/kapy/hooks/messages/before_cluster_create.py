"""BeforeClusterCreate: called before any object of a Cluster is created."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, ClusterRequest
from kapy.hooks.messages.message import RetryResponse


class BeforeClusterCreateRequest(ClusterRequest, kw_only=True):
    """BeforeClusterCreateRequest is the request of the BeforeClusterCreate hook."""


BEFORE_CLUSTER_CREATE: Final = Hook(
    "BeforeClusterCreate",
    BeforeClusterCreateRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook before it creates the objects of a Cluster",
    description=(
        "It is called for Clusters with a managed topology. The user has created the Cluster, "
        "and none of the objects of its topology exist. A response with retryAfterSeconds "
        "blocks their creation."
    ),
)
