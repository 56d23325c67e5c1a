"""Validation of a container's probes and lifecycle handlers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kapy.apiserver.resources.builtin.port_errors import number_errors, number_or_name_errors
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, forbidden, invalid, not_supported, required

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
