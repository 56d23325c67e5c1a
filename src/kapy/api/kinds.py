"""All kinds, their versions, and the module of each. Imports none of these modules."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final, NamedTuple

from kapy.api.names import (
    ADDONS_GROUP,
    BOOTSTRAP_GROUP,
    CLUSTER_GROUP,
    CONTROL_PLANE_GROUP,
    INFRASTRUCTURE_GROUP,
    IPAM_GROUP,
    RUNTIME_GROUP,
)
from kapy.kube.meta import Object
from kapy.kube.names import GroupKind

STORED: Final = "v1beta2"
"""The version of every kind that is stored, and that controllers read."""

V1BETA1: Final = ("v1beta1",)


class Kind(NamedTuple):
    """An API kind: its group and name, its versions, and the module of its Struct.

    module: the name below `kapy.api` of the module with the stored version, from which
    `kapy.api.older` derives the other versions. older: the older versions that are served, oldest
    first. deprecated: the versions for which a server sends a warning.
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
        """Return every served version, oldest first."""
        return (*self.older, STORED)

    def type_of(self, version: str = STORED) -> type[Object]:
        """Return the Struct of the kind in a version."""
        return _type(self, version)


# Cached: it is needed at every conversion, and importing would take as long as the rest.
_module = cache(import_module)


@cache
def _type(kind: Kind, version: str) -> type[Object]:
    newest: type[Object] = getattr(_module(f"kapy.api.{kind.module}"), kind.name)
    if version == STORED:
        return newest
    result: type[Object] = _module("kapy.api.older.derivation").older_type(newest, version)
    return result


def _docker(name: str, module: str) -> Kind:
    return Kind(INFRASTRUCTURE_GROUP, name, module, V1BETA1, deprecated=(*V1BETA1, STORED))


KINDS: Final[tuple[Kind, ...]] = (
    Kind(CLUSTER_GROUP, "Cluster", "cluster", V1BETA1, short_names=("cl",)),
    Kind(CLUSTER_GROUP, "ClusterClass", "cluster_class", V1BETA1, short_names=("cc",)),
    Kind(CLUSTER_GROUP, "Machine", "machine", V1BETA1, short_names=("ma",)),
    Kind(CLUSTER_GROUP, "MachineSet", "machine_set", V1BETA1, short_names=("ms",)),
    Kind(CLUSTER_GROUP, "MachineDeployment", "machine_deployment", V1BETA1, short_names=("md",)),
    Kind(CLUSTER_GROUP, "MachinePool", "machine_pool", V1BETA1, short_names=("mp",)),
    Kind(
        CLUSTER_GROUP,
        "MachineHealthCheck",
        "machine_health_check",
        V1BETA1,
        short_names=("mhc", "mhcs"),
    ),
    Kind(CLUSTER_GROUP, "MachineDrainRule", "machine_drain_rule", V1BETA1),
    Kind(ADDONS_GROUP, "ClusterResourceSet", "cluster_resource_set", V1BETA1),
    Kind(ADDONS_GROUP, "ClusterResourceSetBinding", "cluster_resource_set_binding", V1BETA1),
    Kind(IPAM_GROUP, "IPAddress", "ip_address", ("v1alpha1", "v1beta1")),
    Kind(IPAM_GROUP, "IPAddressClaim", "ip_address", ("v1alpha1", "v1beta1")),
    Kind(
        RUNTIME_GROUP,
        "ExtensionConfig",
        "extension_config",
        ("v1alpha1",),
        deprecated=("v1alpha1",),
        short_names=("ext",),
    ),
    Kind(BOOTSTRAP_GROUP, "KubeadmConfig", "kubeadm_config", V1BETA1),
    Kind(BOOTSTRAP_GROUP, "KubeadmConfigTemplate", "kubeadm_config", V1BETA1),
    Kind(
        CONTROL_PLANE_GROUP,
        "KubeadmControlPlane",
        "kubeadm_control_plane",
        V1BETA1,
        short_names=("kcp",),
    ),
    Kind(CONTROL_PLANE_GROUP, "KubeadmControlPlaneTemplate", "kubeadm_control_plane", V1BETA1),
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
