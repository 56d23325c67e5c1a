"""GenerateUpgradePlan: the versions that an upgrade goes through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, Self

from msgspec import field

from kapy.hooks.hook import Hook
from kapy.hooks.messages.cluster_request import ClusterRequest
from kapy.hooks.messages.message import Response
from kapy.kube.model import Model, rules


class UpgradeStep(Model):
    """One version to go through."""

    version: Annotated[str, rules("The Kubernetes version of the step.", required=True)] = ""


class GenerateUpgradePlanRequest(ClusterRequest, kw_only=True):
    """Asks GenerateUpgradePlan."""

    from_control_plane_kubernetes_version: Annotated[
        str, rules("The control plane's version now.", required=True)
    ] = ""
    from_workers_kubernetes_version: Annotated[str, rules("The oldest version of workers now.")] = (
        ""
    )
    to_kubernetes_version: Annotated[str, rules("The version that is wanted.", required=True)] = ""


class GenerateUpgradePlanResponse(Response):
    """Answers GenerateUpgradePlan."""

    control_plane_upgrades: Annotated[
        list[UpgradeStep],
        rules(
            "The versions of the control plane in their order: at least one of each minor version "
            "after the one that it has, and the wanted one last."
        ),
    ] = field(default_factory=list)
    workers_upgrades: Annotated[
        list[UpgradeStep],
        rules(
            "The versions of workers, some of the control plane's, and the wanted one last. None: "
            "as few as the allowed distance to the control plane lets."
        ),
    ] = field(default_factory=list)

    @classmethod
    def through(cls, control_plane: Sequence[str], workers: Sequence[str] = ()) -> Self:
        """A plan of versions."""
        return cls(
            control_plane_upgrades=[UpgradeStep(version=one) for one in control_plane],
            workers_upgrades=[UpgradeStep(version=one) for one in workers],
        )


GENERATE_UPGRADE_PLAN: Final = Hook(
    "GenerateUpgradePlan",
    GenerateUpgradePlanRequest,
    GenerateUpgradePlanResponse,
    tags=("Chained Upgrade Hook",),
    summary="Asked which versions an upgrade goes through",
    description=(
        "Called for a Cluster whose ClusterClass names the handler, when it is upgraded over more "
        "than one minor version. From v1.29.0 to v1.33.0 the answer could be v1.30.0, v1.31.0, "
        "v1.32.0 and v1.33.0 for the control plane; it may have a plan for workers too."
    ),
)
