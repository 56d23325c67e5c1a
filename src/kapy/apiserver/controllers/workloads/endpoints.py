"""EndpointSlices of Services with a selector, and Endpoints for clients that do not read them.

A Pod may listen on other ports than its containers declare, for example as a process on the host's
network. Its annotation `_PORTS` then maps declared ports to real ones in a JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kapy.apiserver.controllers.workloads.pod_conditions import is_ready
from kapy.apiserver.controllers.workloads.workloads import Workloads
from kapy.kube import Document, Key
from kapy.kube.foreign_json import BadJson, decode_json
from kapy.kube.generated_names import suffix
from kapy.kube.selectors import selector_of

_PORTS: Final = "kapy.cluster.x-k8s.io/ports"
TABLES: Final = frozenset(("services", "pods"))
_SLICES: Final = "endpointslices.discovery.k8s.io"
_SERVICE: Final = "kubernetes.io/service-name"
_SLICES_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_SLICES_MANAGER: Final = "endpointslice-controller.k8s.io"

_ENDPOINTS: Final = "endpoints"
_ENDPOINTS_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_ENDPOINTS_MANAGER: Final = "endpoint-controller"
_HEADLESS: Final = "service.kubernetes.io/headless"

_Port = tuple[str, str, int]
"""Name, protocol and number."""


def write_slices(here: Workloads) -> None:
    """Write the EndpointSlices of all Services according to their Pods."""
    there: dict[Key, dict[str, Document]] = {}
    for item in here.all(_SLICES):
        labels = item["metadata"].get("labels") or {}
        if labels.get(_SLICES_MANAGED_BY) == _SLICES_MANAGER:
            key = Key(item["metadata"]["namespace"], labels.get(_SERVICE, ""))
            there.setdefault(key, {})[item["metadata"]["name"]] = item
    for service in here.all("services"):
        if _has_endpoints(service):
            _write_slice(here, service, there.pop(Key.of(service), {}))
    for slices in there.values():
        for value in slices.values():
            here.delete(_SLICES, value)


def _has_endpoints(service: Document) -> bool:
    """Report whether a Service gets its endpoints from Pods that it selects."""
    spec = service["spec"]
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def _write_slice(here: Workloads, service: Document, there: dict[str, Document]) -> None:
    for ports, endpoints in _endpoints_of(here, service).items():
        name = f"{service['metadata']['name']}-{suffix(json.dumps(ports))}"
        listed = [
            {"name": name_, "protocol": kind, "port": number} for name_, kind, number in ports
        ]
        result = there.pop(name, None)
        if result is None:
            here.create(_SLICES, service, _slice(service, name, listed, endpoints))
        elif "deletionTimestamp" not in result["metadata"]:
            here.write(_SLICES, result, ports=listed, endpoints=endpoints)
    for value in there.values():
        here.delete(_SLICES, value)


def _slice(
    service: Document, name: str, ports: list[Document], endpoints: list[Document]
) -> Document:
    labels = {
        **(service["metadata"].get("labels") or {}),
        _SERVICE: service["metadata"]["name"],
        _SLICES_MANAGED_BY: _SLICES_MANAGER,
    }
    return {
        "metadata": {"name": name, "labels": labels},
        "addressType": "IPv4",
        "ports": ports,
        "endpoints": endpoints,
    }


def _endpoints_of(here: Workloads, service: Document) -> Mapping[tuple[_Port, ...], list[Document]]:
    """Return the endpoints of a Service, grouped by their ports."""
    spec, namespace = service["spec"], service["metadata"]["namespace"]
    selector = selector_of({"matchLabels": spec["selector"]})
    endpoints: dict[tuple[_Port, ...], list[Document]] = {}
    for pod in here.all("pods", namespace):
        status = pod.get("status") or {}
        ended = status.get("phase") in ("Succeeded", "Failed")
        if ended or not status.get("podIP"):
            continue
        if not selector.matches(pod["metadata"].get("labels") or {}):
            continue
        ports = tuple(_ports_of(spec.get("ports") or (), pod))
        published = bool(spec.get("publishNotReadyAddresses"))
        endpoints.setdefault(ports, []).append(_endpoint(pod, published=published))
    return endpoints


def _endpoint(pod: Document, *, published: bool) -> Document:
    meta = pod["metadata"]
    serving, ending = is_ready(pod), "deletionTimestamp" in meta
    target = {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"]}
    return {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {
            "ready": published or (serving and not ending),
            "serving": serving,
            "terminating": ending,
        },
        "nodeName": pod["spec"].get("nodeName", ""),
        "targetRef": {**target, "uid": meta["uid"]},
    }


def _ports_of(wanted: Iterable[Mapping[str, Any]], pod: Document) -> Iterator[_Port]:
    """Yield the ports of a Pod that the Service's ports target."""
    moved = _port_mapping(pod)
    for entry in wanted:
        protocol = entry.get("protocol") or "TCP"
        target = entry.get("targetPort") or entry["port"]
        number = target if isinstance(target, int) else _container_port(pod, str(target), protocol)
        if number:
            yield entry.get("name") or "", protocol, moved.get(str(number), number)


def _container_port(pod: Document, name: str, protocol: str) -> int:
    """Return the container port with this name, 0 if no container has one."""
    for container in pod["spec"].get("containers") or ():
        for port in container.get("ports") or ():
            if port.get("name") == name and (port.get("protocol") or "TCP") == protocol:
                return int(port["containerPort"])
    return 0


def _port_mapping(pod: Document) -> Mapping[str, int]:
    text = (pod["metadata"].get("annotations") or {}).get(_PORTS, "")
    try:
        result = decode_json(text) if text else {}
    except BadJson:
        return {}
    if not isinstance(result, dict):
        return {}
    return {
        key: value for key, value in result.items() if isinstance(value, int) and 0 < value < 65536
    }


def write_endpoints(here: Workloads) -> None:
    """Write the Endpoints of all Services according to their Pods; delete those without a Service.

    Endpoints of Services without a selector are managed by users and stay unchanged.
    """
    there = {Key.of(item): item for item in here.all(_ENDPOINTS)}
    for service in here.all("services"):
        if _has_endpoints(service):
            _write_endpoints(here, service, there.pop(Key.of(service), None))
    for value in there.values():
        if (value["metadata"].get("labels") or {}).get(_ENDPOINTS_MANAGED_BY) == _ENDPOINTS_MANAGER:
            here.delete(_ENDPOINTS, value)


def _write_endpoints(here: Workloads, service: Document, value: Document | None) -> None:
    labels = {
        **(service["metadata"].get("labels") or {}),
        _ENDPOINTS_MANAGED_BY: _ENDPOINTS_MANAGER,
    }
    if service["spec"].get("clusterIP") == "None":
        labels[_HEADLESS] = ""
    subsets = [
        _subset(ports, endpoints) for ports, endpoints in _endpoints_of(here, service).items()
    ]
    name = service["metadata"]["name"]
    if value is None:
        metadata = {"name": name, "labels": labels}
        here.create_unowned(
            _ENDPOINTS, service["metadata"]["namespace"], {"metadata": metadata, "subsets": subsets}
        )
    elif "deletionTimestamp" not in value["metadata"]:
        metadata = {**value["metadata"], "labels": labels}
        here.write(_ENDPOINTS, value, metadata=metadata, subsets=subsets)


def _subset(ports: tuple[_Port, ...], endpoints: list[Document]) -> Document:
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
