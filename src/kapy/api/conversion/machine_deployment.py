"""MachineDeployment in v1beta1 (upstream's core/webhooks/conversion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.machine import template_from_hub, template_to_hub
from kapy.api.conversion.machine_set import naming_from_hub, naming_to_hub
from kapy.api.conversion.moves import (
    COUNTERS,
    bool_to_pointer,
    put,
    status_from_hub,
    status_to_hub,
    value_at,
)
from kapy.api.conversion.spoke import ReferenceVersion, Spoke
from kapy.api.conversion.worker_rollout import strategy_from_hub, strategy_to_hub
from kapy.kube import Document

_DEPRECATED: Final = (
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
)


def _to_hub(deployment: Document, remembered: Document | None) -> None:
    spec = deployment["spec"]
    template_to_hub(spec)
    naming_to_hub(spec)
    strategy_to_hub(spec)
    spec["remediation"] = value_at(spec, "healthCheck", "remediation") or {}
    put(spec.setdefault("rollout", {}), "after", spec.pop("rolloutAfter", None))
    before = value_at(remembered, "spec", "paused")
    put(spec, "paused", bool_to_pointer(spec.pop("paused", False), before))
    status_to_hub(deployment["status"], _DEPRECATED, always=True)


def _from_hub(deployment: Document, version: ReferenceVersion) -> None:
    spec = deployment.get("spec", {})
    template_from_hub(spec, deployment["metadata"].get("namespace", ""), version)
    naming_from_hub(spec)
    put(spec, "rolloutAfter", value_at(spec, "rollout", "after"))
    spec["healthCheck"] = {"remediation": spec.get("remediation", {})}
    strategy_from_hub(spec)
    status_from_hub(deployment.get("status", {}), _DEPRECATED, COUNTERS)


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("MachineDeployment", "v1beta1"): Spoke(_to_hub, _from_hub)
}
