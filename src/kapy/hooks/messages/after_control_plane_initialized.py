"""AfterControlPlaneInitialized: the API server of a Cluster can be reached for the first time."""

from __future__ import annotations

from typing import Final

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import LIFECYCLE, ClusterRequest
from kapy.hooks.messages.message import Response


class AfterControlPlaneInitializedRequest(ClusterRequest, kw_only=True):
    """Asks AfterControlPlaneInitialized."""


AFTER_CONTROL_PLANE_INITIALIZED: Final = Hook(
    "AfterControlPlaneInitialized",
    AfterControlPlaneInitializedRequest,
    Response,
    tags=LIFECYCLE,
    summary="Told once that a Cluster's API server can be reached",
    description=(
        "For Clusters with a managed topology only. Called when the control plane can be reached "
        "for the first time. Nothing waits for the answer, but a call that fails is repeated."
    ),
)
