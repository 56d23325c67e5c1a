"""Validation of containers: ports, environment variables, mounts, resources, probes and lifecycle
handlers.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, Final

from kapy.apiserver.resources.builtin.file_paths import descending_path_errors
from kapy.apiserver.resources.builtin.port_errors import (
    number_errors,
    number_or_name_errors,
    port_name_errors,
    protocol_errors,
)
from kapy.apiserver.resources.builtin.resource_names import (
    amount_errors,
    container_resource_errors,
    may_be_overcommitted,
)
from kapy.kube import Document, quantity
from kapy.kube.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kapy.kube.qualified_names import dns_label_errors

PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_SCHEMES: Final = ["HTTP", "HTTPS"]
_COUNTS: Final = (
    *("initialDelaySeconds", "timeoutSeconds", "periodSeconds"),
    *("successThreshold", "failureThreshold"),
)


def probe_errors(container: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of all probes of a container."""
    for name in PROBES:
        probe = container.get(name)
        if probe is not None:
            yield from _probe(probe, f"{path}.{name}", ready=name == "readinessProbe")


def _probe(probe: Document, path: str, *, ready: bool) -> Iterator[FieldError]:
    yield from _handler(probe, path)
    for field in _COUNTS:
        number = probe.get(field) or 0
        if number < 0:
            yield invalid(f"{path}.{field}", number, "must be greater than or equal to 0")
    grace, where = probe.get("terminationGracePeriodSeconds"), "terminationGracePeriodSeconds"
    if grace is not None and grace <= 0:
        yield invalid(f"{path}.{where}", grace, "must be greater than 0")
    if ready:
        if grace is not None:
            yield invalid(f"{path}.{where}", grace, "must not be set for readinessProbes")
    elif (times := probe.get("successThreshold") or 0) != 1:
        yield invalid(f"{path}.successThreshold", times, "must be 1")


def _handler(handler: Document, path: str) -> Iterator[FieldError]:
    names = [name for name in _HANDLERS if handler.get(name) is not None]
    for name in names[:1]:
        yield from _HANDLERS[name](handler[name], f"{path}.{name}")
    for name in names[1:]:
        yield forbidden(f"{path}.{name}", "may not specify more than 1 handler type")
    if not names:
        yield required(path, "must specify a handler type")


def _exec(action: Document, path: str) -> Iterator[FieldError]:
    if not action.get("command"):
        yield required(f"{path}.command")


def _http(action: Document, path: str) -> Iterator[FieldError]:
    if not action.get("path"):
        yield required(f"{path}.path")
    yield from number_or_name_errors(action.get("port", 0), f"{path}.port")
    if action.get("scheme") not in _SCHEMES:
        yield not_supported(f"{path}.scheme", action.get("scheme") or "", _SCHEMES)


def _tcp(action: Document, path: str) -> Iterator[FieldError]:
    yield from number_or_name_errors(action.get("port", 0), f"{path}.port")


def _grpc(action: Document, path: str) -> Iterator[FieldError]:
    yield from number_errors(action.get("port", 0), f"{path}.port")


_HANDLERS: Final[dict[str, Callable[[Document, str], Iterator[FieldError]]]] = {
    "exec": _exec,
    "httpGet": _http,
    "tcpSocket": _tcp,
    "grpc": _grpc,
}


PULL_POLICIES: Final = ["Always", "IfNotPresent", "Never"]
_MESSAGES: Final = ["File", "FallbackToLogsOnError"]
_PORT: Final = "must be between 1 and 65535, inclusive"
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def container_errors(
    container: Document, path: str, volumes: Container[str]
) -> Iterator[FieldError]:
    """Yield the errors of a container of any kind. volumes: the names of the pod's volumes."""
    name = container.get("name") or ""
    if not name:
        yield required(f"{path}.name")
    yield from (invalid(f"{path}.name", name, text) for text in dns_label_errors(name) if name)
    if not container.get("image"):
        yield required(f"{path}.image")
    yield from one_of(container, "terminationMessagePolicy", _MESSAGES, path)
    yield from _ports(container.get("ports") or (), f"{path}.ports")
    yield from _variables(container.get("env") or (), f"{path}.env")
    yield from _from(container.get("envFrom") or (), f"{path}.envFrom")
    yield from _mounts(container.get("volumeMounts") or (), f"{path}.volumeMounts", volumes)
    yield from one_of(container, "imagePullPolicy", PULL_POLICIES, path)
    yield from _resources(container.get("resources") or {}, f"{path}.resources")


