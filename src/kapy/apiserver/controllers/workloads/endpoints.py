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
    there = {Key.of(item): item for item in here.all(_TABLE)}
    for service in here.all("services"):
        if has_endpoints(service):
            _write(here, service, there.pop(Key.of(service), None))
    for value in there.values():
        if (value["metadata"].get("labels") or {}).get(_MANAGED_BY) == _MANAGER:
            here.delete(_TABLE, value)


def _write(here: Workloads, service: Document, value: Document | None) -> None:
    labels = {**(service["metadata"].get("labels") or {}), _MANAGED_BY: _MANAGER}
    if service["spec"].get("clusterIP") == "None":
        labels[_HEADLESS] = ""
    subsets = [
        _subset(ports, endpoints) for ports, endpoints in endpoints_of(here, service).items()
    ]
    name = service["metadata"]["name"]
    if value is None:
        metadata = {"name": name, "labels": labels}
        here.create_unowned(
            _TABLE, service["metadata"]["namespace"], {"metadata": metadata, "subsets": subsets}
        )
    elif "deletionTimestamp" not in value["metadata"]:
        metadata = {**value["metadata"], "labels": labels}
        here.write(_TABLE, value, metadata=metadata, subsets=subsets)


def _subset(ports: tuple[Port, ...], endpoints: list[Document]) -> Document:
    result: dict[str, list[Document]] = {"addresses": [], "notReadyAddresses": []}
    for endpoint in endpoints:
        ready = endpoint["conditions"]["ready"]
        address = {
            "ip": endpoint["addresses"][0],
            "nodeName": endpoint["nodeName"],
            "targetRef": endpoint["targetRef"],
        }
        result["addresses" if ready else "notReadyAddresses"].append(address)
    listed = [_port(*port) for port in ports]
    return {**{name: value for name, value in result.items() if value}, "ports": listed}


def _port(name: str, protocol: str, number: int) -> Document:
    result: Document = {"port": number, "protocol": protocol}
    return {"name": name, **result} if name else result
