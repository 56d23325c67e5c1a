"""BeforeClusterDelete: called before any object of a Cluster is deleted."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, ClusterRequest
from kapy.hooks.messages.message import RetryResponse


class BeforeClusterDeleteRequest(ClusterRequest, kw_only=True):
    """BeforeClusterDeleteRequest is the request of the BeforeClusterDelete hook."""


BEFORE_CLUSTER_DELETE: Final = Hook(
    "BeforeClusterDelete",
    BeforeClusterDeleteRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook before it deletes the objects of a Cluster",
    description=(
        "It is called for Clusters with a managed topology. The user has deleted the Cluster, "
        "and all objects of its topology still exist. A response with retryAfterSeconds blocks "
        "their deletion."
    ),
)
