"""The desired Machine and KubeadmConfig of a control plane. Pure.

The documents are server-side apply intents: they contain only fields that this controller owns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.api.kubeadm_config import KubeadmConfig, KubeadmConfigSpec
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.kubeadm_node import JoinControlPlane
from kapy.api.machine import Machine
from kapy.api.names import Annotation, ConditionType
from kapy.api.naming import RANDOM, BadNameTemplate, generate_name
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.generated_names import suffix
from kapy.kube.model import decode, encode
from kapy.kube.version import parse_tolerant
from kapy.sdk.machine_control_plane import DesiredMachines

MANAGER: Final = "capi-kubeadmcontrolplane"
"""Upstream's field manager."""

KUBELET_LOCAL_MODE: Final = "ControlPlaneKubeletLocalMode"
_LOCAL_MODE_SINCE: Final = (1, 31)
_LOCAL_MODE_UNTIL: Final = (1, 36)  # always on from this version; the gate was removed
_CANNOT_NAME: Final = "failed to compute desired Machine: cannot generate Machine name"
_NAME_TEMPLATE: Final = "{{ .kubeadmControlPlane.name }}-{{ .random }}"

COMPONENT_GATES: Final = (
    ConditionType.NODE_KUBEADM_LABELS_AND_TAINTS_SET,
    ConditionType.API_SERVER_POD_HEALTHY,
    ConditionType.CONTROLLER_MANAGER_POD_HEALTHY,
    ConditionType.SCHEDULER_POD_HEALTHY,
)
ETCD_GATES: Final = (ConditionType.ETCD_POD_HEALTHY, ConditionType.ETCD_MEMBER_HEALTHY)


class BadMachineName(KapyError):
    """`spec.machineNaming.template` does not produce unique names."""


def is_etcd_managed(kcp: KubeadmControlPlane) -> bool:
    """Return whether etcd runs on the control plane's own Machines."""
    return kcp.spec.kubeadm_config_spec.cluster_configuration.etcd.external is None


def machine_name(kcp: KubeadmControlPlane, cluster: str, slot: Iterable[object]) -> str:
    """Return the Machine name for a slot: always the same for a slot. Raises BadMachineName."""
    template = kcp.spec.machine_naming.template or _NAME_TEMPLATE
    if RANDOM not in template:
        raise BadMachineName(f"{_CANNOT_NAME}: {RANDOM} is missing in machineNaming.template")
    names = {"cluster": {"name": cluster}, "kubeadmControlPlane": {"name": kcp.metadata.name}}
    try:
        return generate_name(template, names, suffix(kcp.metadata.uid, *slot))
    except BadNameTemplate as error:
        raise BadMachineName(f"{_CANNOT_NAME}: {error}") from None


def desired_machines(kcp: KubeadmControlPlane, cluster: str) -> DesiredMachines:
    """Return the desired Machines. Their pre-terminate hook delays the shutdown until the etcd
    member was removed."""
    template, hook = kcp.spec.machine_template, Annotation.KCP_CLEANUP_HOOK
    return DesiredMachines(kcp, template, cluster, hook, readiness_gates(kcp))


def updated_machine(kcp: KubeadmControlPlane, cluster: str, machine: Machine) -> Document:
    """Return an existing Machine with its mutable fields updated."""
    annotations = {Annotation.KCP_CLEANUP_HOOK: ""}
    if remediated := machine.metadata.annotations.get(Annotation.REMEDIATION_FOR):
        annotations[Annotation.REMEDIATION_FOR] = remediated
    return desired_machines(kcp, cluster).updated_machine(machine, annotations)


def renewed_machine(kcp: KubeadmControlPlane, cluster: str, machine: Machine) -> Document:
    """Return an existing Machine as an in-place update changes it."""
    wanted = updated_machine(kcp, cluster, machine)
    return {**wanted, "spec": {**wanted["spec"], "version": kcp.spec.version}}


def new_kubeadm_config(
    kcp: KubeadmControlPlane, cluster: str, name: str, *, join: bool
) -> Document:
    """Return the KubeadmConfig of a new Machine."""
    resource, spec = KubeadmConfig.RESOURCE, encode(kubeadm_config_spec(kcp, join=join))
    wanted = {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}
    config = desired_machines(kcp, cluster).config(name, wanted)
    metadata = {
        key: value for key, value in config["metadata"].items() if value or key != "annotations"
    }
    # The schema of a KubeadmConfig refuses an empty spec.
    named = {key: value for key, value in config.items() if value or key != "spec"}
    return {**named, "metadata": metadata}


def kubeadm_config_spec(kcp: KubeadmControlPlane, *, join: bool) -> KubeadmConfigSpec:
    """Return the spec of the KubeadmConfig of a new Machine. It contains the configuration for
    either `init` or `join`. A joining machine keeps the clusterConfiguration, which says whether
    etcd is external.
    """
    fresh = KubeadmConfigSpec()
    spec = decode(encode(kcp.spec.kubeadm_config_spec), KubeadmConfigSpec)
    if join:
        spec.init_configuration = fresh.init_configuration
        if spec.join_configuration.control_plane is None:
            # Marks the KubeadmConfig as one of a joining control plane machine.
            spec.join_configuration.control_plane = JoinControlPlane()
    else:
        spec.join_configuration = fresh.join_configuration
    spec.cluster_configuration.feature_gates = feature_gates(
        spec.cluster_configuration.feature_gates, kcp.spec.version
    )
    return spec


def feature_gates(gates: dict[str, bool], kubernetes_version: str) -> dict[str, bool]:
    """Return kubeadm's feature gates with our default: each kubelet uses its machine's API server.

    Otherwise, from v1.31 on, a kubelet could use the API server of a machine that is not upgraded
    yet, which violates the version skew policy.
    """
    version = parse_tolerant(kubernetes_version)
    if not _LOCAL_MODE_SINCE <= (version.major, version.minor) < _LOCAL_MODE_UNTIL:
        return gates
    return {KUBELET_LOCAL_MODE: True, **gates}


def readiness_gates(kcp: KubeadmControlPlane) -> list[Document]:
    """Return the conditions that make a Machine ready: kapy's, then the user's."""
    ours = COMPONENT_GATES + (ETCD_GATES if is_etcd_managed(kcp) else ())
    gates: dict[str, Document] = {name: {"conditionType": name} for name in ours}
    for gate in kcp.spec.machine_template.spec.readiness_gates:
        gates.setdefault(gate.condition_type, encode(gate))
    return list(gates.values())
