"""Validation of a Service's cluster IPs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.apiserver.resources.builtin.addresses import ip_errors, is_ipv6
from kapy.kube import Document
from kapy.kube.field_errors import (
    FieldError,
    FixedText,
    duplicate,
    invalid,
    not_supported,
    required,
)

_FAMILIES: Final = ["IPv4", "IPv6"]
_POLICIES: Final = ["PreferDualStack", "RequireDualStack", "SingleStack"]
_PATH: Final = "spec.clusterIPs"


def cluster_address_errors(spec: Document, before: Document) -> Iterator[FieldError]:
    """Yield the errors of cluster IPs, IP families and the family policy.

    before: the old spec, {} for a new Service.
    """
    if spec.get("type") == "ExternalName":
        return
    addresses: list[str] = spec.get("clusterIPs") or []
    first = spec.get("clusterIP") or ""
    if first and not addresses:
        yield required(_PATH)
    elif first and addresses[0] != first:
        yield invalid(_PATH, addresses, "first value must match `clusterIP`")
    elif addresses and not first:
        yield invalid(_PATH, addresses, "must be empty when `clusterIP` is not specified")
    yield from _family_errors(spec)
    wrong = list(_each_error(addresses, before.get("clusterIPs") or []))
    yield from wrong
    if len(addresses) > 2:
        yield invalid(_PATH, addresses, "may only hold up to 2 values")
    if not wrong:
        yield from _stack_errors(addresses, spec.get("ipFamilies") or [])


def address_change_errors(spec: Document, old: Document) -> Iterator[FieldError]:
    """Yield the errors of changed cluster IPs. old: the old spec."""
    if not old or "ExternalName" in (spec.get("type"), old.get("type")):
        return
    addresses: list[str] = spec.get("clusterIPs") or []
    before: list[str] = old.get("clusterIPs") or []
    if before == ["None"] and addresses == ["None"]:
        return
    for index, (new, old_address) in enumerate(zip(addresses, before, strict=False)):
        if new != old_address and (len(addresses) == len(before) or not index):
            where = index if len(addresses) == len(before) else 0
            yield invalid(f"{_PATH}[{where}]", addresses, "may not change once set")


def _family_errors(spec: Document) -> Iterator[FieldError]:
    families = spec.get("ipFamilies") or []
    for index, family in enumerate(families):
        path = f"spec.ipFamilies[{index}]"
        if family not in _FAMILIES:
            yield not_supported(path, family, _FAMILIES)
        if family in families[:index]:
            yield duplicate(path, family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        yield not_supported("spec.ipFamilyPolicy", FixedText.of(policy), _POLICIES)


def _each_error(addresses: list[str], accepted: list[str]) -> Iterator[FieldError]:
    for index, address in enumerate(addresses):
        if not index and address == "None":
            if len(addresses) > 1:
                yield invalid(_PATH, addresses, "'None' must be the first and only value")
            continue
        yield from ip_errors(address, f"{_PATH}[{index}]", accepted)


def _stack_errors(addresses: list[str], families: list[str]) -> Iterator[FieldError]:
    if len(addresses) > 1 and len({is_ipv6(item) for item in addresses}) == 1:
        text = "may specify no more than one IP for each IP family"
        yield invalid(_PATH, addresses, text)
    if addresses == ["None"]:
        return
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if family in _FAMILIES and (family == "IPv6") != is_ipv6(address):
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield invalid(f"{_PATH}[{index}]", address, text)
