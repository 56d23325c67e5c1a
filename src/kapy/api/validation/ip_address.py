"""Validation of IPAddresses and IPAddressClaims."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

from kapy.api.features import FeatureGates
from kapy.api.ip_address import IPAddress, IPAddressClaim, IPAddressSpec
from kapy.api.validation.immutable import changed_fields
from kapy.kube.field_errors import FieldError, forbidden, invalid
from kapy.kube.model import Model, encode


def ip_address_errors(new: IPAddress, old: IPAddress | None, _: FeatureGates) -> list[FieldError]:
    """Return the validation errors of an IPAddress alone; `kapy.core` compares it with its
    claim.
    """
    if old is not None:
        return _immutability_errors("IPAddress", old.spec, new.spec)
    spec = new.spec
    address = _parse_address(spec.address)
    errors = [] if address else [invalid("spec.address", spec.address, "not a valid IP address")]
    errors += _prefix_errors(spec, address)
    if spec.gateway and _parse_address(spec.gateway) is None:
        errors.append(invalid("spec.gateway", spec.gateway, "not a valid IP address"))
    return errors


def ip_address_claim_errors(
    new: IPAddressClaim, old: IPAddressClaim | None, _: FeatureGates
) -> list[FieldError]:
    """Return the validation errors of an IPAddressClaim."""
    return [] if old is None else _immutability_errors("IPAddressClaim", old.spec, new.spec)


def _immutability_errors(kind: str, old: Model, new: Model) -> list[FieldError]:
    if changed := changed_fields(encode(old), encode(new)):
        problem = f"{kind} spec is immutable. Diff: {', '.join(changed)}"
        return [forbidden("spec", problem)]
    return []


def _prefix_errors(
    spec: IPAddressSpec, address: IPv4Address | IPv6Address | None
) -> list[FieldError]:
    if spec.prefix < 0:
        return [invalid("spec.prefix", spec.prefix, "prefix cannot be negative")]
    if address is not None and spec.prefix > address.max_prefixlen:
        problem = f"prefix is too large for an IPv{address.version} address"
        return [invalid("spec.prefix", spec.prefix, problem)]
    return []


def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None
