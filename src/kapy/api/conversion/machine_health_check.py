"""MachineHealthCheck in v1beta1 (upstream's core/webhooks/conversion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.health_check import checks_from_hub, checks_to_hub
from kapy.api.conversion.moves import (
    int_to_pointer,
    put,
    status_from_hub,
    status_to_hub,
    value_at,
)
from kapy.api.conversion.spoke import ReferenceVersion, Spoke
from kapy.kube import Document

_COUNTERS: Final = ("expectedMachines", "currentHealthy", "remediationsAllowed")


def _to_hub(check: Document, remembered: Document | None) -> None:
    spec = check["spec"]
    checks_to_hub(spec, spec)
    status = check["status"]
    for name in _COUNTERS:
        before = value_at(remembered, "status", name)
        put(status, name, int_to_pointer(status.get(name), before))
    status_to_hub(status, ())


def _from_hub(check: Document, _: ReferenceVersion) -> None:
    spec = check.get("spec", {})
    checks_from_hub(spec, spec, check["metadata"].get("namespace", ""))
    status_from_hub(check.get("status", {}), ())


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("MachineHealthCheck", "v1beta1"): Spoke(_to_hub, _from_hub)
}
