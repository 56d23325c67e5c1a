"""Allocation of a Service's cluster IPs, IP families and node ports.

As in kube-apiserver, this precedes the validation. A plane has one IPv4 range.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.apiserver.resources.builtin.addresses import is_ipv6
from kapy.apiserver.resources.builtin.service_errors import cluster_address_errors
from kapy.apiserver.store.table import Table
from kapy.kube import Document
from kapy.kube.errors import Invalid
from kapy.kube.field_errors import FieldError, FixedText, invalid

NODE_PORTS: Final = range(30000, 32768)
_POLICY: Final = "spec.ipFamilyPolicy"


def allocate_service(document: Document, old: Document | None, table: Table) -> None:
    """Allocate what a new or changed Service needs; the document gets its own copy of the spec.

    Raises Invalid if a requested value is not available.
    """
    spec, before = {**(document.get("spec") or {})}, (old or {}).get("spec") or {}
    document["spec"] = spec
    spec["ports"] = [{**port} for port in spec.get("ports") or ()]
    if before:
        _keep_allocated(spec, before)
    _normalize(spec, before)
    name = document["metadata"].get("name") or ""
    if spec.get("type") != "ExternalName":
        _set_families(spec, before, name)
        if not before or before.get("type") == "ExternalName":
            _allocate_address(spec, name, table)
    if needs_node_ports(spec):
        _allocate_node_ports(spec, before, name, table)
    if not spec["ports"]:
        del spec["ports"]


def needs_node_ports(spec: Document) -> bool:
    """Report whether a Service needs node ports."""
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _raise_invalid(name: str, errors: list[FieldError]) -> None:
    if errors:
        raise Invalid.of("Service", "", name, errors)


def _keep_allocated(spec: Document, before: Document) -> None:
    """Keep allocated values that the client left out of an update."""
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        for field in ("clusterIP", "clusterIPs"):
            if not spec.get(field) and before.get(field):
                spec[field] = before[field]
    if needs_node_ports(spec) and needs_node_ports(before):
        old = {port.get("name", ""): port.get("nodePort") for port in before.get("ports") or ()}
        used = set(old.values()) & {port.get("nodePort") for port in spec["ports"]}
        for port in spec["ports"]:
            number = old.get(port.get("name", ""))
            if not port.get("nodePort") and number and number not in used:
                port["nodePort"] = number
    if _is_checked(spec) and _is_checked(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort", 0)


def _is_checked(spec: Document) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _normalize(spec: Document, before: Document) -> None:
    """Make `clusterIP` and `clusterIPs` consistent."""
    item, many = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if not before:
        if item and not many:
            spec["clusterIPs"] = [item]
        return
    old, old_addresses = before.get("clusterIP") or "", before.get("clusterIPs") or []
    if old_addresses and not many and item == old:
        spec["clusterIPs"] = old_addresses
    elif item != old and many == old_addresses:
        if item:
            spec["clusterIPs"] = [item]
        elif old:
            spec.pop("clusterIPs", None)


def _set_families(spec: Document, before: Document, name: str) -> None:
    bare = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        default = "RequireDualStack" if bare else "SingleStack"
        spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy") or default
    _raise_invalid(name, list(cluster_address_errors(spec, before)))
    families, addresses = list(spec.get("ipFamilies") or ()), spec.get("clusterIPs") or []
    single = spec["ipFamilyPolicy"] == "SingleStack"
    if single and before:
        addresses, families = _reduce_to_single_stack(spec, before, addresses, families)
    _raise_invalid(name, list(_count_errors(addresses, families, single=single)))
    for address in addresses[len(families) :]:
        if address != "None":
            families.append("IPv6" if is_ipv6(address) else "IPv4")
    if bare:
        families = families or ["IPv4"]
        if len(families) < 2 and not single:
            families.append("IPv6" if families == ["IPv4"] else "IPv4")
    else:
        _raise_invalid(name, list(_stack_errors(spec["ipFamilyPolicy"], families)))
    spec["ipFamilies"] = families or ["IPv4"]


def _reduce_to_single_stack(
    spec: Document, before: Document, addresses: list[str], families: list[str]
) -> tuple[list[str], list[str]]:
    """Reduce address and family to the first one if the Service becomes single-stack."""
    if addresses == (before.get("clusterIPs") or []) and len(addresses) > 1:
        spec["clusterIPs"] = addresses = addresses[:1]
    if families == (before.get("ipFamilies") or []):
        families = families[:1]
    return addresses, families


def _count_errors(
    addresses: list[str], families: list[str], *, single: bool
) -> Iterator[FieldError]:
    many = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    fixed_text = FixedText.of("SingleStack")
    if single and len(addresses) == 2:
        yield invalid(_POLICY, fixed_text, many.format("cluster IPs"))
    if single and len(families) == 2:
        yield invalid(_POLICY, fixed_text, many.format("IP families"))
    for index, address in enumerate(addresses):
        if index >= len(families) and address != "None" and is_ipv6(address):
            where = f"spec.clusterIPs[{index}]"
            yield invalid(where, addresses, "IPv6 is not configured on this cluster")


def _stack_errors(policy: str, families: list[str]) -> Iterator[FieldError]:
    if policy == "RequireDualStack":
        text = "this cluster is not configured for dual-stack services"
        yield invalid(_POLICY, FixedText.of(policy), text)
    for index, family in enumerate(families):
        if family != "IPv4":
            yield invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")


def _allocate_address(spec: Document, name: str, table: Table) -> None:
    if spec.get("clusterIP"):
        return
    address = _free_address(table)
    if not name:
        # kube-apiserver stores each address as an IPAddress object that names its Service.
        text = (
            f'failed to allocate IP: IPAddress.networking.k8s.io "{address}" is invalid: '
            "spec.parentRef.name: Required value"
        )
        _raise_invalid(name, [invalid("spec.clusterIPs", [""], text)])
    spec["clusterIP"], spec["clusterIPs"] = address, [address]


def _free_address(table: Table) -> str:
    """Return a free address of 10.96.0.0/12; the first one belongs to `kubernetes`."""
    ips = {(item.get("spec") or {}).get("clusterIP") for item in table.scan("")}
    number = len(ips) + 1
    while True:
        address = f"10.{96 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"
        if address not in ips:
            return address
        number += 1


def _allocate_node_ports(spec: Document, before: Document, name: str, table: Table) -> None:
    own = {port.get("nodePort") for port in before.get("ports") or ()}
    ports = _Ports(table, own)
    automatic = spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts", True)
    shared: dict[Any, int] = {}
    for index, port in enumerate(spec["ports"]):
        number = port.get("nodePort")
        if number:
            where = f"spec.ports[{index}].nodePort"
            _raise_invalid(name, [invalid(where, number, text) for text in ports.problems(number)])
        elif automatic:
            same = None if before else shared.get(port.get("port"))
            port["nodePort"] = number = same or ports.free()
        if number:
            ports.taken.add(number)
            shared.setdefault(port.get("port"), number)
    if _is_checked(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = ports.free()


class _Ports:
    """The node ports of all Services. own: those of this Service, which it may keep."""

    def __init__(self, table: Table, own: set[Any]) -> None:
        self._own = own
        self._others = set(_node_ports(table)) - own
        self.taken: set[Any] = self._others | own

    def problems(self, number: int) -> list[str]:
        """Return the reasons why a requested node port is not available."""
        if number in self._own:
            return []
        if number not in NODE_PORTS:
            first, last = NODE_PORTS[0], NODE_PORTS[-1]
            valid = f"The range of valid ports is {first}-{last}"
            return [f"provided port is not in the valid range. {valid}"]
        return ["provided port is already allocated"] if number in self._others else []

    def free(self) -> int:
        """Return a free node port."""
        return next(port for port in NODE_PORTS if port not in self.taken)


def _node_ports(table: Table) -> Iterator[Any]:
    for item in table.scan(""):
        spec = item.get("spec") or {}
        yield spec.get("healthCheckNodePort")
        for port in spec.get("ports") or ():
            yield port.get("nodePort")
