"""MachinePool in v1beta1 (upstream's core/webhooks/conversion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.machine import INITIALIZATION, template_from_hub, template_to_hub
from kapy.api.conversion.moves import (
    COUNTERS,
    initialization_from_hub,
    initialization_to_hub,
    status_from_hub,
    status_to_hub,
)
from kapy.api.conversion.spoke import ReferenceVersion, Spoke
from kapy.kube import Document

_DEPRECATED: Final = (
    "failureReason",
    "failureMessage",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
)


def _to_hub(pool: Document, remembered: Document | None) -> None:
    template_to_hub(pool["spec"])
    status = pool["status"]
    initialization_to_hub(status, remembered, INITIALIZATION)
    status_to_hub(status, _DEPRECATED, always=True)


def _from_hub(pool: Document, version: ReferenceVersion) -> None:
    template_from_hub(pool.get("spec", {}), pool["metadata"].get("namespace", ""), version)
    status = pool.get("status", {})
    initialization_from_hub(status, INITIALIZATION)
    status_from_hub(status, _DEPRECATED, COUNTERS)


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {
    ("MachinePool", "v1beta1"): Spoke(_to_hub, _from_hub)
}
