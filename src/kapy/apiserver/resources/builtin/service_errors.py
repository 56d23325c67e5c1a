"""What is wrong with a Service, in kube-apiserver's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.field_errors import FieldError, Shown, duplicate, invalid, not_supported, required
from kapy.kube.qualified_names import dns_label_errors

_TYPES: Final = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]
_AFFINITIES: Final = ["ClientIP", "None"]
_PROTOCOLS: Final = ["SCTP", "TCP", "UDP"]
_RANGE: Final = "must be between 1 and 65535, inclusive"
_PORT_NAME: Final = re.compile(r"(?=.*[a-z])[a-z0-9]([a-z0-9]|-(?!-))*(?<!-)")
_PORT_NAME_SENTENCE: Final = (
    "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
)


def service_errors(spec: Document) -> Iterator[FieldError]:
    """Of a Service's spec."""
    ports, kind = spec.get("ports") or (), spec.get("type") or ""
    if not ports and spec.get("clusterIP") != "None" and kind != "ExternalName":
        yield required("spec.ports")
    if kind not in _TYPES:
        yield not_supported("spec.type", kind, _TYPES) if kind else required("spec.type")
    if kind == "ExternalName" and not spec.get("externalName"):
        yield required("spec.externalName")
    yield from _port_errors(ports)
    affinity = spec.get("sessionAffinity") or ""
    if affinity not in _AFFINITIES:
        yield not_supported("spec.sessionAffinity", affinity, _AFFINITIES)


def _port_errors(ports: Sequence[Document]) -> Iterator[FieldError]:
    names: set[str] = set()
    numbers: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name") or ""
        if not name and len(ports) > 1:
            yield required(f"{path}.name")
        elif name:
            yield from (invalid(f"{path}.name", name, one) for one in dns_label_errors(name))
            if name in names:
                yield duplicate(f"{path}.name", name)
            names.add(name)
        yield from _number_errors(port.get("port", 0), f"{path}.port")
        if port.get("protocol", "TCP") not in _PROTOCOLS:
            yield not_supported(f"{path}.protocol", port["protocol"], _PROTOCOLS)
        yield from _target_errors(port.get("targetPort", 0), f"{path}.targetPort")
        key = (port.get("protocol"), port.get("port"))
        if key in numbers:
            yield duplicate(path, _shown(port))
        numbers.add(key)


def _number_errors(number: int, path: str) -> Iterator[FieldError]:
    if not 1 <= number <= 65535:
        yield invalid(path, number, _RANGE)


def _target_errors(target: int | str, path: str) -> Iterator[FieldError]:
    if isinstance(target, int):
        yield from _number_errors(target, path)
    elif len(target) > 15:
        yield invalid(path, target, "must be no more than 15 characters")
    elif not _PORT_NAME.fullmatch(target):
        yield invalid(path, target, _PORT_NAME_SENTENCE)


def _shown(port: Document) -> Shown:
    """A port as Go prints what two of them may not share."""
    return Shown.of(
        {
            "Name": "",
            "Protocol": port.get("protocol", ""),
            "AppProtocol": None,
            "Port": port.get("port", 0),
            "TargetPort": 0,
            "NodePort": 0,
        }
    )
