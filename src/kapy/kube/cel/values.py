"""The values of expressions.

JSON values are used unchanged: int, float (double), str, bool, None, list, dict. The classes in
this module represent the other types. Documents are never changed.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias
from urllib.parse import SplitResult

from kapy.kube.cel.authorizers import (
    AuthorizerValue,
    Decision,
    GroupCheck,
    PathCheck,
    ResourceCheck,
)
from kapy.kube.cel.errors import EvaluationError
from kapy.kube.version import Version


class UInt(int):
    """A CEL value of type `uint`: an unsigned 64-bit integer."""


class Timestamp(int):
    """A CEL timestamp: nanoseconds since 1970."""


class Duration(int):
    """A CEL duration in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Optional:
    """A CEL value that may be absent (`optional_type`)."""

    present: bool
    inner: Any = None

    def value(self) -> Any:
        if not self.present:
            raise EvaluationError("optional.none() dereference")
        return self.inner


NONE: Final = Optional(present=False)


def some(value: Any) -> Optional:
    """Return an optional with a value."""
    return Optional(present=True, inner=value)


def unwrap(value: Any) -> Any:
    """Return the value of an optional; NONE if it has none."""
    if isinstance(value, Optional):
        return value.inner if value.present else NONE
    return value


@dataclass(frozen=True, slots=True)
class TypeName:
    """A CEL value that is a type: the result of `type(x)`."""

    name: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value of Kubernetes' type `kubernetes.Quantity`."""

    amount: Decimal


@dataclass(frozen=True, slots=True)
class Url:
    """A value of Kubernetes' type `kubernetes.URL`."""

    parts: SplitResult


@dataclass(frozen=True, slots=True)
class Format:
    """A value of Kubernetes' type `kubernetes.NamedFormat`: a validator of texts."""

    name: str
    problems: Callable[[str], list[str]]


Ip: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Cidr: TypeAlias = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_KINDS: Final[dict[type, str]] = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    type(None): "null_type",
    Timestamp: "timestamp",
    Duration: "duration",
    Optional: "optional_type",
    TypeName: "type",
    Quantity: "kubernetes.Quantity",
    Url: "kubernetes.URL",
    Version: "kubernetes.Semver",
    Format: "kubernetes.NamedFormat",
    ipaddress.IPv4Address: "net.IP",
    ipaddress.IPv6Address: "net.IP",
    ipaddress.IPv4Interface: "net.CIDR",
    ipaddress.IPv6Interface: "net.CIDR",
    AuthorizerValue: "kubernetes.authorization.Authorizer",
    PathCheck: "kubernetes.authorization.PathCheck",
    GroupCheck: "kubernetes.authorization.GroupCheck",
    ResourceCheck: "kubernetes.authorization.ResourceCheck",
    Decision: "kubernetes.authorization.Decision",
}
_TYPE_NAMES: Final = {
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}


def kind_of(value: Any) -> str:
    """Return the name of a value's type, without parameters."""
    kind = _KINDS.get(type(value))
    return kind if kind is not None else _subclass_kind(value)


def _subclass_kind(value: Any) -> str:
    """Return the kind of documents that are subclasses of dict and list (frozen documents)."""
    return next(kind for base, kind in _KINDS.items() if isinstance(value, base))


def type_name(value: Any) -> TypeName:
    """Return the result of `type(value)`."""
    if isinstance(value, dict):
        return TypeName("map")
    kind = kind_of(value)
    return TypeName(_TYPE_NAMES.get(kind, kind))


KEYS: Final = ("bool", "int", "uint", "double", "string")
NUMBERS: Final = ("int", "uint", "double")


def equal(left: Any, right: Any) -> bool:
    """Compare two values of unknown types: numbers by value, all others by kind and content."""
    kind, other = kind_of(left), kind_of(right)
    if kind != other:
        return (
            kind in NUMBERS and other in NUMBERS and float(left) == float(right) and left == right
        )
    if kind == "list":
        return len(left) == len(right) and all(map(equal, left, right))
    if kind == "map":
        return len(left) == len(right) and all(
            key in right and equal(inner, right[key]) for key, inner in left.items()
        )
    if kind == "optional_type":
        return bool(left.present == right.present and equal(left.inner, right.inner))
    return bool(left == right)
