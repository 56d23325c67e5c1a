"""Endpoints of Services with a selector, for clients that do not read EndpointSlices."""

from __future__ import annotations

from typing import Final

from kapy.apiserver.controllers.workloads.endpoint_slices import Port, endpoints_of, has_endpoints
from kapy.apiserver.controllers.workloads.workloads import Workloads
from kapy.kube import Document, Key

_TABLE: Final = "endpoints"
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_MANAGER: Final = "endpoint-controller"
_HEADLESS: Final = "service.kubernetes.io/headless"


def write_endpoints(here: Workloads) -> None:
    """Write the Endpoints of all Services according to their Pods; delete those without a Service.

    Endpoints of Services without a selector are managed by users and stay unchanged.
    """
    there = {Key.of(one): one for one in here.all(_TABLE)}
    for service in here.all("services"):
        if has_endpoints(service):
            _write(here, service, there.pop(Key.of(service), None))
    for one in there.values():
        if (one["metadata"].get("labels") or {}).get(_MANAGED_BY) == _MANAGER:
            here.delete(_TABLE, one)


def _write(here: Workloads, service: Document, found: Document | None) -> None:
    labels = {**(service["metadata"].get("labels") or {}), _MANAGED_BY: _MANAGER}
    if service["spec"].get("clusterIP") == "None":
        labels[_HEADLESS] = ""
    subsets = [
        _subset(ports, endpoints) for ports, endpoints in endpoints_of(here, service).items()
    ]
    name = service["metadata"]["name"]
    if found is None:
        metadata = {"name": name, "labels": labels}
        here.create_unowned(
            _TABLE, service["metadata"]["namespace"], {"metadata": metadata, "subsets": subsets}
        )
    elif "deletionTimestamp" not in found["metadata"]:
        metadata = {**found["metadata"], "labels": labels}
        here.write(_TABLE, found, metadata=metadata, subsets=subsets)


def _subset(ports: tuple[Port, ...], endpoints: list[Document]) -> Document:
    found: dict[str, list[Document]] = {"addresses": [], "notReadyAddresses": []}
    for one in endpoints:
        ready = one["conditions"]["ready"]
        address = {
            "ip": one["addresses"][0],
            "nodeName": one["nodeName"],
            "targetRef": one["targetRef"],
        }
        found["addresses" if ready else "notReadyAddresses"].append(address)
    listed = [_port(*one) for one in ports]
    return {**{name: one for name, one in found.items() if one}, "ports": listed}


def _port(name: str, protocol: str, number: int) -> Document:
    told: Document = {"port": number, "protocol": protocol}
    return {"name": name, **told} if name else told