def one_of(holder: Document, field: str, allowed: list[str], path: str) -> Iterator[FieldError]:
    """Yield the errors of a field that must have one of the known values."""
    value, where = holder.get(field) or "", f"{path}.{field}"
    if not value:
        yield required(where)
    elif value not in allowed:
        yield not_supported(where, value, allowed, ordered=True)


def _ports(ports: Sequence[Document], path: str) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where, name = f"{path}[{index}]", port.get("name") or ""
        if name:
            wrong = port_name_errors(name)
            yield from (invalid(f"{where}.name", name, text) for text in wrong)
            if not wrong and name in names:
                yield duplicate(f"{where}.name", name)
            names.add(name)
        number = port.get("containerPort") or 0
        if not number:
            yield required(f"{where}.containerPort")
        yield from _number(number, f"{where}.containerPort")
        yield from _number(port.get("hostPort") or 0, f"{where}.hostPort")
        yield from protocol_errors(port.get("protocol"), f"{where}.protocol")


def _number(number: int, path: str) -> Iterator[FieldError]:
    if number and not 1 <= number <= 65535:
        yield invalid(path, number, _PORT)


def _variables(variables: Sequence[Document], path: str) -> Iterator[FieldError]:
    for index, variable in enumerate(variables):
        where, name = f"{path}[{index}]", variable.get("name") or ""
        if not name:
            yield required(f"{where}.name")
        elif not all(" " <= item <= "~" and item != "=" for item in name):
            text = (
                "a valid environment variable name must consist only of printable ASCII "
                "characters other than '='"
            )
            yield invalid(f"{where}.name", name, text)
        if variable.get("valueFrom") is not None:
            yield from _source(variable, f"{where}.valueFrom")


def _from(sources: Sequence[Document], path: str) -> Iterator[FieldError]:
    for index, source in enumerate(sources):
        names = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in names:
            if not source[name].get("name"):
                yield required(f"{path}[{index}].{name}.name")
        if not names:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(names) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")


def _source(variable: Document, path: str) -> Iterator[FieldError]:
    count = sum(variable["valueFrom"].get(source) is not None for source in _SOURCES)
    if not count:
        named = ", ".join(f"`{source}`" for source in _SOURCES[:-1])
        yield invalid(path, "", f"must specify one of: {named} or `{_SOURCES[-1]}`")
    elif variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif count > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _mounts(mounts: Sequence[Document], path: str, volumes: Container[str]) -> Iterator[FieldError]:
    places: set[str] = set()
    for index, mount in enumerate(mounts):
        where, name, place = f"{path}[{index}]", mount.get("name") or "", mount.get("mountPath")
        if not name:
            yield required(f"{where}.name")
        if name not in volumes:
            yield FieldError("FieldValueNotFound", f"{where}.name", "", name)
        if not place:
            yield required(f"{where}.mountPath")
        if (place or "") in places:
            yield invalid(f"{where}.mountPath", place or "", "must be unique")
        places.add(place or "")
        yield from _sub_paths(mount, where, path)


def _sub_paths(mount: Document, where: str, path: str) -> Iterator[FieldError]:
    if mount.get("subPath"):
        yield from descending_path_errors(mount["subPath"], f"{path}.subPath")
    if expression := mount.get("subPathExpr"):
        if mount.get("subPath"):
            text = "subPathExpr and subPath are mutually exclusive"
            yield invalid(f"{where}.subPathExpr", expression, text)
        yield from descending_path_errors(expression, f"{path}.subPathExpr")


def _resources(resources: Document, path: str) -> Iterator[FieldError]:
    limits: dict[str, str] = resources.get("limits") or {}
    requests: dict[str, str] = resources.get("requests") or {}
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            where = f"{path}.{field}[{name}]"
            yield from container_resource_errors(name, where)
            yield from amount_errors(name, amount, where)
            if field == "requests":
                yield from _against(name, amount, limits, path)


def _against(name: str, amount: str, limits: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of a resource request compared with its limit."""
    limit: Any = limits.get(name)
    if limit is None:
        if not may_be_overcommitted(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    more = quantity.compare(amount, limit)
    if more and not may_be_overcommitted(name):
        yield invalid(f"{path}.requests", amount, f"must be equal to {name} limit of {limit}")
    elif more > 0:
        text = f"must be less than or equal to {name} limit of {limit}"
        yield invalid(f"{path}.requests", amount, text)
