"""Validation of port numbers, names and protocols."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from kapy.kube.field_errors import FieldError, invalid, not_supported, required
from kapy.kube.qualified_names import qualified_name_errors

PROTOCOLS: Final = ["SCTP", "TCP", "UDP"]
_RANGE: Final = "must be between 1 and 65535, inclusive"


def number_errors(number: int, path: str) -> list[FieldError]:
    """Return the validation errors of a port number."""
    return [] if 1 <= number <= 65535 else [invalid(path, number, _RANGE)]


def number_or_name_errors(port: int | str, path: str) -> list[FieldError]:
    """Return the errors of a port given as a number or as a container port's name."""
    if isinstance(port, int):
        return number_errors(port, path)
    return [invalid(path, port, text) for text in port_name_errors(port)]


def port_name_errors(name: str) -> list[str]:
    """Return the validation errors of a port name."""
    return list(_name_errors(name))


def _name_errors(name: str) -> Iterator[str]:
    if len(name) > 15:
        yield "must be no more than 15 characters"
    if not re.fullmatch("[-a-z0-9]+", name):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not re.search("[a-z]", name):
        yield "must contain at least one letter (a-z)"
    if "--" in name:
        yield "must not contain consecutive hyphens"
    if name.startswith("-") or name.endswith("-"):
        yield "must not begin or end with a hyphen"


def protocol_errors(protocol: Any, path: str) -> list[FieldError]:
    """Return the validation errors of a protocol."""
    if not protocol:
        return [required(path)]
    return [] if protocol in PROTOCOLS else [not_supported(path, protocol, PROTOCOLS)]


def app_protocol_errors(protocol: str | None, path: str) -> list[FieldError]:
    """Return the validation errors of an appProtocol."""
    if protocol is None:
        return []
    return [invalid(path, protocol, text) for text in qualified_name_errors(protocol)]
