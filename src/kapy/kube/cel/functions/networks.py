"""Kubernetes' IP and CIDR libraries."""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from kapy.kube.cel.errors import EvaluationError
from kapy.kube.cel.overloads import Function
from kapy.kube.cel.values import Cidr, Ip


def _ip(text: str) -> Ip:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        reason = f"IP Address {text!r} parse error during conversion from string: "
        raise EvaluationError(f"{reason}unable to parse IP") from None
    if "%" in text:
        raise EvaluationError(f"IP address {text!r} with zone value is not allowed")
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        raise EvaluationError(f"IPv4-mapped IPv6 address {text!r} is not allowed")
    return address


def _cidr(text: str) -> Cidr:
    address, slash, bits = text.partition("/")
    try:
        if not slash or not re.fullmatch(r"0|[1-9]\d*", bits, re.ASCII):
            raise ValueError
        _ip(address)
        return ipaddress.ip_interface(text)
    except ValueError:
        reason = f"network address parse error during conversion from string: {text!r}"
        raise EvaluationError(reason) from None


def _is_ip(text: str) -> bool:
    try:
        _ip(text)
    except EvaluationError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        _cidr(text)
    except EvaluationError:
        return False
    return True


def _link_local_multicast(ip: Ip) -> bool:
    network = "224.0.0.0/24" if ip.version == 4 else "ff02::/16"
    return ip in ipaddress.ip_network(network)


def _global_unicast(ip: Ip) -> bool:
    """Return whether an address is global unicast as in Go: private addresses are."""
    broadcast = ip.version == 4 and int(ip) == 2**32 - 1
    return not (
        broadcast or ip.is_unspecified or ip.is_loopback or ip.is_multicast or ip.is_link_local
    )


def _contains_ip(cidr: Cidr, ip: Ip) -> bool:
    return cidr.version == ip.version and ip in cidr.network


def _contains_cidr(cidr: Cidr, inner: Cidr) -> bool:
    if cidr.version != inner.version or inner.network.prefixlen < cidr.network.prefixlen:
        return False
    return inner.ip in cidr.network


def _mask(cidr: Cidr) -> Cidr:
    return ipaddress.ip_interface(f"{cidr.network.network_address}/{cidr.network.prefixlen}")


FUNCTIONS: Final[dict[str, Function]] = {
    "isIP(string) -> bool": _is_ip,
    "ip(string) -> net.IP": _ip,
    "ip.isCanonical(string) -> bool": lambda text: str(_ip(text)) == text,
    "string(net.IP) -> string": str,
    "net.IP :: family() -> int": lambda value: value.version,
    "net.IP :: isUnspecified() -> bool": lambda value: value.is_unspecified,
    "net.IP :: isLoopback() -> bool": lambda value: value.is_loopback,
    "net.IP :: isLinkLocalMulticast() -> bool": _link_local_multicast,
    "net.IP :: isLinkLocalUnicast() -> bool": lambda value: value.is_link_local,
    "net.IP :: isGlobalUnicast() -> bool": _global_unicast,
    "isCIDR(string) -> bool": _is_cidr,
    "cidr(string) -> net.CIDR": _cidr,
    "string(net.CIDR) -> string": str,
    "net.CIDR :: containsIP(net.IP) -> bool": _contains_ip,
    "net.CIDR :: containsIP(string) -> bool": lambda value, text: _contains_ip(value, _ip(text)),
    "net.CIDR :: containsCIDR(net.CIDR) -> bool": _contains_cidr,
    "net.CIDR :: containsCIDR(string) -> bool": lambda value, text: _contains_cidr(
        value, _cidr(text)
    ),
    "net.CIDR :: ip() -> net.IP": lambda value: value.ip,
    "net.CIDR :: masked() -> net.CIDR": _mask,
    "net.CIDR :: prefixLength() -> int": lambda value: value.network.prefixlen,
}
