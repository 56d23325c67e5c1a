"""Validation of NetworkPolicies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.apiserver.resources.builtin.addresses import (
    address_of,
    cidr_errors,
    network_of,
)
from kapy.apiserver.resources.builtin.port_errors import number_errors, number_or_name_errors
from kapy.apiserver.resources.label_selectors import selector_errors
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, forbidden, invalid, not_supported, required

_PROTOCOLS: Final = ["TCP", "UDP", "SCTP"]
_TYPES: Final = ["Ingress", "Egress"]
_SIDES: Final = (("ingress", "from"), ("egress", "to"))


def network_policy_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of a NetworkPolicy. IP ranges that the old object has are accepted."""
    spec = document.get("spec") or {}
    old_ranges = set(_ranges((old or {}).get("spec") or {}))
    yield from selector_errors(spec.get("podSelector") or {}, "spec.podSelector")
    for side, peers in _SIDES:
        for index, rule in enumerate(spec.get(side) or ()):
            path = f"spec.{side}[{index}]"
            for at, port in enumerate(rule.get("ports") or ()):
                yield from _port(port, f"{path}.ports[{at}]")
            for at, peer in enumerate(rule.get(peers) or ()):
                yield from _peer(peer, f"{path}.{peers}[{at}]", old_ranges)
    kinds = spec.get("policyTypes") or []
    if len(kinds) > len(_TYPES):
        yield invalid("spec.policyTypes", kinds, "may not specify more than two policyTypes")
        return
    for index, kind in enumerate(kinds):
        if kind not in _TYPES:
            yield not_supported(f"spec.policyTypes[{index}]", kind, _TYPES, ordered=True)


def _ranges(spec: Document) -> Iterator[str]:
    for side, peers in _SIDES:
        for rule in spec.get(side) or ():
            for peer in rule.get(peers) or ():
                block = peer.get("ipBlock") or {}
                yield block.get("cidr") or ""
                yield from block.get("except") or ()


def _port(port: Document, path: str) -> Iterator[FieldError]:
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        yield not_supported(f"{path}.protocol", protocol, _PROTOCOLS, ordered=True)
    if isinstance(number, str) and end is not None:
        text = "may not be specified when `port` is non-numeric"
        yield invalid(f"{path}.endPort", end, text)
    if number is not None:
        yield from number_or_name_errors(number, f"{path}.port")
    elif end is not None:
        text = "may not be specified when `port` is not specified"
        yield invalid(f"{path}.endPort", end, text)
    if isinstance(number, int) and end is not None:
        if end < number:
            yield invalid(f"{path}.endPort", number, "must be greater than or equal to `port`")
        yield from number_errors(end, f"{path}.endPort")


def _peer(peer: Document, path: str, old_ranges: set[str]) -> Iterator[FieldError]:
    selectors = [
        item for item in ("podSelector", "namespaceSelector") if peer.get(item) is not None
    ]
    for field in selectors:
        yield from selector_errors(peer[field], f"{path}.{field}")
    block = peer.get("ipBlock")
    if block is not None:
        yield from _block(block, f"{path}.ipBlock", old_ranges)
        if selectors:
            yield forbidden(path, "may not specify both ipBlock and another peer")
    elif not selectors:
        yield required(path, "must specify a peer")


def _range(text: str, path: str, old_ranges: set[str]) -> Iterator[FieldError]:
    yield from cidr_errors(text, path, old_ranges)
    whole: Any = network_of(text)
    if whole is None or text in old_ranges:
        return
    host = text.partition("/")[0]
    if address_of(host) != whole.network_address:
        yield invalid(path, text, "must not have bits set beyond the prefix length")
    elif str(whole.network_address) != host and ":" not in host:
        yield invalid(path, text, "must not have leading 0s in IP or prefix length")


def _block(block: Document, path: str, old_ranges: set[str]) -> Iterator[FieldError]:
    cidr = block.get("cidr") or ""
    if not cidr:
        yield required(f"{path}.cidr")
        return
    yield from _range(cidr, f"{path}.cidr", old_ranges)
    whole: Any = network_of(cidr)
    if whole is None:
        return
    for index, item in enumerate(block.get("except") or ()):
        where = f"{path}.except[{index}]"
        yield from _range(item, where, old_ranges)
        part: Any = network_of(item)
        if part is None:
            continue
        inside = part.version == whole.version and part.subnet_of(whole) and part != whole
        if not inside:
            yield invalid(where, item, "must be a strict subset of `cidr`")
