"""MachineSet in v1beta1 (upstream's core/webhooks/conversion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.machine import template_from_hub, template_to_hub
from kapy.api.conversion.moves import COUNTERS, put, status_from_hub, status_to_hub, value_at
from kapy.api.conversion.spoke import ReferenceVersion, Spoke
from kapy.kube import Document

_DEPRECATED: Final = (
    "failureReason",
    "failureMessage",
    "fullyLabeledReplicas",
    "readyReplicas",
    "availableReplicas",
)


def naming_to_hub(spec: Document) -> None:
    """How Machines are named; also of MachineDeployments."""
    put(spec, "machineNaming", spec.pop("machineNamingStrategy", None))


def naming_from_hub(spec: Document) -> None:
    """The way back of `naming_to_hub`."""
    put(spec, "machineNamingStrategy", spec.pop("machineNaming", None))


def _to_hub(machine_set: Document, _: Document | None) -> None:
    spec = machine_set["spec"]
    template_to_hub(spec)
    naming_to_hub(spec)
    if order := spec.pop("deletePolicy", ""):
        spec["deletion"] = {"order": order}
    status_to_hub(machine_set["status"], _DEPRECATED, always=True)


def _from_hub(machine_set: Document, version: ReferenceVersion) -> None:
    spec = machine_set.get("spec", {})
    template_from_hub(spec, machine_set["metadata"].get("namespace", ""), version)
    naming_from_hub(spec)
    put(spec, "deletePolicy", value_at(spec, "deletion", "order"))
    status_from_hub(machine_set.get("status", {}), _DEPRECATED, COUNTERS)


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("MachineSet", "v1beta1"): Spoke(_to_hub, _from_hub, remembers=False)
}
