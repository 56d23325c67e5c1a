"""What requests about a Cluster have in common (`lifecyclehooks_types.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import field

from kapy.hooks.messages.content import CLUSTER
from kapy.hooks.messages.message import Request
from kapy.kube import Document
from kapy.kube.model import Model, rules


class UpgradeStepInfo(Model):
    """One version that an upgrade goes through."""

    version: Annotated[str, rules("The Kubernetes version of the step.", required=True)] = ""


Steps = list[UpgradeStepInfo]


def steps_of(versions: Sequence[str]) -> Steps:
    """Versions as steps of an upgrade."""
    return [UpgradeStepInfo(version=one) for one in versions]


class ClusterRequest(Request, kw_only=True):
    """A request about one Cluster, as a document: extensions may be older than its newest field."""

    cluster: Annotated[Document, rules("The Cluster that it is about.", of=CLUSTER)]


class StepsRequest(ClusterRequest, kw_only=True):
    """A request about an upgrade: what of it is still ahead."""

    control_plane_upgrades: Annotated[
        Steps, rules("The versions that the control plane still goes through.")
    ] = field(default_factory=list)
    workers_upgrades: Annotated[Steps, rules("The versions that the workers still go through.")] = (
        field(default_factory=list)
    )


class BeforeUpgradeRequest(StepsRequest, kw_only=True):
    """A request before something is upgraded."""

    from_kubernetes_version: Annotated[
        str, rules("The version before the upgrade or the step of it.", zero="written")
    ]
    to_kubernetes_version: Annotated[
        str, rules("The version after the upgrade or the step of it.", zero="written")
    ]


class AfterUpgradeRequest(StepsRequest, kw_only=True):
    """A request after a step of an upgrade."""

    kubernetes_version: Annotated[str, rules("The version that has been reached.", zero="written")]


LIFECYCLE = ("Lifecycle Hooks",)
