"""Validates objects of our kinds and their changes (upstream's validating webhooks).

The functions are pure: they get an object and its previous state. Checks that read other objects
are in `kapy.core`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kapy.api.absent import read_with_zeros
from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.api.dev_cluster import DevCluster, DevClusterTemplate
from kapy.api.dev_machine import DevMachine, DevMachineTemplate
from kapy.api.docker_cluster import DockerCluster, DockerClusterTemplate
from kapy.api.docker_machine import DockerMachine, DockerMachineTemplate
from kapy.api.extension_config import ExtensionConfig
from kapy.api.features import DEFAULT_GATES, FeatureGates
from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.api.kubeadm_config import KubeadmConfig, KubeadmConfigTemplate
from kapy.api.kubeadm_control_plane import KubeadmControlPlane, KubeadmControlPlaneTemplate
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_drain_rule import MachineDrainRule
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.machine_pool import MachinePool
from kapy.api.machine_set import MachineSet
from kapy.api.names import Annotation
from kapy.api.validation.addons import (
    cluster_resource_set_binding_errors,
    cluster_resource_set_errors,
)
from kapy.api.validation.cluster import cluster_errors
from kapy.api.validation.cluster_class import cluster_class_errors
from kapy.api.validation.extension_config import extension_config_errors
from kapy.api.validation.immutable import immutability_errors
from kapy.api.validation.infrastructure import (
    dev_cluster_errors,
    dev_cluster_template_errors,
    dev_machine_errors,
    dev_machine_template_errors,
    docker_cluster_errors,
    docker_cluster_template_errors,
    docker_machine_errors,
    docker_machine_template_errors,
)
from kapy.api.validation.ip_address import ip_address_claim_errors, ip_address_errors
from kapy.api.validation.kubeadm_config import kubeadm_config_errors, kubeadm_config_template_errors
from kapy.api.validation.kubeadm_control_plane import (
    control_plane_errors,
    control_plane_template_errors,
)
from kapy.api.validation.machine_drain_rule import machine_drain_rule_errors
from kapy.api.validation.machine_health_check import machine_health_check_errors
from kapy.api.validation.machines import (
    machine_deployment_errors,
    machine_errors,
    machine_pool_errors,
    machine_set_errors,
)
from kapy.kube import Document
from kapy.kube.field_errors import FieldError
from kapy.kube.meta import Object


class _Rule(NamedTuple):
    """Describes how a kind is validated.

    immutable: the error of an immutable template calls the object to create instead by this name.
    may_ask: the topology controller may change an immutable template in a dry run.
    """

    kind: type[Object]
    errors: Callable[[Any, Any, FeatureGates], list[FieldError]]
    immutable: str = ""
    may_ask: bool = False


_RULES: Final[Mapping[tuple[str, str], _Rule]] = {
    (rule.kind.RESOURCE.group, rule.kind.RESOURCE.kind): rule
    for rule in (
        _Rule(Cluster, cluster_errors),
        _Rule(ClusterClass, cluster_class_errors),
        _Rule(Machine, machine_errors),
        _Rule(MachineSet, machine_set_errors),
        _Rule(MachineDeployment, machine_deployment_errors),
        _Rule(MachinePool, machine_pool_errors),
        _Rule(MachineHealthCheck, machine_health_check_errors),
        _Rule(MachineDrainRule, machine_drain_rule_errors),
        _Rule(ClusterResourceSet, cluster_resource_set_errors),
        _Rule(ClusterResourceSetBinding, cluster_resource_set_binding_errors),
        _Rule(IPAddress, ip_address_errors),
        _Rule(IPAddressClaim, ip_address_claim_errors),
        _Rule(ExtensionConfig, extension_config_errors),
        _Rule(KubeadmConfig, kubeadm_config_errors),
        _Rule(KubeadmConfigTemplate, kubeadm_config_template_errors),
        _Rule(KubeadmControlPlane, control_plane_errors),
        _Rule(KubeadmControlPlaneTemplate, control_plane_template_errors, "new resource"),
        _Rule(DevCluster, dev_cluster_errors),
        _Rule(DevClusterTemplate, dev_cluster_template_errors, "a new resource"),
        _Rule(DevMachine, dev_machine_errors),
        _Rule(DevMachineTemplate, dev_machine_template_errors, "a new resource", may_ask=True),
        _Rule(DockerCluster, docker_cluster_errors),
        _Rule(DockerClusterTemplate, docker_cluster_template_errors, "a new resource"),
        _Rule(DockerMachine, docker_machine_errors),
        _Rule(
            DockerMachineTemplate, docker_machine_template_errors, "a new resource", may_ask=True
        ),
    )
}


def validate(
    new: Document,
    old: Document | None = None,
    *,
    gates: FeatureGates = DEFAULT_GATES,
    dry_run: bool = False,
) -> list[FieldError]:
    """Return the errors of `new`, which has passed its schema; none for other kinds.

    old: the stored object, on an update. Raises msgspec.ValidationError for values that no schema
    allows.
    """
    group = str(new.get("apiVersion", "")).partition("/")[0]
    rule = _RULES.get((group, new.get("kind", "")))
    if rule is None:
        return []
    errors = []
    asks = rule.may_ask and dry_run and _is_of_topology(new)
    if rule.immutable and old is not None and not asks:
        errors += immutability_errors(new, old, rule.kind, rule.immutable)
    before = read_with_zeros(old, rule.kind) if old is not None else None
    return errors + rule.errors(read_with_zeros(new, rule.kind), before, gates)


def _is_of_topology(document: Document) -> bool:
    return Annotation.TOPOLOGY_DRY_RUN in (document["metadata"].get("annotations") or {})
