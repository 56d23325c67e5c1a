"""The resources that a Pod requests from its Node, as kube-scheduler counts them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from kapy.kube import Document
from kapy.kube.quantity import InvalidQuantity, parse

Amounts = dict[str, Decimal]
"""Amounts by resource name."""
_NOTHING = Decimal(0)
_OF_PODS = ("cpu", "memory")
"""Resources that a Pod may request at the Pod level (also `hugepages-*`)."""


def requests_of(pod: Document) -> Amounts:
    """Return the total requests of containers that run at the same time, plus the overhead."""
    spec = pod["spec"]
    wanted = _sum(_requests(item) for item in spec.get("containers") or ())
    beside: Amounts = {}
    first: Amounts = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            beside = _sum((beside, _requests(container)))
            first = _maximum(first, beside)
        else:
            first = _maximum(first, _sum((beside, _requests(container))))
    wanted = _maximum(_sum((wanted, beside)), first)
    wanted |= {
        name: amount
        for name, amount in _requests(spec).items()
        if name in _OF_PODS or name.startswith("hugepages-")
    }
    return _sum((wanted, parse_quantities(spec.get("overhead"))))


def parse_quantities(quantities: Mapping[str, Any] | None) -> Amounts:
    """Parse the quantities of a resource list."""
    return {name: _amount(str(text)) for name, text in (quantities or {}).items()}


def insufficient_resources(allocatable: Amounts, used: Amounts, wanted: Amounts) -> list[str]:
    """Return the resources of which a Node has less left than a Pod requests."""
    return [
        name
        for name, amount in wanted.items()
        if amount > 0 and amount > allocatable.get(name, _NOTHING) - used.get(name, _NOTHING)
    ]


def add(used: Amounts, more: Amounts) -> None:
    """Add amounts to those in use."""
    for name, amount in more.items():
        used[name] = used.get(name, _NOTHING) + amount


def _requests(holder: Mapping[str, Any]) -> Amounts:
    return parse_quantities((holder.get("resources") or {}).get("requests"))


def _sum(parts: Iterable[Amounts]) -> Amounts:
    result: Amounts = {}
    for part in parts:
        add(result, part)
    return result


def _maximum(value: Amounts, other: Amounts) -> Amounts:
    names = value.keys() | other.keys()
    return {name: max(value.get(name, _NOTHING), other.get(name, _NOTHING)) for name in names}


@lru_cache(maxsize=1024)
def _amount(text: str) -> Decimal:
    try:
        return parse(text)
    except InvalidQuantity:
        return _NOTHING
