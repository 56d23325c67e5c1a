"""Table columns of Services and other network kinds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapy.apiserver.resources.builtin.printer import (
    NONE,
    Printer,
    format_labels,
    format_selector,
    spec_of,
    status_of,
    titles,
)
from kapy.kube import Document


def _service(document: Document) -> Iterable[Any]:
    spec = spec_of(document)
    ports = ",".join(_port(port) for port in spec.get("ports") or []) or NONE
    ingress = (status_of(document).get("loadBalancer") or {}).get("ingress") or []
    outer = [*(item.get("ip") or item.get("hostname", "") for item in ingress)]
    outer += spec.get("externalIPs") or []
    external = ",".join(outer)
    if not external:
        external = "<pending>" if spec.get("type") == "LoadBalancer" else NONE
    if spec.get("type") == "ExternalName":
        external = spec.get("externalName", NONE)
    kind = spec.get("type", "ClusterIP")
    return [
        kind,
        spec.get("clusterIP") or NONE,
        external,
        ports,
        format_labels(spec.get("selector")),
    ]


def _port(port: Document) -> str:
    protocol = port.get("protocol", "TCP")
    if port.get("nodePort"):
        return f"{port.get('port')}:{port['nodePort']}/{protocol}"
    return f"{port.get('port')}/{protocol}"


def _endpoints(document: Document) -> Iterable[Any]:
    endpoints = []
    for subset in document.get("subsets") or []:
        for address in subset.get("addresses") or []:
            ports = subset.get("ports") or [{}]
            endpoints += [
                f"{address.get('ip', '')}:{port['port']}" if port.get("port") else address.get("ip")
                for port in ports
            ]
    if len(endpoints) > 3:
        return [f"{','.join(endpoints[:3])} + {len(endpoints) - 3} more..."]
    return [",".join(endpoints) or NONE]


_SHOWN = 3
"""The number of list items to show before the rest is only counted."""


def _few(names: list[str]) -> str:
    if len(names) > _SHOWN:
        return f"{','.join(names[:_SHOWN])} + {len(names) - _SHOWN} more..."
    return ",".join(names)


def _slice(document: Document) -> Iterable[Any]:
    ports = [str(port.get("port", "*")) for port in document.get("ports") or ()]
    addresses = [
        address
        for endpoint in document.get("endpoints") or ()
        for address in endpoint.get("addresses") or ()
    ]
    return [document.get("addressType", ""), _few(ports) or "<unset>", _few(addresses) or "<unset>"]


def _ingress(document: Document) -> Iterable[Any]:
    wanted = spec_of(document)
    hosts = [rule["host"] for rule in wanted.get("rules") or () if rule.get("host")]
    entries = (status_of(document).get("loadBalancer") or {}).get("ingress") or ()
    return [
        wanted.get("ingressClassName") or NONE,
        _few(hosts) or "*",
        ",".join(entry.get("ip") or entry.get("hostname", "") for entry in entries),
        "80, 443" if wanted.get("tls") else "80",
    ]


def _ingress_class(document: Document) -> Iterable[Any]:
    wanted = spec_of(document)
    parameters = wanted.get("parameters")
    none = NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        none = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    return [wanted.get("controller", ""), none]


def _policy(document: Document) -> Iterable[Any]:
    return [format_selector(spec_of(document).get("podSelector"))]


NETWORK: dict[str, Printer] = {
    "services": Printer(
        titles("Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector+"), _service
    ),
    "endpoints": Printer(titles("Endpoints", "Age"), _endpoints),
    "endpointslices.discovery.k8s.io": Printer(
        titles("AddressType", "Ports", "Endpoints", "Age"), _slice
    ),
    "ingresses.networking.k8s.io": Printer(
        titles("Class", "Hosts", "Address", "Ports", "Age"), _ingress
    ),
    "ingressclasses.networking.k8s.io": Printer(
        titles("Controller", "Parameters", "Age"), _ingress_class
    ),
    "networkpolicies.networking.k8s.io": Printer(titles("Pod-Selector", "Age"), _policy),
}
