"""The lifecycle hooks of a managed cluster, and their possible responses.

Programs with runtime extensions implement `LifecycleHooks`. `kapy.topology.hook_calls` decides when
each hook is called and what a blocking response stops. `registered_handlers` tells what an
ExtensionConfig offers to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

import msgspec

from kapy.api.cluster import Cluster, ClusterStatus
from kapy.api.names import Annotation
from kapy.kube import Document
from kapy.kube.apply.last_applied import ANNOTATION as LAST_APPLIED
from kapy.kube.errors import KapyError


class Hook(str, Enum):
    """The lifecycle hooks, by their names in the Runtime SDK."""

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
    """An extension could not be called, or it responded with a failure."""


class Answer(NamedTuple):
    """The combined response of all extensions that serve a hook.

    retry_after: seconds to wait before the hook is called again; the operation is blocked until
    then. 0: it may go on.
    """

    retry_after: int = 0
    message: str = ""


@dataclass(frozen=True)
class UpgradeSteps:
    """The remaining versions of an upgrade at the time of a hook call."""

    control_plane: Sequence[str] = ()
    workers: Sequence[str] = ()


class UpgradePlans(NamedTuple):
    """The versions that an extension plans for an upgrade. If the workers' plan is empty, kapy
    computes it."""

    control_plane: Sequence[str]
    workers: Sequence[str] = ()


class LifecycleHooks(Protocol):
    """Calls the registered extensions. Every method may raise HookError.

    cluster: the Cluster in the form that extensions receive (`hook_view`). start, target: the
    versions before and after the upgrade.
    """

    async def is_registered(self, hook: Hook, cluster: Cluster) -> bool:
        """Return whether an extension that matches the cluster's namespace serves the hook."""

    async def before_cluster_create(self, cluster: Cluster) -> Answer:
        """This hook may block the creation of all objects of a Cluster."""

    async def after_control_plane_initialized(self, cluster: Cluster) -> Answer:
        """This hook is called once, when the API server is first reachable; it blocks nothing."""

    async def before_cluster_upgrade(
        self, cluster: Cluster, start: str, target: str, steps: UpgradeSteps
    ) -> Answer:
        """This hook may block a whole upgrade; it is called once at the start."""

    async def before_control_plane_upgrade(
        self, cluster: Cluster, start: str, target: str, steps: UpgradeSteps
    ) -> Answer:
        """This hook may block one upgrade step of the control plane."""

    async def after_control_plane_upgrade(
        self, cluster: Cluster, version: str, steps: UpgradeSteps
    ) -> Answer:
        """This hook may block everything that follows an upgrade step of the control plane."""

    async def before_workers_upgrade(
        self, cluster: Cluster, start: str, target: str, steps: UpgradeSteps
    ) -> Answer:
        """This hook may block one upgrade step of the workers."""

    async def after_workers_upgrade(
        self, cluster: Cluster, version: str, steps: UpgradeSteps
    ) -> Answer:
        """This hook may block the control plane's next upgrade step after a step of the workers."""

    async def after_cluster_upgrade(self, cluster: Cluster, version: str) -> Answer:
        """This hook may block the next upgrade after a whole one."""

    async def before_cluster_delete(self, cluster: Cluster) -> Answer:
        """This hook may block the deletion of all objects of a Cluster."""

    async def generate_upgrade_plan(
        self, extension: str, cluster: Cluster, control_plane: str, workers: str, target: str
    ) -> UpgradePlans:
        """Ask the named extension for the intermediate versions of an upgrade.

        control_plane, workers: the current versions; workers is the oldest one, or "".
        """


def hook_view(cluster: Cluster) -> Cluster:
    """Return the Cluster in the form that extensions receive: without status and without the
    annotations that other programs keep for themselves.
    """
    metadata = msgspec.structs.replace(
        cluster.metadata,
        annotations={
            key: value
            for key, value in cluster.metadata.annotations.items()
            if key not in (LAST_APPLIED, Annotation.CONVERSION_DATA)
        },
    )
    return msgspec.structs.replace(cluster, metadata=metadata, status=ClusterStatus())


def registered_handlers(config: Document | None) -> Any:
    """Return the spec and handlers of an ExtensionConfig; None if it is deleted or being deleted.

    When this value changes, callers that wait for an extension, or that used its answer, must
    reconcile again.
    """
    if config is None or config["metadata"].get("deletionTimestamp"):
        return None
    return config["spec"], (config.get("status") or {}).get("handlers")
