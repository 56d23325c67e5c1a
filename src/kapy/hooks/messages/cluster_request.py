"""The common fields of requests about a Cluster (`lifecyclehooks_types.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import field

from kapy.hooks.messages.content import CLUSTER
from kapy.hooks.messages.message import Request
from kapy.kube import Document
from kapy.kube.model import Model, rules


class UpgradeStepInfo(Model):
    """UpgradeStepInfo is one step of an upgrade."""

    version: Annotated[
        str, rules("version is the Kubernetes version to which this step upgrades.", required=True)
    ] = ""


Steps = list[UpgradeStepInfo]


def steps_of(versions: Sequence[str]) -> Steps:
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
        Steps,
        rules(
            "controlPlaneUpgrades are the steps of the upgrade that the control plane has "
            "not finished, in order."
        ),
    ] = field(default_factory=list)
    workers_upgrades: Annotated[
        Steps,
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
