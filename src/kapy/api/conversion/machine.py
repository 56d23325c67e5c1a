"""Machine in v1beta1 (upstream's core/webhooks/conversion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.moves import (
    DELETION_TIMEOUTS,
    contract_reference,
    initialization_from_hub,
    initialization_to_hub,
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

INITIALIZATION: Final = {
    "bootstrapReady": "bootstrapDataSecretCreated",
    "infrastructureReady": "infrastructureProvisioned",
}
_FAILURE: Final = ("failureReason", "failureMessage")


def spec_to_hub(spec: Document, path: str) -> None:
    """A Machine's spec, also of a template."""
    timeouts_to_seconds(spec, spec.setdefault("deletion", {}), DELETION_TIMEOUTS)
    spec["infrastructureRef"] = contract_reference(
        spec["infrastructureRef"], f"{path}.infrastructureRef"
    )
    if reference := spec["bootstrap"].get("configRef"):
        spec["bootstrap"]["configRef"] = contract_reference(
            reference, f"{path}.bootstrap.configRef"
        )


def spec_from_hub(spec: Document, namespace: str, version: ReferenceVersion, path: str) -> None:
    """The way back of `spec_to_hub`."""
    timeouts_from_seconds(spec.pop("deletion", {}), spec, DELETION_TIMEOUTS)
    if reference := spec.get("infrastructureRef"):
        spec["infrastructureRef"] = object_reference(
            reference, namespace, version, f"{path}.infrastructureRef"
        )
    if reference := value_at(spec, "bootstrap", "configRef"):
        spec["bootstrap"]["configRef"] = object_reference(
            reference, namespace, version, f"{path}.bootstrap.configRef"
        )


def template_to_hub(spec: Document) -> None:
    """The template of a kind that makes Machines, and `minReadySeconds`, which moved there."""
    template = spec["template"]["spec"]
    put(template, "minReadySeconds", spec.pop("minReadySeconds", None))
    spec_to_hub(template, "spec.template.spec")


def template_from_hub(spec: Document, namespace: str, version: ReferenceVersion) -> None:
    """The way back of `template_to_hub`."""
    if template := value_at(spec, "template", "spec"):
        put(spec, "minReadySeconds", template.pop("minReadySeconds", None))
        spec_from_hub(template, namespace, version, "spec.template.spec")


def _to_hub(machine: Document, remembered: Document | None) -> None:
    spec_to_hub(machine["spec"], "spec")
    status = machine["status"]
    if status.get("nodeRef"):
        status["nodeRef"] = {"name": status["nodeRef"].get("name", "")}
    status_to_hub(status, _FAILURE)
    initialization_to_hub(status, remembered, INITIALIZATION)
    if remembered is not None:
        # v1beta1 has no place for these.
        put(machine["spec"], "minReadySeconds", value_at(remembered, "spec", "minReadySeconds"))
        for name in ("phase", "failureDomain"):
            put(status, name, value_at(remembered, "status", name))


def _from_hub(machine: Document, version: ReferenceVersion) -> None:
    namespace = machine["metadata"].get("namespace", "")
    spec_from_hub(machine.get("spec", {}), namespace, version, "spec")
    status = machine.get("status", {})
    if status.get("phase") == "Updating":
        status["phase"] = "Running"  # v1beta1 knows no other word for it
    if name := value_at(status, "nodeRef", "name"):
        status["nodeRef"] = {"kind": "Node", "name": name, "apiVersion": "v1"}
    initialization_from_hub(status, INITIALIZATION)
    status_from_hub(status, _FAILURE)


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {("Machine", "v1beta1"): Spoke(_to_hub, _from_hub)}
