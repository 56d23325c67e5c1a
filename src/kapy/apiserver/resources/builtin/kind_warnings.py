"""Warnings about valid but problematic fields of Services and Nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.kube import Document

_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_MODE: Final = "service.kubernetes.io/topology-mode"
_IGNORED: Final = {
    "loadBalancerIP": "spec.loadBalancerIP",
    "externalIPs": "spec.externalIPs",
    "sessionAffinity": "spec.SessionAffinity",
}


def service_warnings(service: Document) -> Iterator[str]:
    """Yield the warnings about a Service."""
    spec = service.get("spec") or {}
    headless = spec.get("clusterIP") == "None" and spec.get("type") == "ClusterIP"
    named = spec.get("type") == "ExternalName"
    if _HINTS in (service["metadata"].get("annotations") or {}):
        yield f"annotation {_HINTS} is deprecated, please use {_MODE} instead"
    if headless:
        for field, result in _IGNORED.items():
            if (spec.get(field) or "None") != "None":
                yield f"{result} is ignored for headless services"
    if spec.get("externalIPs"):
        if not headless and not named:
            yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
        elif named:
            yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec.get("externalName") and not named:
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def node_warnings(node: Document) -> Iterator[str]:
    """Yield the warnings about a Node."""
    if (node.get("spec") or {}).get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
