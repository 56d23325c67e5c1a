"""Validation of pod specs in pods and templates.

Not validated: device claims, pod-level resources, pods of Windows, DNS configurations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from kapy.apiserver.resources.builtin.affinity_errors import affinity_errors, spread_errors
from kapy.apiserver.resources.builtin.container_errors import (
    PROBES,
    container_errors,
    one_of,
    probe_errors,
)
from kapy.apiserver.resources.builtin.security_errors import (
    container_security_errors,
    pod_security_errors,
)
from kapy.apiserver.resources.builtin.volume_errors import source_errors
from kapy.apiserver.resources.metadata import label_errors
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, duplicate, forbidden, invalid, required
from kapy.kube.qualified_names import (
    dns_label_errors,
    dns_subdomain_errors,
    label_value_errors,
    qualified_name_errors,
)

_RESTARTS: Final = ["Always", "OnFailure", "Never"]
_DNS: Final = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]
_NAMES: Final[dict[str, Callable[[str], list[str]]]] = {
    "serviceAccountName": dns_subdomain_errors,
    "nodeName": dns_subdomain_errors,
    "hostname": dns_label_errors,
    "subdomain": dns_label_errors,
    "priorityClassName": dns_subdomain_errors,
    "runtimeClassName": dns_subdomain_errors,
}
_MOST_SECONDS: Final = 2**31 - 1
_NOT_FOR_INIT: Final = "may not be set for init containers without restartPolicy=Always"

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS: Final = ("Equal", "Exists")
_COMPARISONS: Final = ("Lt", "Gt")


def pod_errors(spec: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of a pod's spec."""
    volumes: set[str] = set()
    yield from _volumes(spec, f"{path}.volumes", volumes)
    yield from _containers(spec, path, volumes)
    yield from _init_containers(spec, path, volumes)
    if spec.get("hostNetwork"):
        yield from _host_ports(spec, path)
    yield from one_of(spec, "restartPolicy", _RESTARTS, path)
    yield from one_of(spec, "dnsPolicy", _DNS, path)
    yield from label_errors(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    yield from pod_security_errors(spec, path)
    yield from affinity_errors(spec.get("affinity") or {}, f"{path}.affinity")
    yield from _gates(spec, path)
    constraints = spec.get("topologySpreadConstraints") or ()
    yield from spread_errors(constraints, f"{path}.topologySpreadConstraints")
    for field, errors_of in _NAMES.items():
        name = spec.get(field)
        yield from (invalid(f"{path}.{field}", name, error) for error in errors_of(name or "x"))
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= _MOST_SECONDS:
        text = f"must be between 1 and {_MOST_SECONDS}, inclusive"
        yield invalid(f"{path}.activeDeadlineSeconds", seconds, text)
    yield from toleration_errors(spec.get("tolerations") or (), f"{path}.tolerations")


def _host_ports(spec: Document, path: str) -> Iterator[FieldError]:
    for index, container in enumerate(spec.get("containers") or ()):
        for at, port in enumerate(container.get("ports") or ()):
            number = port.get("hostPort") or 0
            if number and number != (port.get("containerPort") or 0):
                where = f"{path}.containers[{index}].ports[{at}].hostPort"
                yield invalid(
                    where, number, "must match `containerPort` when `hostNetwork` is true"
                )


def _gates(spec: Document, path: str) -> Iterator[FieldError]:
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        where, kind = f"{path}.readinessGates[{index}].conditionType", gate.get("conditionType")
        yield from (
            invalid(where, kind or "", error) for error in qualified_name_errors(kind or "")
        )


def image_errors(spec: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of images in a pod; in a template they may have surrounding whitespace."""
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            image = container.get("image") or ""
            if image != image.strip():
                where = f"{path}.{field}[{index}].image"
                yield invalid(where, image, "must not have leading or trailing whitespace")


def _volumes(spec: Document, path: str, names: set[str]) -> Iterator[FieldError]:
    """Yield the errors of volumes; add the names of valid ones to `names`."""
    for index, volume in enumerate(spec.get("volumes") or ()):
        where, name = f"{path}[{index}].name", volume.get("name") or ""
        errors = list(source_errors(volume, f"{path}[{index}]"))
        errors += [invalid(where, name, text) for text in dns_label_errors(name) if name]
        if not name:
            errors.append(required(where))
        if name in names:
            errors.append(duplicate(where, name))
        if not errors:
            names.add(name)
        yield from errors


def _containers(spec: Document, path: str, volumes: set[str]) -> Iterator[FieldError]:
    if not spec.get("containers"):
        yield required(f"{path}.containers")
    names: set[str] = set()
    for index, container in enumerate(spec.get("containers") or ()):
        where, name = f"{path}.containers[{index}]", container.get("name") or ""
        yield from _common(container, where, volumes, spec)
        if name in names:
            yield duplicate(f"{where}.name", name)
        names.add(name)
        yield from probe_errors(container, where)


def _common(
    container: Document, path: str, volumes: set[str], spec: Document
) -> Iterator[FieldError]:
    yield from container_errors(container, path, volumes)
    context, where = container.get("securityContext") or {}, f"{path}.securityContext"
    host_users = spec.get("hostUsers") is not False
    yield from container_security_errors(context, where, host_users=host_users)


def _init_containers(spec: Document, path: str, volumes: set[str]) -> Iterator[FieldError]:
    names = {item.get("name") or "" for item in spec.get("containers") or ()}
    for index, container in enumerate(spec.get("initContainers") or ()):
        where, name = f"{path}.initContainers[{index}]", container.get("name") or ""
        yield from _common(container, where, volumes, spec)
        if name in names:
            yield duplicate(f"{where}.name", name)
        elif name:
            names.add(name)
        if container.get("restartPolicy") == "Always":
            yield from probe_errors(container, where)
            continue
        for field in ("lifecycle", *PROBES):
            if container.get(field) is not None:
                yield forbidden(f"{where}.{field}", _NOT_FOR_INIT)


def toleration_errors(tolerations: Sequence[Document], path: str) -> Iterator[FieldError]:
    """Yield the errors of tolerations."""
    for index, toleration in enumerate(tolerations):
        yield from _one_toleration_errors(toleration, f"{path}[{index}]")


def _one_toleration_errors(item: Document, path: str) -> Iterator[FieldError]:
    key, operator = item.get("key") or "", item.get("operator") or ""
    value, effect = item.get("value") or "", item.get("effect") or ""
    if key:
        yield from (invalid(f"{path}.key", key, text) for text in qualified_name_errors(key))
    elif operator != "Exists":
        text = (
            "operator must be Exists when `key` is empty, which means "
            '"match all values and all keys"'
        )
        yield invalid(f"{path}.operator", operator, text)
    if item.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", effect, text)
    if operator in ("Equal", ""):
        if wrong := label_value_errors(value):
            yield invalid(f"{path}.operator", value, ";".join(wrong))
    elif operator == "Exists":
        if value:
            text = "value must be empty when `operator` is 'Exists'"
            yield invalid(f"{path}.operator", value, text)
    else:
        names = (*_OPERATORS, *_COMPARISONS) if operator in _COMPARISONS else _OPERATORS
        supported = ", ".join(f'"{name}"' for name in names)
        text = f"supported values: {supported}"
        yield FieldError("FieldValueNotSupported", f"{path}.operator", text, operator)
    if effect and effect not in _EFFECTS:
        supported = ", ".join(f'"{name}"' for name in _EFFECTS)
        text = f"supported values: {supported}"
        yield FieldError("FieldValueNotSupported", f"{path}.effect", text, effect)
