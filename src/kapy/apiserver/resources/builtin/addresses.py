"""IP addresses and ranges in objects, validated like in kube-apiserver.

Fields that predate strict validation accept leading zeros (`010.1.1.1`).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Container, Iterator, Sequence
from typing import Final, TypeAlias

from kapy.kube.field_errors import FieldError, invalid

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F:.])0+(?=[0-9])|(?<=\.)0+(?=[0-9])")
_IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_LINK_LOCAL: Final = (ipaddress.ip_network("169.254.0.0/16"), ipaddress.ip_network("fe80::/10"))
_MULTICAST: Final = (ipaddress.ip_network("224.0.0.0/24"), ipaddress.ip_network("ff02::/16"))


def address_of(text: str) -> Address | None:
    """Parse an IP address, ignoring leading zeros; return None if it is invalid."""
    try:
        address = ipaddress.ip_address(_without_zeros(text))
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        return None if address.scope_id else address.ipv4_mapped or address
    return address


def network_of(text: str) -> Network | None:
    """Parse a CIDR range; return None if it is invalid."""
    host, slash, bits = text.partition("/")
    if not slash or not re.fullmatch("[0-9]+", bits) or (len(bits) > 1 and bits[0] == "0"):
        return None
    try:
        return ipaddress.ip_network(f"{_without_zeros(host)}/{bits}", strict=False)
    except ValueError:
        return None


def _without_zeros(text: str) -> str:
    return _ZEROS.sub("", text) if ":" not in text else text


def is_ipv6(text: str) -> bool:
    """Report whether a text is an IPv6 address."""
    return isinstance(address_of(text), ipaddress.IPv6Address)


def ip_errors(text: str, path: str, accepted: Container[str] = ()) -> list[FieldError]:
    """Return the errors of an address with legacy validation. accepted: accepted old values."""
    good = text in accepted or address_of(text) is not None
    return [] if good else [invalid(path, text, _IP)]


def cidr_errors(text: str, path: str, accepted: Container[str] = ()) -> list[FieldError]:
    """Return the errors of a range with legacy validation. accepted: accepted old values."""
    good = text in accepted or network_of(text) is not None
    return [] if good else [invalid(path, text, _CIDR)]


def strict_ip_errors(text: str, path: str) -> Iterator[FieldError]:
    """Yield the errors of an address with strict validation: it must have its canonical form."""
    address = address_of(text)
    if address is None:
        yield invalid(path, text, _IP)
        return
    if _without_zeros(text) != text:
        yield invalid(path, text, "must not have leading 0s")
    elif ":" in text and address.version == 4:
        yield invalid(path, text, "must not be an IPv4-mapped IPv6 address")
    elif str(address) != text:
        yield invalid(path, text, f'must be in canonical form ("{address}")')


def endpoint_ip_errors(text: str, path: str) -> Iterator[FieldError]:
    """Yield the errors of an endpoint address."""
    address = address_of(text)
    if address is None:
        yield invalid(path, text, "must be a valid IP address")
        return
    if address.is_unspecified:
        yield invalid(path, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        yield invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if _within(address, _LINK_LOCAL):
        ranges = "169.254.0.0/16, fe80::/10"
        yield invalid(path, text, f"may not be in the link-local range ({ranges})")
    if _within(address, _MULTICAST):
        ranges = "224.0.0.0/24, ff02::/10"
        yield invalid(path, text, f"may not be in the link-local multicast range ({ranges})")


def _within(address: Address, networks: Sequence[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
