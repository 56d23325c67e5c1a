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
    ports = ",".join(_port(one) for one in spec.get("ports") or []) or NONE
    ingress = (status_of(document).get("loadBalancer") or {}).get("ingress") or []
    outer = [*(one.get("ip") or one.get("hostname", "") for one in ingress)]
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
    found = []
    for subset in document.get("subsets") or []:
        for address in subset.get("addresses") or []:
            ports = subset.get("ports") or [{}]
            found += [
                f"{address.get('ip', '')}:{port['port']}" if port.get("port") else address.get("ip")
                for port in ports
            ]
    if len(found) > 3:
        return [f"{','.join(found[:3])} + {len(found) - 3} more..."]
    return [",".join(found) or NONE]


_SHOWN = 3
"""The number of list items to show before the rest is only counted."""


def _few(names: list[str]) -> str:
    if len(names) > _SHOWN:
        return f"{','.join(names[:_SHOWN])} + {len(names) - _SHOWN} more..."
    return ",".join(names)


def _slice(document: Document) -> Iterable[Any]:
    ports = [str(one.get("port", "*")) for one in document.get("ports") or ()]
    addresses = [
        address for one in document.get("endpoints") or () for address in one.get("addresses") or ()
    ]
    return [document.get("addressType", ""), _few(ports) or "<unset>", _few(addresses) or "<unset>"]


def _ingress(document: Document) -> Iterable[Any]:
    wanted = spec_of(document)
    hosts = [one["host"] for one in wanted.get("rules") or () if one.get("host")]
    entries = (status_of(document).get("loadBalancer") or {}).get("ingress") or ()
    return [
        wanted.get("ingressClassName") or NONE,
        _few(hosts) or "*",
        ",".join(one.get("ip") or one.get("hostname", "") for one in entries),
        "80, 443" if wanted.get("tls") else "80",
    ]


def _ingress_class(document: Document) -> Iterable[Any]:
    wanted = spec_of(document)
    found = wanted.get("parameters")
    shown = NONE
    if found:
        group = f".{found['apiGroup']}" if found.get("apiGroup") else ""
        shown = f"{found.get('kind', '')}{group}/{found.get('name', '')}"
    return [wanted.get("controller", ""), shown]


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
