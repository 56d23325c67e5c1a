"""The desired Machine and KubeadmConfig of a control plane. Pure.

The documents are server-side apply intents: they contain only fields that this controller owns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kapy.api.embedded import ContractVersionedObjectReference as Reference
from kapy.api.kubeadm_config import KubeadmConfig, KubeadmConfigSpec
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.kubeadm_node import JoinControlPlane
from kapy.api.machine import Machine
from kapy.api.names import Annotation, ConditionType, Label
from kapy.api.naming import RANDOM, BadNameTemplate, generated_name
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.generated_names import suffix
from kapy.kube.label_values import label_value
from kapy.kube.meta import owner_reference
from kapy.kube.model import decode, encode
from kapy.kube.names import Resource
from kapy.kube.version import parse_tolerant

MANAGER: Final = "capi-kubeadmcontrolplane"
"""Upstream's field manager."""

KUBELET_LOCAL_MODE: Final = "ControlPlaneKubeletLocalMode"
_LOCAL_MODE_SINCE: Final = (1, 31)
_LOCAL_MODE_UNTIL: Final = (1, 36)  # always on from here, and the gate is gone
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
    """Whether etcd runs on the control plane's own Machines."""
    return kcp.spec.kubeadm_config_spec.cluster_configuration.etcd.external is None


def machine_labels(kcp: KubeadmControlPlane, cluster: str) -> dict[str, str]:
    """Labels of a Machine and of what belongs to it."""
    return {
        **kcp.spec.machine_template.metadata.labels,
        Label.CLUSTER_NAME: cluster,
        Label.CONTROL_PLANE: "",
        Label.CONTROL_PLANE_NAME: label_value(kcp.metadata.name),
    }


def machine_annotations(kcp: KubeadmControlPlane) -> dict[str, str]:
    """Annotations of a Machine and of what belongs to it."""
    return dict(kcp.spec.machine_template.metadata.annotations)


def belonging_metadata(
    kcp: KubeadmControlPlane, cluster: str, resource: Resource, name: str, uid: str = ""
) -> Document:
    """Labels and annotations of what belongs to a Machine: they change in place."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": name,
            "namespace": kcp.metadata.namespace,
            **_unless_empty("uid", uid),
            "labels": machine_labels(kcp, cluster),
            "annotations": machine_annotations(kcp),
        },
    }


def machine_name(kcp: KubeadmControlPlane, cluster: str, slot: Iterable[object]) -> str:
    """The name for a slot: the same for the same slot. Raises BadMachineName."""
    template = kcp.spec.machine_naming.template or _NAME_TEMPLATE
    if RANDOM not in template:
        raise BadMachineName(f"{_CANNOT_NAME}: {RANDOM} is missing in machineNaming.template")
    names = {"cluster": {"name": cluster}, "kubeadmControlPlane": {"name": kcp.metadata.name}}
    try:
        return generated_name(template, names, suffix(kcp.metadata.uid, *slot))
    except BadNameTemplate as error:
        raise BadMachineName(f"{_CANNOT_NAME}: {error}") from None


def new_machine(
    kcp: KubeadmControlPlane,
    cluster: str,
    name: str,
    failure_domain: str,
    *,
    infrastructure: Reference,
    bootstrap: Reference,
) -> Document:
    """The Machine of a slot."""
    annotations = {}
    if remediated := kcp.metadata.annotations.get(Annotation.REMEDIATION_IN_PROGRESS):
        annotations[Annotation.REMEDIATION_FOR] = remediated
    metadata = {"name": name, "namespace": kcp.metadata.namespace}
    spec = _spec(kcp, cluster, failure_domain, kcp.spec.version, infrastructure, bootstrap)
    return _machine(kcp, cluster, metadata, annotations, spec)


def kept_machine(kcp: KubeadmControlPlane, cluster: str, machine: Machine) -> Document:
    """A Machine that is there, with what may change in place brought up to date."""
    annotations = {}
    if remediated := machine.metadata.annotations.get(Annotation.REMEDIATION_FOR):
        annotations[Annotation.REMEDIATION_FOR] = remediated
    metadata = {
        "name": machine.metadata.name,
        "namespace": machine.metadata.namespace,
        "uid": machine.metadata.uid,
    }
    there = machine.spec
    spec = _spec(
        kcp,
        cluster,
        there.failure_domain,
        there.version,
        there.infrastructure_ref,
        there.bootstrap.config_ref,
    )
    return _machine(kcp, cluster, metadata, annotations, spec)


def renewed_machine(kcp: KubeadmControlPlane, cluster: str, machine: Machine) -> Document:
    """A Machine that is there as an update in place makes it."""
    wanted = kept_machine(kcp, cluster, machine)
    return {**wanted, "spec": {**wanted["spec"], "version": kcp.spec.version}}


def new_kubeadm_config(
    kcp: KubeadmControlPlane, cluster: str, name: str, *, join: bool
) -> Document:
    """The KubeadmConfig of a slot.

    Its owner is no controller: the Machine's controller will be.
    """
    return {
        "apiVersion": KubeadmConfig.RESOURCE.api_version,
        "kind": KubeadmConfig.RESOURCE.kind,
        "metadata": {
            "name": name,
            "namespace": kcp.metadata.namespace,
            "labels": machine_labels(kcp, cluster),
            **_unless_empty("annotations", machine_annotations(kcp)),
            "ownerReferences": [encode(owner_reference(kcp))],
        },
        # The schema of a KubeadmConfig refuses an empty spec.
        **_unless_empty("spec", encode(kubeadm_config_spec(kcp, join=join))),
    }


def kubeadm_config_spec(kcp: KubeadmControlPlane, *, join: bool) -> KubeadmConfigSpec:
    """The KubeadmConfig that a Machine made now would have.

    Only what is needed for `init` or `join` is kept; a joining machine keeps the
    clusterConfiguration, which says whether etcd is external.
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


