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


def _right_of(kind: Resource | type[Object], *verbs: str) -> Right:
    resource = kind if isinstance(kind, Resource) else kind.RESOURCE
    return Right(resource.group, (resource.plural,), verbs)


def _reconciled_rights(kind: type[Object], *verbs: str) -> Iterator[Right]:
    """Yield the rights for objects of a kind that a controller reconciles. verbs: additional verbs,
    besides the usual ones.
    """
    yield _right_of(kind, *_WRITE, *verbs)
    yield _status_of(kind)


def _status_of(kind: type[Object]) -> Right:
    resource = kind.RESOURCE
    return Right(resource.group, (f"{resource.plural}/status",), ("patch",))


_EVENTS: Final = _right_of(EVENTS, "create", "patch")
_FULL_PROVIDER_RIGHTS: Final = tuple(Right(group, ("*",), FULL) for group in _PROVIDERS)
_RIGHTS: Final[Mapping[str, Sequence[Right]]] = {
    "core": (
        _EVENTS,
        *_FULL_PROVIDER_RIGHTS,
        _right_of(CRDS, *READ),
        _right_of(NAMESPACES, *_WATCH),
        _right_of(CONFIG_MAPS, *_WRITE),
        _right_of(SECRETS, *_WRITE, "create", "delete"),
        *_reconciled_rights(ClusterResourceSet),
        _right_of(ClusterResourceSetBinding, *_WRITE, "create", "delete"),
        _right_of(ClusterClass, *READ),
        _status_of(ClusterClass),
        *_reconciled_rights(Cluster),
        _right_of(MachineDrainRule, *_WATCH),
        *_reconciled_rights(Machine, "create", "delete"),
        *_reconciled_rights(MachineSet, "create", "delete"),
        *_reconciled_rights(MachineDeployment, "create", "delete"),
        *_reconciled_rights(MachinePool, "create", "delete"),
        *_reconciled_rights(MachineHealthCheck, "create", "delete"),
        *_reconciled_rights(ExtensionConfig),
        _right_of(IPAddressClaim, "get"),
    ),
    "bootstrap-kubeadm": (
        _EVENTS,
        _right_of(CRDS, *_WATCH),
        _right_of(CONFIG_MAPS, *_WATCH, "create", "delete"),
        _right_of(SECRETS, *_WRITE, "create"),
        _right_of(Cluster, *_WATCH),
        _right_of(Machine, *_WATCH),
        _right_of(MachinePool, *_WATCH),
        *_reconciled_rights(KubeadmConfig),
    ),
    "control-plane-kubeadm": (
        _EVENTS,
        *_FULL_PROVIDER_RIGHTS,
        _right_of(CRDS, *_WATCH),
        _right_of(NAMESPACES, *_WATCH),
        _right_of(SECRETS, *_WRITE, "create"),
        _right_of(ExtensionConfig, *_WATCH),
        _right_of(Cluster, *_WATCH),
        _right_of(MachinePool, *_WATCH),
        *_reconciled_rights(Machine, "create", "delete"),
    ),
    "infrastructure-dev": (
        _EVENTS,
        _right_of(SECRETS, *_WATCH, "patch"),
        _right_of(Cluster, *_WATCH),
        _right_of(MachinePool, *_WATCH),
        _right_of(Machine, *_WATCH, "patch", "delete"),
        *_reconciled_rights(DevCluster),
        *_reconciled_rights(DevMachine, "create", "delete"),
        *_reconciled_rights(DevMachinePool),
        _right_of(CONFIG_MAPS, "get"),
        *_reconciled_rights(DockerCluster),
        *_reconciled_rights(DockerMachine, "create", "delete"),
        *_reconciled_rights(DockerMachinePool),
        _right_of(DevMachineTemplate, *_WATCH),
        _status_of(DevMachineTemplate),
        _right_of(DockerMachineTemplate, *_WATCH),
        _status_of(DockerMachineTemplate),
    ),
}


def rights_of(name: str) -> Sequence[Right]:
    """Return the rules of a manager's controllers."""
    return (*_RIGHTS[name], *migration_rights(name))
