"""KubeadmControlPlane(Template) in v1beta1 (controlplane/kubeadm/webhooks/conversion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.kubeadm import config_spec_from_hub, config_spec_to_hub
from kapy.api.conversion.moves import (
    COUNTERS,
    DELETION_TIMEOUTS,
    contract_reference,
    initialization_from_hub,
    initialization_to_hub,
    int_to_pointer,
    object_reference,
    put,
    status_from_hub,
    status_to_hub,
    timeouts_from_seconds,
    timeouts_to_seconds,
    value_at,
)
from kapy.api.conversion.spoke import ReferenceVersion, Spoke
from kapy.kube import Document

_DEPRECATED: Final = (
    "failureReason",
    "failureMessage",
    "updatedReplicas",
    "readyReplicas",
    "unavailableReplicas",
)
_INITIALIZATION: Final = {"initialized": "controlPlaneInitialized"}
_ROLLOUT: Final = {
    "rolloutBefore": "before",
    "rolloutAfter": "after",
    "rolloutStrategy": "strategy",
}
_PERIODS: Final = {
    "retryPeriod": "retryPeriodSeconds",
    "minHealthyPeriod": "minHealthyPeriodSeconds",
}
_REFERENCE: Final = "spec.machineTemplate.infrastructureRef"


def _to_hub(kcp: Document, remembered: Document | None) -> None:
    spec, status = kcp["spec"], kcp["status"]
    machines = spec["machineTemplate"]
    reference = contract_reference(machines.pop("infrastructureRef"), _REFERENCE)
    _machines_to_hub(machines)
    machines["spec"] |= {
        "infrastructureRef": reference,
        "readinessGates": machines.pop("readinessGates", []),
    }
    _common_to_hub(spec, value_at(remembered, "spec") or {})
    status_to_hub(status, _DEPRECATED, always=True)
    initialization_to_hub(status, remembered, _INITIALIZATION)
    if last := status.get("lastRemediation"):
        last["time"] = last.pop("timestamp")


def _from_hub(kcp: Document, version: ReferenceVersion) -> None:
    spec, status = kcp.get("spec", {}), kcp.get("status", {})
    machines = spec.setdefault("machineTemplate", {})
    inner = machines.get("spec", {})
    if reference := inner.pop("infrastructureRef", None):
        namespace = kcp["metadata"].get("namespace", "")
        machines["infrastructureRef"] = object_reference(reference, namespace, version, _REFERENCE)
    put(machines, "readinessGates", inner.pop("readinessGates", None))
    _machines_from_hub(machines)
    _common_from_hub(spec)
    initialization_from_hub(status, _INITIALIZATION)
    status_from_hub(status, _DEPRECATED, COUNTERS)
    status["ready"] = status.get("readyReplicas", 0) > 0
    if last := status.get("lastRemediation"):
        put(last, "timestamp", last.pop("time", None))


def _template_to_hub(template: Document, remembered: Document | None) -> None:
    spec = template["spec"]["template"]["spec"]
    if machines := spec.get("machineTemplate"):
        _machines_to_hub(machines)
    before = value_at(remembered, "spec", "template", "spec") or {}
    _common_to_hub(spec, before)
    if (strategy := spec["rollout"].get("strategy")) is not None:
        # There was never another one, and templates of old leave it out.
        strategy["type"] = strategy.get("type") or "RollingUpdate"


def _template_from_hub(template: Document, _: ReferenceVersion) -> None:
    inner = template.setdefault("spec", {}).setdefault("template", {})
    spec = inner.setdefault("spec", {})
    _machines_from_hub(spec.setdefault("machineTemplate", {}))
    _common_from_hub(spec)


def _machines_to_hub(machines: Document) -> None:
    deletion: Document = {}
    timeouts_to_seconds(machines, deletion, DELETION_TIMEOUTS)
    machines["spec"] = {"deletion": deletion, "taints": machines.pop("taints", [])}


def _machines_from_hub(machines: Document) -> None:
    spec = machines.pop("spec", {})
    timeouts_from_seconds(spec.get("deletion", {}), machines, DELETION_TIMEOUTS)
    put(machines, "taints", spec.get("taints"))


def _common_to_hub(spec: Document, remembered: Document) -> None:
    """What a control plane and its template have in common."""
    config = remembered.get("kubeadmConfigSpec") or {}
    config_spec_to_hub(spec["kubeadmConfigSpec"], config)
    rollout: Document = {}
    for old, new in _ROLLOUT.items():
        put(rollout, new, spec.pop(old, None))
    spec["rollout"] = rollout
    if remediation := spec.pop("remediationStrategy", None):
        before = value_at(remembered, "remediation", "retryPeriodSeconds")
        spec["remediation"] = _remediation_to_hub(remediation, before)
    put(spec, "machineNaming", spec.pop("machineNamingStrategy", None))


def _common_from_hub(spec: Document) -> None:
    config_spec_from_hub(spec.get("kubeadmConfigSpec", {}))
    rollout = spec.pop("rollout", {})
    for old, new in _ROLLOUT.items():
        put(spec, old, rollout.get(new))
    if remediation := spec.pop("remediation", None):
        spec["remediationStrategy"] = _remediation_from_hub(remediation)
    put(spec, "machineNamingStrategy", spec.pop("machineNaming", None))


def _remediation_to_hub(strategy: Document, remembered: int | None) -> Document:
    remediation: Document = {}
    put(remediation, "maxRetry", strategy.get("maxRetry"))
    if strategy["retryPeriod"] == "0s":
        strategy.pop("retryPeriod")
        put(remediation, "retryPeriodSeconds", int_to_pointer(0, remembered))
    timeouts_to_seconds(strategy, remediation, _PERIODS)
    return remediation


def _remediation_from_hub(remediation: Document) -> Document:
    strategy: Document = {}
    put(strategy, "maxRetry", remediation.get("maxRetry"))
    timeouts_from_seconds(remediation, strategy, _PERIODS)
    return strategy


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("KubeadmControlPlane", "v1beta1"): Spoke(_to_hub, _from_hub),
    ("KubeadmControlPlaneTemplate", "v1beta1"): Spoke(_template_to_hub, _template_from_hub),
}
