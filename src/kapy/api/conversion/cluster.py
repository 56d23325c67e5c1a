"""Cluster in v1beta1 (upstream's core/webhooks/conversion)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.conversion.failure_domains import domains_from_hub, domains_to_hub
from kapy.api.conversion.health_check import health_check_from_hub, health_check_to_hub
from kapy.api.conversion.moves import (
    DELETION_TIMEOUTS,
    bool_to_pointer,
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
from kapy.api.conversion.worker_rollout import strategy_from_hub, strategy_to_hub
from kapy.kube import Document

_INITIALIZATION: Final = {
    "controlPlaneReady": "controlPlaneInitialized",
    "infrastructureReady": "infrastructureProvisioned",
}
_FAILURE: Final = ("failureReason", "failureMessage")
_REFERENCES: Final = ("infrastructureRef", "controlPlaneRef")


def _to_hub(cluster: Document, remembered: Document | None) -> None:
    spec, status = cluster["spec"], cluster["status"]
    put(spec, "paused", bool_to_pointer(spec.get("paused"), value_at(remembered, "spec", "paused")))
    for name in _REFERENCES:
        if (reference := spec.get(name)) is not None:
            spec[name] = contract_reference(reference, f"spec.{name}")
    for name in ("services", "pods"):
        ranges = value_at(spec, "clusterNetwork", name)
        if ranges is not None and ranges["cidrBlocks"] is None:
            # Nothing at all, unlike an empty list.
            del spec["clusterNetwork"][name]
    if (topology := spec.get("topology")) is not None:
        _topology_to_hub(topology)
    domains_to_hub(status)
    status_to_hub(status, _FAILURE)
    initialization_to_hub(status, remembered, _INITIALIZATION)


def _topology_to_hub(topology: Document) -> None:
    topology["classRef"] = {
        "name": topology.pop("class", ""),
        "namespace": topology.pop("classNamespace", ""),
    }
    _part_to_hub(topology["controlPlane"])
    for kind in ("machineDeployments", "machinePools"):
        for part in value_at(topology, "workers", kind) or ():
            strategy_to_hub(part)
            _part_to_hub(part)


def _part_to_hub(part: Document) -> None:
    health_check_to_hub(part)
    timeouts_to_seconds(part, part.setdefault("deletion", {}), DELETION_TIMEOUTS)


def _from_hub(cluster: Document, version: ReferenceVersion) -> None:
    spec, status = cluster.get("spec", {}), cluster.get("status", {})
    namespace = cluster["metadata"].get("namespace", "")
    for name in _REFERENCES:
        if reference := spec.get(name):
            spec[name] = object_reference(reference, namespace, version, f"spec.{name}")
    if topology := spec.get("topology"):
        _topology_from_hub(topology, namespace)
    domains_from_hub(status)
    initialization_from_hub(status, _INITIALIZATION)
    status_from_hub(status, _FAILURE, ("controlPlane", "workers"))


def _topology_from_hub(topology: Document, namespace: str) -> None:
    class_ref = topology.pop("classRef", {})
    put(topology, "class", class_ref.get("name"))
    put(topology, "classNamespace", class_ref.get("namespace"))
    _part_from_hub(topology.get("controlPlane", {}), namespace)
    for kind in ("machineDeployments", "machinePools"):
        for part in value_at(topology, "workers", kind) or ():
            strategy_from_hub(part)
            _part_from_hub(part, namespace)


def _part_from_hub(part: Document, namespace: str) -> None:
    health_check_from_hub(part, namespace)
    timeouts_from_seconds(part.pop("deletion", {}), part, DELETION_TIMEOUTS)


SPOKES: Final[Mapping[tuple[str, str], Spoke]] = {("Cluster", "v1beta1"): Spoke(_to_hub, _from_hub)}
