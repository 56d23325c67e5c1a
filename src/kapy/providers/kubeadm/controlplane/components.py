"""The conditions of static Pods and Node of each control plane Machine. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kapy.api.condition import Condition
from kapy.api.kubeadm_node import NodeRegistrationOptions
from kapy.api.machine import Machine
from kapy.api.names import ConditionType as T
from kapy.api.names import Reason
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.kube import Document
from kapy.providers.kubeadm.controlplane.machine_conditions import (
    Summary,
    SummaryV1Beta1,
    pod_v1beta1,
    summarize,
    summarize_v1beta1,
)
from kapy.providers.kubeadm.controlplane.scope import ControlPlane, has_node, node_name
from kapy.sdk import conditions

ROLE_LABEL: Final = "node-role.kubernetes.io/control-plane"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"

COMPONENTS: Final = {
    "kube-apiserver": T.API_SERVER_POD_HEALTHY,
    "kube-controller-manager": T.CONTROLLER_MANAGER_POD_HEALTHY,
    "kube-scheduler": T.SCHEDULER_POD_HEALTHY,
}
ETCD: Final = {"etcd": T.ETCD_POD_HEALTHY}


def components_of(plane: ControlPlane) -> dict[str, str]:
    """Return the static Pods of a control plane Machine, and the condition of each."""
    return {**COMPONENTS, **ETCD} if plane.is_etcd_managed else COMPONENTS


def observe_components(
    plane: ControlPlane, nodes: Mapping[str, Document], pods: Mapping[str, Document]
) -> None:
    """Write the conditions of all Machines, and their summary on the control plane.

    nodes: control plane nodes and those of the Machines, by name. pods: the static Pods in
    kube-system, by name.
    """
    plane.nodes = {}
    for machine in plane.machines:
        node = nodes.get(node_name(machine)) if has_node(machine) else None
        if node is not None:
            plane.nodes[node_name(machine)] = node
        _observe(plane, machine, node, pods)
        _observe_v1beta1(plane, machine, node)
    errors = []
    if all(map(has_node, plane.machines)):
        ours = {node_name(machine) for machine in plane.machines}
        errors = [
            f"Control plane Node {name} does not have a corresponding Machine"
            for name, node in sorted(nodes.items())
            if name not in ours and ROLE_LABEL in (node["metadata"].get("labels") or {})
        ]
    types = tuple(components_of(plane).values())
    target = T.CONTROL_PLANE_COMPONENTS_HEALTHY
    plane.set(summarize(plane.machines, Summary(target, types, "control plane"), errors))
    legacy = SummaryV1Beta1(
        V1Beta1Type.CONTROL_PLANE_COMPONENTS_HEALTHY,
        types,
        "control plane",
        unhealthy=V1Beta1Reason.CONTROL_PLANE_COMPONENTS_UNHEALTHY,
        unknown=V1Beta1Reason.CONTROL_PLANE_COMPONENTS_UNKNOWN,
    )
    plane.set_v1beta1(summarize_v1beta1(plane.machines, legacy, errors))


def waiting_for_node(machine: Machine) -> str:
    """Return the condition of a component while the Machine has no Node."""
    if machine.spec.provider_id:
        return f"Waiting for a Node with spec.providerID {machine.spec.provider_id} to exist"
    return f"Waiting for {machine.spec.infrastructure_ref.kind} to report spec.providerID"


def _observe(
    plane: ControlPlane, machine: Machine, node: Document | None, pods: Mapping[str, Document]
) -> None:
    types = components_of(plane)
    if machine.deleting:
        result = "Machine is deleting"
        plane.set_on(
            machine,
            _node_condition(plane, machine, node)
            if node is not None
            else conditions.false(T.NODE_KUBEADM_LABELS_AND_TAINTS_SET, Reason.DELETING, result),
        )
        for type_ in types.values():
            plane.set_on(machine, conditions.false(type_, Reason.DELETING, result))
        return
    why = _unknown_reason(machine, node)
    if why:
        plane.set_on(machine, _node_unknown(Reason.INSPECTION_FAILED, why))
        for type_ in types.values():
            plane.set_on(machine, conditions.unknown(type_, Reason.INSPECTION_FAILED, why))
        return
    assert node is not None
    for component, type_ in types.items():
        pod = pods.get(f"{component}-{node_name(machine)}")
        plane.set_on(machine, _pod_condition(type_, node, pod))
    plane.set_on(machine, _node_condition(plane, machine, node))


def _observe_v1beta1(plane: ControlPlane, machine: Machine, node: Document | None) -> None:
    for component, type_ in components_of(plane).items():
        condition = conditions.get(machine.status.conditions, type_)
        if condition is not None:
            plane.set_v1beta1_on(machine, pod_v1beta1(machine, node, component, condition))


def _unknown_reason(machine: Machine, node: Document | None) -> str:
    """Return the reason for which the state of the Machine's components is unknown; "" if it is
    known.
    """
    if not has_node(machine):
        return waiting_for_node(machine)
    if node is None:
        return f"Node {node_name(machine)} does not exist"
    taints = (node.get("spec") or {}).get("taints") or ()
    if any(taint["key"] == _UNREACHABLE and taint["effect"] == "NoExecute" for taint in taints):
        return f"Node {node_name(machine)} is unreachable"
    return ""


def _node_unknown(reason: str, message: str) -> Condition:
    return conditions.unknown(T.NODE_KUBEADM_LABELS_AND_TAINTS_SET, reason, message)


def _node_condition(plane: ControlPlane, machine: Machine, node: Document) -> Condition:
    missing = []
    if ROLE_LABEL not in (node["metadata"].get("labels") or {}):
        missing.append(f"the {ROLE_LABEL} label")
    if _should_be_tainted(plane, machine) and not _is_tainted(node):
        missing.append(f"the {ROLE_LABEL}:NoSchedule taint")
    type_ = T.NODE_KUBEADM_LABELS_AND_TAINTS_SET
    if not missing:
        return conditions.true(type_, Reason.SET)
    message = f"Node {node_name(machine)} does not have {' and '.join(missing)}"
    return conditions.false(type_, Reason.NOT_SET, message)


def _is_tainted(node: Document) -> bool:
    taints = (node.get("spec") or {}).get("taints") or ()
    return any(taint["key"] == ROLE_LABEL and taint["effect"] == "NoSchedule" for taint in taints)


def _should_be_tainted(plane: ControlPlane, machine: Machine) -> bool:
    """Return whether the node should have the control plane taint: kubeadm's default, unless other
    taints are set.
    """
    if any(
        taint.key == ROLE_LABEL and taint.effect == "NoSchedule" for taint in machine.spec.taints
    ):
        return True
    config = plane.configs.get(machine.metadata.name)
    if config is None:
        return False
    registration: NodeRegistrationOptions = (
        config.spec.join_configuration.node_registration
        if config.spec.join_configuration.control_plane is not None
        else config.spec.init_configuration.node_registration
    )
    if registration.taints is None:
        return True
    return any(
        taint.key == ROLE_LABEL and taint.effect == "NoSchedule" for taint in registration.taints
    )


def _pod_condition(type_: str, node: Document, pod: Document | None) -> Condition:
    if _condition_of(node, "Ready") == "Unknown":
        # The kubelet does not report, so its mirror pods may be stale.
        result = "Node Ready condition is Unknown, Pod data might be stale"
        return conditions.unknown(type_, Reason.INSPECTION_FAILED, result)
    if pod is None:
        return conditions.false(type_, Reason.DOES_NOT_EXIST, "Pod does not exist")
    match (pod.get("status") or {}).get("phase"):
        case "Pending":
            return conditions.false(type_, Reason.PROVISIONING, _pending_condition(pod))
        case "Running":
            return _running_condition(type_, pod)
        case "Succeeded" | "Failed":
            result = "All the containers have been terminated"
            return conditions.false(type_, Reason.FAILED, result)
        case _:
            result = "Pod is reporting Unknown status"
            return conditions.unknown(type_, Reason.INSPECTION_FAILED, result)


def _pending_condition(pod: Document) -> str:
    if _condition_of(pod, "PodScheduled") != "True":
        return "Waiting to be scheduled"
    if _condition_of(pod, "Initialized") != "True":
        return "Running init containers"
    return ""


def _running_condition(type_: str, pod: Document) -> Condition:
    """Return the condition of a component from its Pod. A container that ended with an error is
    waiting for its restart, so its last state counts, too."""
    if _condition_of(pod, "Ready") == "True":
        return conditions.true(type_, Reason.RUNNING)
    containers: list[dict[str, Any]] = pod["status"].get("containerStatuses") or []
    states = [container.get("state") or {} for container in containers]
    waiting = [state["waiting"].get("reason", "") for state in states if state.get("waiting")]
    if waiting:
        crashed = any(
            ((container.get("lastState") or {}).get("terminated") or {}).get("exitCode")
            for container in containers
        )
        reason = Reason.FAILED if crashed else Reason.PROVISIONING
        return conditions.false(type_, reason, ", ".join(waiting))
    ended = [state["terminated"].get("reason", "") for state in states if state.get("terminated")]
    if ended:
        return conditions.false(type_, Reason.FAILED, ", ".join(ended))
    result = "Waiting for startup or readiness probes"
    return conditions.false(type_, Reason.PROVISIONING, result)


def _condition_of(document: Document, type_: str) -> str:
    """Return the status of a Node's or Pod's condition, "" when it is not reported."""
    for condition in (document.get("status") or {}).get("conditions") or ():
        if condition["type"] == type_:
            return str(condition["status"])
    return ""
