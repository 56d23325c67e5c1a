"""The hooks in the life of a Cluster, in the order in which they are called
(`lifecyclehooks_types.go`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from msgspec import field

from kapy.hooks.hook import Hook
from kapy.hooks.messages.content import CLUSTER
from kapy.hooks.messages.message import Request, Response, RetryResponse
from kapy.kube import Document
from kapy.kube.model import Model, rules


class UpgradeStepInfo(Model):
    """UpgradeStepInfo is one step of an upgrade."""

    version: Annotated[
        str, rules("version is the Kubernetes version to which this step upgrades.", required=True)
    ] = ""


_Steps = list[UpgradeStepInfo]


def steps_of(versions: Sequence[str]) -> _Steps:
    """Versions as steps of an upgrade."""
    return [UpgradeStepInfo(version=version) for version in versions]


class ClusterRequest(Request, kw_only=True):
    """ClusterRequest is a request about one Cluster. The Cluster is a document, so that an
    extension accepts fields that are newer than itself.
    """

    cluster: Annotated[
        Document, rules("cluster is the Cluster to which the request refers.", of=CLUSTER)
    ]


class StepsRequest(ClusterRequest, kw_only=True):
    """StepsRequest is a request about an upgrade, with the steps that remain."""

    control_plane_upgrades: Annotated[
        _Steps,
        rules(
            "controlPlaneUpgrades are the steps of the upgrade that the control plane has "
            "not finished, in order."
        ),
    ] = field(default_factory=list)
    workers_upgrades: Annotated[
        _Steps,
        rules(
            "workersUpgrades are the steps of the upgrade that the workers have not "
            "finished, in order."
        ),
    ] = field(default_factory=list)


class BeforeUpgradeRequest(StepsRequest, kw_only=True):
    """BeforeUpgradeRequest is a request before an upgrade or a step of it."""

    from_kubernetes_version: Annotated[
        str,
        rules(
            "fromKubernetesVersion is the Kubernetes version before the upgrade or step.",
            zero="written",
        ),
    ]
    to_kubernetes_version: Annotated[
        str,
        rules(
            "toKubernetesVersion is the Kubernetes version after the upgrade or step.",
            zero="written",
        ),
    ]


class AfterUpgradeRequest(StepsRequest, kw_only=True):
    """AfterUpgradeRequest is a request after a step of an upgrade."""

    kubernetes_version: Annotated[
        str,
        rules(
            "kubernetesVersion is the Kubernetes version that has been reached with this step.",
            zero="written",
        ),
    ]


LIFECYCLE = ("Lifecycle Hooks",)


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


class BeforeClusterUpgradeRequest(BeforeUpgradeRequest, kw_only=True):
    """BeforeClusterUpgradeRequest is the request of the BeforeClusterUpgrade hook."""


BEFORE_CLUSTER_UPGRADE: Final = Hook(
    "BeforeClusterUpgrade",
    BeforeClusterUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook before the upgrade of a Cluster",
    description=(
        "It is called for Clusters with a managed topology. The user has changed "
        "spec.topology.version, and no object has the new version. It is called once for each "
        "upgrade, regardless of the number of steps. A response with retryAfterSeconds blocks "
        "the whole upgrade."
    ),
)


class BeforeControlPlaneUpgradeRequest(BeforeUpgradeRequest, kw_only=True):
    """BeforeControlPlaneUpgradeRequest is the request of the BeforeControlPlaneUpgrade hook."""


BEFORE_CONTROL_PLANE_UPGRADE: Final = Hook(
    "BeforeControlPlaneUpgrade",
    BeforeControlPlaneUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook before each step of the control plane's upgrade",
    description=(
        "It is called for Clusters with a managed topology, after BeforeClusterUpgrade and for "
        "each version to which the control plane is upgraded. A response with retryAfterSeconds "
        "blocks this step."
    ),
)


class AfterControlPlaneUpgradeRequest(AfterUpgradeRequest, kw_only=True):
    """AfterControlPlaneUpgradeRequest is the request of the AfterControlPlaneUpgrade hook."""


AFTER_CONTROL_PLANE_UPGRADE: Final = Hook(
    "AfterControlPlaneUpgrade",
    AfterControlPlaneUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook after each step of the control plane's upgrade",
    description=(
        "It is called for Clusters with a managed topology. All control plane machines have the "
        "version in the request. A response with retryAfterSeconds blocks the next step, which "
        "upgrades the workers or the control plane."
    ),
)


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


class AfterWorkersUpgradeRequest(AfterUpgradeRequest, kw_only=True):
    """AfterWorkersUpgradeRequest is the request of the AfterWorkersUpgrade hook."""


AFTER_WORKERS_UPGRADE: Final = Hook(
    "AfterWorkersUpgrade",
    AfterWorkersUpgradeRequest,
    RetryResponse,
    tags=LIFECYCLE,
    summary="Cluster API calls this hook after each step of the workers' upgrade",
    description=(
        "It is called for Clusters with a managed topology. All workers have the version in the "
        "request. A response with retryAfterSeconds blocks the next step, which upgrades the "
        "control plane, or blocks AfterClusterUpgrade after the last step."
    ),
)


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
