"""What extensions may be asked in a managed cluster's life, and what they may answer.

`LifecycleHooks` is the door: whoever runs extensions serves it. When which hook is asked, and what
a blocking answer stops, is in `kapy.topology.hook_calls`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

import msgspec

from kapy.api.cluster import Cluster, ClusterStatus
from kapy.api.names import Annotation
from kapy.kube.apply.last_applied import ANNOTATION as LAST_APPLIED
from kapy.kube.errors import KapyError


class Hook(str, Enum):
    """The lifecycle hooks, as the Runtime SDK calls them."""

    BEFORE_CLUSTER_CREATE = "BeforeClusterCreate"
    AFTER_CONTROL_PLANE_INITIALIZED = "AfterControlPlaneInitialized"
    BEFORE_CLUSTER_UPGRADE = "BeforeClusterUpgrade"
    BEFORE_CONTROL_PLANE_UPGRADE = "BeforeControlPlaneUpgrade"
    AFTER_CONTROL_PLANE_UPGRADE = "AfterControlPlaneUpgrade"
    BEFORE_WORKERS_UPGRADE = "BeforeWorkersUpgrade"
    AFTER_WORKERS_UPGRADE = "AfterWorkersUpgrade"
    AFTER_CLUSTER_UPGRADE = "AfterClusterUpgrade"
    BEFORE_CLUSTER_DELETE = "BeforeClusterDelete"

    def __str__(self) -> str:
        return self.value


class HookError(KapyError):
    """An extension could not be asked, or answered with a failure."""


class Answer(NamedTuple):
    """What the extensions of a hook say together.

    retry_after: seconds until they want to be asked again, and that nothing goes on before;
    0 lets it go on.
    """

    retry_after: int = 0
    message: str = ""


@dataclass(frozen=True)
class UpgradeSteps:
    """The versions that are still ahead when a hook is asked."""

    control_plane: Sequence[str] = ()
    workers: Sequence[str] = ()


class UpgradePlans(NamedTuple):
    """The versions that an extension wants an upgrade to go through; an empty workers' plan leaves
    them to us."""

    control_plane: Sequence[str]
    workers: Sequence[str] = ()


class LifecycleHooks(Protocol):
    """Asks the extensions that are registered. Every method may raise HookError.

    cluster: as extensions are shown it (`shown`). start, target: versions before and after.
    """

    async def is_registered(self, hook: Hook, cluster: Cluster) -> bool:
        """Whether any extension that is there for the cluster's namespace serves a hook."""

    async def before_cluster_create(self, cluster: Cluster) -> Answer:
        """May hold the creation of everything that is made for a Cluster."""

    async def after_control_plane_initialized(self, cluster: Cluster) -> Answer:
        """Told once, when the API server can be reached for the first time; holds nothing."""

    async def before_cluster_upgrade(
        self, cluster: Cluster, start: str, target: str, steps: UpgradeSteps
    ) -> Answer:
        """May hold a whole upgrade; asked once at its beginning."""

    async def before_control_plane_upgrade(
        self, cluster: Cluster, start: str, target: str, steps: UpgradeSteps
    ) -> Answer:
        """May hold one step of the control plane."""

    async def after_control_plane_upgrade(
        self, cluster: Cluster, version: str, steps: UpgradeSteps
    ) -> Answer:
        """May hold everything that follows a step of the control plane."""

    async def before_workers_upgrade(
        self, cluster: Cluster, start: str, target: str, steps: UpgradeSteps
    ) -> Answer:
        """May hold one step of the workers."""

    async def after_workers_upgrade(
        self, cluster: Cluster, version: str, steps: UpgradeSteps
    ) -> Answer:
        """May hold the next step of the control plane after one of the workers."""

    async def after_cluster_upgrade(self, cluster: Cluster, version: str) -> Answer:
        """May hold the next upgrade after a whole one."""

    async def before_cluster_delete(self, cluster: Cluster) -> Answer:
        """May hold the deletion of everything that belongs to a Cluster."""

    async def generate_upgrade_plan(
        self, extension: str, cluster: Cluster, control_plane: str, workers: str, target: str
    ) -> UpgradePlans:
        """Asks one extension by its name for the versions in between.

        control_plane, workers: the versions now, workers' the oldest one or "".
        """


def shown(cluster: Cluster) -> Cluster:
    """The Cluster as extensions are shown it: without status, and what annotations keep for
    others."""
    metadata = msgspec.structs.replace(
        cluster.metadata,
        annotations={
            key: value
            for key, value in cluster.metadata.annotations.items()
            if key not in (LAST_APPLIED, Annotation.CONVERSION_DATA)
        },
    )
    return msgspec.structs.replace(cluster, metadata=metadata, status=ClusterStatus())
