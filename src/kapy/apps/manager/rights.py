"""The RBAC rules of each manager, with only the rights that its flows need.

Core and the control plane provider have full rights on all resources of the providers' API groups,
as in upstream, because these groups may get new kinds. Rules for other groups are added by
aggregation (`AGGREGATED`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine, DevMachineTemplate
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.api.docker_cluster import DockerCluster
from kapy.api.docker_machine import DockerMachine, DockerMachineTemplate
from kapy.api.docker_machine_pool import DockerMachinePool
from kapy.api.extension_config import ExtensionConfig
from kapy.api.ip_address import IPAddressClaim
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_drain_rule import MachineDrainRule
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machine_pool import MachinePool
from kapy.api.machine_set import MachineSet
from kapy.api.names import BOOTSTRAP_GROUP, CONTROL_PLANE_GROUP, INFRASTRUCTURE_GROUP
from kapy.apps.components.rules import FULL, READ
from kapy.apps.migrated_kinds import migration_rights
from kapy.contract.external import AGGREGATE_TO_MANAGER
from kapy.kube.meta import Object
from kapy.kube.names import CONFIG_MAPS, CRDS, EVENTS, NAMESPACES, SECRETS, Resource
from kapy.sdk.provider import Right

AGGREGATED: Final[Mapping[str, str]] = {
    "core": AGGREGATE_TO_MANAGER,
    "control-plane-kubeadm": f"kubeadm.{CONTROL_PLANE_GROUP}/aggregate-to-manager",
}
"""Labels of ClusterRoles whose rules these managers get, too: upstream's."""
_WATCH: Final = ("list", "watch")
_WRITE: Final = (*READ, "patch")
_PROVIDERS: Final = (BOOTSTRAP_GROUP, CONTROL_PLANE_GROUP, INFRASTRUCTURE_GROUP)


def _of(one: Resource | type[Object], *verbs: str) -> Right:
    resource = one if isinstance(one, Resource) else one.RESOURCE
    return Right(resource.group, (resource.plural,), verbs)


def _reconciled(kind: type[Object], *more: str) -> Iterator[Right]:
    """The rules for objects that a controller reconciles. more: additional verbs."""
    yield _of(kind, *_WRITE, *more)
    yield _status_of(kind)


def _status_of(kind: type[Object]) -> Right:
    resource = kind.RESOURCE
    return Right(resource.group, (f"{resource.plural}/status",), ("patch",))


_EVENTS: Final = _of(EVENTS, "create", "patch")
_EVERYTHING: Final = tuple(Right(group, ("*",), FULL) for group in _PROVIDERS)
_RIGHTS: Final[Mapping[str, Sequence[Right]]] = {
    "core": (
        _EVENTS,
        *_EVERYTHING,
        _of(CRDS, *READ),
        _of(NAMESPACES, *_WATCH),
        _of(CONFIG_MAPS, *_WRITE),
        _of(SECRETS, *_WRITE, "create", "delete"),
        *_reconciled(ClusterResourceSet),
        _of(ClusterResourceSetBinding, *_WRITE, "create", "delete"),
        _of(ClusterClass, *READ),
        _status_of(ClusterClass),
        *_reconciled(Cluster),
        _of(MachineDrainRule, *_WATCH),
        *_reconciled(Machine, "create", "delete"),
        *_reconciled(MachineSet, "create", "delete"),
        *_reconciled(MachineDeployment, "create", "delete"),
        *_reconciled(MachinePool, "create", "delete"),
        *_reconciled(MachineHealthCheck, "create", "delete"),
        *_reconciled(ExtensionConfig),
        _of(IPAddressClaim, "get"),
    ),
    "bootstrap-kubeadm": (
        _EVENTS,
        _of(CRDS, *_WATCH),
        _of(CONFIG_MAPS, *_WATCH, "create", "delete"),
        _of(SECRETS, *_WRITE, "create"),
        _of(Cluster, *_WATCH),
        _of(Machine, *_WATCH),
        _of(MachinePool, *_WATCH),
        *_reconciled(KubeadmConfig),
    ),
    "control-plane-kubeadm": (
        _EVENTS,
        *_EVERYTHING,
        _of(CRDS, *_WATCH),
        _of(NAMESPACES, *_WATCH),
        _of(SECRETS, *_WRITE, "create"),
        _of(ExtensionConfig, *_WATCH),
        _of(Cluster, *_WATCH),
        _of(MachinePool, *_WATCH),
        *_reconciled(Machine, "create", "delete"),
    ),
    "infrastructure-dev": (
        _EVENTS,
        _of(SECRETS, *_WATCH),
        _of(Cluster, *_WATCH),
        _of(MachinePool, *_WATCH),
        _of(Machine, *_WATCH, "patch", "delete"),
        *_reconciled(DevCluster),
        *_reconciled(DevMachine, "create", "delete"),
        *_reconciled(DevMachinePool),
        _of(CONFIG_MAPS, "get"),
        *_reconciled(DockerCluster),
        *_reconciled(DockerMachine, "create", "delete"),
        *_reconciled(DockerMachinePool),
        _of(DevMachineTemplate, *_WATCH),
        _status_of(DevMachineTemplate),
        _of(DockerMachineTemplate, *_WATCH),
        _status_of(DockerMachineTemplate),
    ),
}


def rights_of(name: str) -> Sequence[Right]:
    """The rules of a manager's controllers."""
    return (*_RIGHTS[name], *migration_rights(name))
