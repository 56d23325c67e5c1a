"""What expressions work on.

JSON stands for itself: int, float (double), str, bool, None, list, dict. The rest are the classes
here. Nothing in a document is ever changed.
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
    """A `uint`: 64 bits without sign."""


class Timestamp(int):
    """Nanoseconds since 1970."""


class Duration(int):
    """Nanoseconds."""


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent (`optional_type`)."""

    present: bool
    inner: Any = None

    def value(self) -> Any:
        if not self.present:
            raise EvaluationError("optional.none() dereference")
        return self.inner


NONE: Final = Optional(present=False)


def some(value: Any) -> Optional:
    """An optional that holds a value."""
    return Optional(present=True, inner=value)


def held(value: Any) -> Any:
    """What an optional holds; NONE when it holds nothing."""
    if isinstance(value, Optional):
        return value.inner if value.present else NONE
    return value


@dataclass(frozen=True, slots=True)
class TypeName:
    """The result of `type(x)`."""

    name: str


@dataclass(frozen=True, slots=True)
class Quantity:
    """A `kubernetes.Quantity`."""

    amount: Decimal


@dataclass(frozen=True, slots=True)
class Url:
    """A `kubernetes.URL`."""

    parts: SplitResult


@dataclass(frozen=True, slots=True)
class Format:
    """A `kubernetes.NamedFormat`: what is wrong with a text."""

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
    """The name of a value's type, without parameters."""
    found = _KINDS.get(type(value))
    return found if found is not None else _subclass_kind(value)


def _subclass_kind(value: Any) -> str:
    """Of documents that are subclasses of dict and list (frozen ones)."""
    return next(kind for base, kind in _KINDS.items() if isinstance(value, base))


def type_name(value: Any) -> TypeName:
    """What `type(value)` gives."""
    if isinstance(value, dict):
        return TypeName("map")
    kind = kind_of(value)
    return TypeName(_TYPE_NAMES.get(kind, kind))


KEYS: Final = ("bool", "int", "uint", "double", "string")
NUMBERS: Final = ("int", "uint", "double")


def equal(one: Any, two: Any) -> bool:
    """CEL's `==` where the types are not known: numbers by value, all else by kind and content."""
    kind, other = kind_of(one), kind_of(two)
    if kind != other:
        return kind in NUMBERS and other in NUMBERS and float(one) == float(two) and one == two
    if kind == "list":
        return len(one) == len(two) and all(map(equal, one, two))
    if kind == "map":
        return len(one) == len(two) and all(
            key in two and equal(inner, two[key]) for key, inner in one.items()
        )
    if kind == "optional_type":
        return bool(one.present == two.present and equal(one.inner, two.inner))
    return bool(one == two)
