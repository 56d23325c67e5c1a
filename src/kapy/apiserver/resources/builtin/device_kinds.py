"""Defaults and columns of the kinds of dynamic resource allocation (`resource.k8s.io`).

Their fields are checked by type only: the rules of DeviceClasses, claims and slices are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kapy.apiserver.resources.builtin.printer import Printer, spec_of, status_of, titles
from kapy.kube import Document

_EXACT: Final = "ExactCount"


def _device_request(request: Document) -> None:
    request["allocationMode"] = request.get("allocationMode") or _EXACT
    if request["allocationMode"] == _EXACT:
        request["count"] = request.get("count") or 1


def _claim_spec(spec: Document) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        if request.get("exactly") is not None:
            _device_request(request["exactly"])
        for item in request.get("firstAvailable") or ():
            _device_request(item)


def _claim(document: Document) -> None:
    _claim_spec(document.get("spec") or {})


def _claim_template(document: Document) -> None:
    _claim(document.get("spec") or {})


def _slice(document: Document) -> None:
    for device in (document.get("spec") or {}).get("devices") or ():
        for mapping in (device.get("nodeAllocatableResourceMappings") or {}).values():
            if mapping.get("allocationMultiplier") is None:
                mapping["allocationMultiplier"] = "1"


DEVICE_DEFAULTS: Final[Mapping[str, Callable[[Document], None]]] = {
    "resourceclaims.resource.k8s.io": _claim,
    "resourceclaimtemplates.resource.k8s.io": _claim_template,
    "resourceslices.resource.k8s.io": _slice,
}


def _state(document: Document) -> Iterable[Any]:
    is_deleted = "deletionTimestamp" in document["metadata"]
    status = status_of(document)
    states = ["deleted"] if is_deleted else []
    if status.get("allocation") is not None:
        states += ["allocated", *(["reserved"] if status.get("reservedFor") else [])]
    elif not is_deleted:
        states.append("pending")
    return [",".join(states)]


def _place(document: Document) -> Iterable[Any]:
    spec = spec_of(document)
    return [
        spec.get("nodeName") or "",
        spec.get("driver", ""),
        (spec.get("pool") or {}).get("name", ""),
    ]


DEVICE_PRINTERS: Final[Mapping[str, Printer]] = {
    "deviceclasses.resource.k8s.io": Printer(titles("Age"), lambda _: []),
    "resourceclaims.resource.k8s.io": Printer(titles("State", "Age"), _state),
    "resourceclaimtemplates.resource.k8s.io": Printer(titles("Age"), lambda _: []),
    "resourceslices.resource.k8s.io": Printer(titles("Node", "Driver", "Pool", "Age"), _place),
}
