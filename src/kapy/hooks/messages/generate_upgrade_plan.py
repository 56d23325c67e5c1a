"""GenerateUpgradePlan: asks for the intermediate versions of an upgrade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Self

from msgspec import field

from kapy.hooks.hook import Hook
from kapy.hooks.messages.lifecycle import ClusterRequest
from kapy.hooks.messages.message import Response
from kapy.kube.model import Model, rules


class UpgradeStep(Model):
    """UpgradeStep is one step of an upgrade."""

    version: Annotated[
        str, rules("version is the Kubernetes version to which this step upgrades.", required=True)
    ] = ""


class GenerateUpgradePlanRequest(ClusterRequest, kw_only=True):
    """GenerateUpgradePlanRequest is the request of the GenerateUpgradePlan hook."""

    from_control_plane_kubernetes_version: Annotated[
        str,
        rules(
            "fromControlPlaneKubernetesVersion is the current Kubernetes version of the "
            "control plane.",
            required=True,
        ),
    ] = ""
    from_workers_kubernetes_version: Annotated[
        str,
        rules(
            "fromWorkersKubernetesVersion is the lowest current Kubernetes version of the "
            "workers. It is empty if there are none."
        ),
    ] = ""
    to_kubernetes_version: Annotated[
        str,
        rules(
            "toKubernetesVersion is the desired Kubernetes version of the cluster.", required=True
        ),
    ] = ""


class GenerateUpgradePlanResponse(Response):
    """GenerateUpgradePlanResponse is the response of the GenerateUpgradePlan hook."""

    control_plane_upgrades: Annotated[
        list[UpgradeStep],
        rules(
            "controlPlaneUpgrades are the steps of the control plane in order. The plan "
            "contains at least one version of each minor version after the current one. It "
            "ends with the desired version."
        ),
    ] = field(default_factory=list)
    workers_upgrades: Annotated[
        list[UpgradeStep],
        rules(
            "workersUpgrades are the steps of the workers in order. Each is one of the steps "
            "of the control plane. The plan ends with the desired version. If it is not set, "
            "Cluster API computes the smallest number of steps that the version skew policy "
            "of Kubernetes allows."
        ),
    ] = field(default_factory=list)

    @classmethod
    def through(cls, control_plane: Sequence[str], workers: Sequence[str] = ()) -> Self:
        """Return a plan through these versions."""
        return cls(
            control_plane_upgrades=[UpgradeStep(version=item) for item in control_plane],
            workers_upgrades=[UpgradeStep(version=worker) for worker in workers],
        )


GENERATE_UPGRADE_PLAN: Final = Hook(
    "GenerateUpgradePlan",
    GenerateUpgradePlanRequest,
    GenerateUpgradePlanResponse,
    tags=("Chained Upgrade Hook",),
    summary="Cluster API asks through which versions an upgrade goes",
    description=(
        "It is called for a Cluster whose ClusterClass names the handler, when it is upgraded "
        "over more than one minor version. For an upgrade from v1.29.0 to v1.33.0 the response "
        "could contain v1.30.0, v1.31.0, v1.32.0 and v1.33.0 for the control plane. It may also "
        "contain a plan for the workers."
    ),
)