def feature_gates(given: dict[str, bool], kubernetes_version: str) -> dict[str, bool]:
    """kubeadm's feature gates with our default: kubelets talk to their own API server only.

    From v1.31 on a kubelet may be newer than another machine's API server by too much.
    """
    version = parse_tolerant(kubernetes_version)
    if not _LOCAL_MODE_SINCE <= (version.major, version.minor) < _LOCAL_MODE_UNTIL:
        return given
    return {KUBELET_LOCAL_MODE: True, **given}


def _machine(
    kcp: KubeadmControlPlane,
    cluster: str,
    metadata: Document,
    annotations: dict[str, str],
    spec: Document,
) -> Document:
    owner = owner_reference(kcp, controller=True, block_deletion=True)
    return {
        "apiVersion": Machine.RESOURCE.api_version,
        "kind": Machine.RESOURCE.kind,
        "metadata": {
            **metadata,
            "labels": machine_labels(kcp, cluster),
            "annotations": {
                **machine_annotations(kcp),
                **annotations,
                # Lets us take the etcd member out just before the machine goes.
                Annotation.KCP_CLEANUP_HOOK: "",
            },
            "ownerReferences": [encode(owner)],
        },
        "spec": spec,
    }


def _spec(
    kcp: KubeadmControlPlane,
    cluster: str,
    failure_domain: str,
    version: str,
    infrastructure: Reference,
    bootstrap: Reference | None,
) -> Document:
    template = kcp.spec.machine_template.spec
    return {
        "clusterName": cluster,
        "version": version,
        "bootstrap": {} if bootstrap is None else {"configRef": encode(bootstrap)},
        "infrastructureRef": encode(infrastructure),
        "readinessGates": readiness_gates(kcp),
        **_unless_empty("failureDomain", failure_domain),
        **_unless_empty("deletion", encode(template.deletion)),
        **_unless_empty("taints", [encode(taint) for taint in template.taints]),
    }


def readiness_gates(kcp: KubeadmControlPlane) -> list[Document]:
    """The conditions that make a Machine ready: ours, then the user's."""
    ours = COMPONENT_GATES + (ETCD_GATES if is_etcd_managed(kcp) else ())
    gates: dict[str, Document] = {name: {"conditionType": name} for name in ours}
    for gate in kcp.spec.machine_template.spec.readiness_gates:
        gates.setdefault(gate.condition_type, encode(gate))
    return list(gates.values())


def _unless_empty(field: str, value: Any) -> Document:
    return {field: value} if value else {}
