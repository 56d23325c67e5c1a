"""Validation of Endpoints and EndpointSlices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.apiserver.resources.builtin.addresses import (
    endpoint_ip_errors,
    ip_errors,
    is_ipv6,
    strict_ip_errors,
)
from kapy.apiserver.resources.builtin.port_errors import (
    app_protocol_errors,
    number_errors,
    protocol_errors,
)
from kapy.apiserver.resources.metadata import label_errors
from kapy.kube import Document
from kapy.kube.field_errors import (
    FieldError,
    FixedText,
    duplicate,
    invalid,
    not_supported,
    required,
)
from kapy.kube.qualified_names import (
    dns_label_errors,
    dns_subdomain_errors,
    label_value_errors,
)

_TYPES: Final = ["FQDN", "IPv4", "IPv6"]
_MOST_ENDPOINTS: Final = 1000
_MOST_ADDRESSES: Final = 100
_MOST_HINTS: Final = 8


def endpoints_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of Endpoints; unchanged subsets are not validated again."""
    subsets = document.get("subsets") or []
    if old is not None and subsets == (old.get("subsets") or []):
        return
    for index, subset in enumerate(subsets):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(path, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for at, address in enumerate(subset.get(field) or ()):
                yield from _address_errors(address, f"{path}.{field}[{at}]")
        ports = subset.get("ports") or ()
        for at, port in enumerate(ports):
            yield from _port_errors(port, f"{path}.ports[{at}]", named=len(ports) > 1)


def _address_errors(address: Document, path: str) -> Iterator[FieldError]:
    ip = address.get("ip") or ""
    yield from ip_errors(ip, f"{path}.ip")
    if host := address.get("hostname"):
        yield from (invalid(f"{path}.hostname", host, error) for error in dns_label_errors(host))
    node = address.get("nodeName")
    if node is not None:
        yield from (
            invalid(f"{path}.nodeName", node, error) for error in dns_subdomain_errors(node)
        )
    yield from endpoint_ip_errors(ip, f"{path}.ip")


def _port_errors(port: Document, path: str, *, named: bool) -> Iterator[FieldError]:
    name = port.get("name") or ""
    if named and not name:
        yield required(f"{path}.name")
    elif name:
        yield from (invalid(f"{path}.name", name, error) for error in dns_label_errors(name))
    yield from number_errors(port.get("port") or 0, f"{path}.port")
    yield from protocol_errors(port.get("protocol"), f"{path}.protocol")
    yield from app_protocol_errors(port.get("appProtocol"), f"{path}.appProtocol")


def slice_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of an EndpointSlice; unchanged endpoints are not validated again."""
    kind = document.get("addressType") or ""
    if not kind:
        yield required("addressType")
    elif kind not in _TYPES:
        yield not_supported("addressType", kind, _TYPES)
    yield from _slice_port_errors(document.get("ports") or ())
    endpoints = document.get("endpoints") or []
    if old is None or endpoints != (old.get("endpoints") or []):
        yield from _endpoints_errors(endpoints, kind)
    if old is not None and kind != old.get("addressType"):
        yield invalid("addressType", kind, "field is immutable")


def _slice_port_errors(ports: Any) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"ports[{index}]", port.get("name") or ""
        if name:
            yield from (invalid(f"{path}.name", name, error) for error in dns_label_errors(name))
        if name in names:
            yield duplicate(f"{path}.name", FixedText.of(name))
        names.add(name)
        yield from protocol_errors(port.get("protocol"), f"{path}.protocol")
        yield from app_protocol_errors(port.get("appProtocol"), f"{path}.appProtocol")


def _endpoints_errors(endpoints: list[Document], kind: str) -> Iterator[FieldError]:
    if len(endpoints) > _MOST_ENDPOINTS:
        yield _too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        path = f"endpoints[{index}]"
        addresses = endpoint.get("addresses") or []
        if not addresses:
            yield required(f"{path}.addresses", "must contain at least 1 address")
        elif len(addresses) > _MOST_ADDRESSES:
            yield _too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES)
        for at, address in enumerate(addresses):
            yield from _address_type_errors(kind, address, f"{path}.addresses", at)
        node = endpoint.get("nodeName")
        if node is not None:
            yield from (
                invalid(f"{path}.nodeName", node, error) for error in dns_subdomain_errors(node)
            )
        topology = endpoint.get("deprecatedTopology") or {}
        yield from label_errors(topology, f"{path}.deprecatedTopology")
        host = endpoint.get("hostname")
        if host is not None:
            yield from (
                invalid(f"{path}.hostname", host, error) for error in dns_label_errors(host)
            )
        yield from _hint_errors(endpoint.get("hints") or {}, f"{path}.hints")


def _too_many(path: str, count: int, most: int) -> FieldError:
    return FieldError("FieldValueTooMany", path, f"must have at most {most} items", count)


def _address_type_errors(kind: str, address: str, path: str, at: int) -> Iterator[FieldError]:
    """Yield the errors of an address of this type.

    An address of the wrong IP version is reported for the whole list.
    """
    where = f"{path}[{at}]"
    if kind == "FQDN":
        yield from _domain_errors(address, where)
        return
    if kind not in _TYPES:
        return
    old = kind == "IPv4"
    wrong = ip_errors(address, where) if old else list(strict_ip_errors(address, where))
    if wrong:
        yield from wrong
        return
    if is_ipv6(address) == old:
        yield invalid(path, address, f"must be an {kind} address")
    yield from endpoint_ip_errors(address, where)


def _domain_errors(name: str, path: str) -> Iterator[FieldError]:
    if not name:
        yield required(path)
        return
    bare = name.removesuffix(".")
    if wrong := dns_subdomain_errors(bare):
        yield invalid(path, bare, ",".join(wrong))
        return
    if "." not in bare:
        yield invalid(path, bare, "should be a domain with at least two segments separated by dots")
    for label in bare.split("."):
        if wrong := dns_label_errors(label):
            yield invalid(path, label, ",".join(wrong))


def _hint_errors(hints: Document, path: str) -> Iterator[FieldError]:
    for field, check in (("forZones", label_value_errors), ("forNodes", dns_subdomain_errors)):
        items = hints.get(field) or []
        if len(items) > _MOST_HINTS:
            yield _too_many(f"{path}.{field}", len(items), _MOST_HINTS)
            return
        names: set[str] = set()
        for index, item in enumerate(items):
            where, name = f"{path}.{field}[{index}].name", item.get("name") or ""
            if name in names:
                yield duplicate(where, name)
            names.add(name)
            yield from (invalid(where, name, text) for text in check(name))
