"""Which kinds there are, in which versions, and where each is defined. Imports none of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

from kapy.api.names import (
    BOOTSTRAP_GROUP,
    CLUSTER_GROUP,
    CONTROL_PLANE_GROUP,
    INFRASTRUCTURE_GROUP,
)
from kapy.kube.meta import Object
from kapy.kube.names import GroupKind

STORED: Final = "v1beta2"
"""The version of every kind that is stored, and that controllers read."""

V1BETA1: Final = ("v1beta1",)


class Kind(NamedTuple):
    """One kind.

    module: below `kapy.api` for the stored version, below `kapy.api.v1beta1` (or another) for an
    older one, below `kapy.api.conversion` for what lies between them. older: the versions that are
    served, too, oldest first. deprecated: those versions that a server warns about.
    """

    group: str
    name: str
    module: str
    older: tuple[str, ...] = ()
    deprecated: tuple[str, ...] = V1BETA1
    short_names: tuple[str, ...] = ()

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.name)

    @property
    def versions(self) -> tuple[str, ...]:
        """Every served version, oldest first."""
        return (*self.older, STORED)

    def type_of(self, version: str = STORED) -> type[Object]:
        """The Struct of the kind in a version."""
        package = "kapy.api" if version == STORED else f"kapy.api.{version}"
        found: type[Object] = getattr(import_module(f"{package}.{self.module}"), self.name)
        return found

    def conversion(self) -> Any:
        """The module that converts the kind."""
        return import_module(f"kapy.api.conversion.{self.module}")


def _docker(name: str, module: str) -> Kind:
    return Kind(INFRASTRUCTURE_GROUP, name, module, V1BETA1, deprecated=(*V1BETA1, STORED))


KINDS: Final[tuple[Kind, ...]] = (
    Kind(CLUSTER_GROUP, "Cluster", "cluster", short_names=("cl",)),
    Kind(CLUSTER_GROUP, "ClusterClass", "cluster_class", short_names=("cc",)),
    Kind(CLUSTER_GROUP, "Machine", "machine", V1BETA1, short_names=("ma",)),
    Kind(CLUSTER_GROUP, "MachineSet", "machine_set", short_names=("ms",)),
    Kind(CLUSTER_GROUP, "MachineDeployment", "machine_deployment", short_names=("md",)),
    Kind(BOOTSTRAP_GROUP, "KubeadmConfig", "kubeadm_config"),
    Kind(BOOTSTRAP_GROUP, "KubeadmConfigTemplate", "kubeadm_config"),
    Kind(CONTROL_PLANE_GROUP, "KubeadmControlPlane", "kubeadm_control_plane", short_names=("kcp",)),
    Kind(CONTROL_PLANE_GROUP, "KubeadmControlPlaneTemplate", "kubeadm_control_plane"),
    Kind(INFRASTRUCTURE_GROUP, "DevCluster", "dev_cluster", V1BETA1),
    Kind(INFRASTRUCTURE_GROUP, "DevClusterTemplate", "dev_cluster", V1BETA1),
    Kind(INFRASTRUCTURE_GROUP, "DevMachine", "dev_machine", V1BETA1),
    Kind(INFRASTRUCTURE_GROUP, "DevMachineTemplate", "dev_machine", V1BETA1),
    Kind(INFRASTRUCTURE_GROUP, "DevMachinePool", "dev_machine_pool"),
    Kind(INFRASTRUCTURE_GROUP, "DevMachinePoolTemplate", "dev_machine_pool"),
    _docker("DockerCluster", "docker_cluster"),
    _docker("DockerClusterTemplate", "docker_cluster"),
    _docker("DockerMachine", "docker_machine"),
    _docker("DockerMachineTemplate", "docker_machine"),
    _docker("DockerMachinePool", "docker_machine_pool"),
    _docker("DockerMachinePoolTemplate", "docker_machine_pool"),
)
"""Every kind that is defined here."""

BY_GROUP_KIND: Final[Mapping[GroupKind, Kind]] = {kind.group_kind: kind for kind in KINDS}
