"""AfterControlPlaneInitialized: called when a Cluster's API server is reachable for the
first time.
"""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, ClusterRequest
from kapy.hooks.messages.message import Response


class AfterControlPlaneInitializedRequest(ClusterRequest, kw_only=True):
    """AfterControlPlaneInitializedRequest is the request of the AfterControlPlaneInitialized
    hook.
    """


AFTER_CONTROL_PLANE_INITIALIZED: Final = Hook(
    "AfterControlPlaneInitialized",
    AfterControlPlaneInitializedRequest,
    Response,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook once the API server of a Cluster is reachable",
    description=(
        "It is called for Clusters with a managed topology, when the control plane is reachable "
        "for the first time. It does not block anything. A call that fails is repeated."
    ),
)
