"""Validation of Services with kube-apiserver's messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kapy.apiserver.resources.builtin.addresses import (
    cidr_errors,
    endpoint_ip_errors,
    ip_errors,
    is_ipv6,
)
from kapy.apiserver.resources.builtin.port_errors import (
    app_protocol_errors,
    number_errors,
    number_or_name_errors,
    protocol_errors,
)
from kapy.apiserver.resources.metadata import label_errors
from kapy.kube import Document
from kapy.kube.field_errors import (
    FieldError,
    FixedText,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kapy.kube.qualified_names import (
    dns_label_errors,
    dns_subdomain_errors,
    qualified_name_errors,
)

_TYPES: Final = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]
_AFFINITIES: Final = ["ClientIP", "None"]
_POLICIES: Final = ["Cluster", "Local"]
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_LONGEST_AFFINITY: Final = 86400
_ONLY_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"

_FAMILIES: Final = ["IPv4", "IPv6"]
_FAMILY_POLICIES: Final = ["PreferDualStack", "RequireDualStack", "SingleStack"]
_PATH: Final = "spec.clusterIPs"


def service_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of a Service or, with `old`, of its update."""
    spec, before = document.get("spec") or {}, (old or {}).get("spec") or {}
    kind, ports = spec.get("type") or "", spec.get("ports") or ()
    if wrong := list(cluster_address_errors(spec, before)):
        yield from wrong  # errors of the allocation come first
        return
    yield from _address_change_errors(spec, before)
    if not ports and not _is_headless(spec) and kind != "ExternalName":
        yield required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and _is_headless(spec):
        text = f"may not be set to 'None' for {kind} services"
        yield invalid("spec.clusterIPs[0]", "None", text)
    if kind == "ExternalName":
        yield from _external_name_errors(spec)
    yield from _port_errors(ports)
    yield from label_errors(spec.get("selector") or {}, "spec.selector")
    yield from _affinity_errors(spec)
    old_addresses = before.get("externalIPs") or ()
    for index, address in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{index}]"
        yield from ip_errors(address, path, old_addresses) or endpoint_ip_errors(address, path)
    if not kind:
        yield required("spec.type")
    elif kind not in _TYPES:
        yield not_supported("spec.type", kind, _TYPES)
    yield from _number_errors(ports, kind)
    yield from _balancer_errors(spec, before, kind)
    yield from _traffic_errors(spec, kind)


def _is_headless(spec: Document) -> bool:
    """Report whether a Service is headless."""
    return bool(spec.get("clusterIPs") == ["None"] or spec.get("clusterIP") == "None")


def _external_name_errors(spec: Document) -> Iterator[FieldError]:
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(field):
            yield forbidden(f"spec.{field}", "may not be set for ExternalName services")
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        yield required("spec.externalName")
    yield from (
        invalid("spec.externalName", name, error) for error in dns_subdomain_errors(name) if name
    )


def _port_errors(ports: Sequence[Document]) -> Iterator[FieldError]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name") or ""
        if not name and len(ports) > 1:
            yield required(f"{path}.name")
        elif name:
            yield from (invalid(f"{path}.name", name, error) for error in dns_label_errors(name))
            if name in names:
                yield duplicate(f"{path}.name", name)
            names.add(name)
        yield from number_errors(port.get("port", 0), f"{path}.port")
        yield from protocol_errors(port.get("protocol"), f"{path}.protocol")
        yield from number_or_name_errors(port.get("targetPort", 0), f"{path}.targetPort")
        yield from app_protocol_errors(port.get("appProtocol"), f"{path}.appProtocol")


def _affinity_errors(spec: Document) -> Iterator[FieldError]:
    affinity, path = spec.get("sessionAffinity") or "", "spec.sessionAffinityConfig"
    if affinity not in _AFFINITIES:
        where = "spec.sessionAffinity"
        yield not_supported(where, affinity, _AFFINITIES) if affinity else required(where)
    if affinity != "ClientIP":
        return
    seconds: Any = spec
    for step in ("sessionAffinityConfig", "clientIP", "timeoutSeconds"):
        seconds = (seconds or {}).get(step)
    if seconds is None:
        yield required(path, "when session affinity type is ClientIP")
    elif not 0 < seconds <= _LONGEST_AFFINITY:
        text = f"must be greater than 0 and less than {_LONGEST_AFFINITY}"
        yield invalid(f"{path}.clientIP.timeoutSeconds", seconds, text)


def _number_errors(ports: Sequence[Document], kind: str) -> Iterator[FieldError]:
    """Yield the errors of duplicate port numbers."""
    for index, port in enumerate(ports):
        if kind == "ClusterIP" and port.get("nodePort"):
            text = "may not be used when `type` is 'ClusterIP'"
            yield forbidden(f"spec.ports[{index}].nodePort", text)
    keys: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        key = port.get("protocol"), port.get("nodePort")
        if key[1] and key in keys:
            yield duplicate(f"spec.ports[{index}].nodePort", key[1])
        keys.add(key)
    keys.clear()
    for index, port in enumerate(ports):
        key = port.get("protocol"), port.get("port")
        if key in keys:
            yield duplicate(f"spec.ports[{index}]", _to_internal(port))
        keys.add(key)


def _to_internal(port: Document) -> FixedText:
    """Return the fields that identify a duplicate port, in the form in which Go prints them."""
    return FixedText.of(
        {
            "Name": "",
            "Protocol": port.get("protocol", ""),
            "AppProtocol": None,
            "Port": port.get("port", 0),
            "TargetPort": 0,
            "NodePort": 0,
        }
    )


def _balancer_errors(spec: Document, before: Document, kind: str) -> Iterator[FieldError]:
    """Yield the errors of fields that only load balancers may have."""
    balanced = kind == "LoadBalancer"
    ranges, path = spec.get("loadBalancerSourceRanges") or (), "spec.LoadBalancerSourceRanges"
    if ranges and not balanced:
        yield forbidden(path, _ONLY_BALANCED)
    old_ranges = [element.strip() for element in before.get("loadBalancerSourceRanges") or ()]
    for index, item in enumerate(ranges):
        yield from cidr_errors(item.strip(), f"{path}[{index}]", old_ranges)
    allocates = spec.get("allocateLoadBalancerNodePorts")
    if allocates is not None and not balanced:
        yield forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCED)
    if allocates is None and balanced:
        yield required("allocateLoadBalancerNodePorts")
    name, path = spec.get("loadBalancerClass"), "spec.loadBalancerClass"
    if name is not None and not balanced:
        yield forbidden(path, _ONLY_BALANCED)
    elif name is not None:
        yield from (invalid(path, name, error) for error in qualified_name_errors(name))
    both = balanced and before.get("type") == "LoadBalancer"
    if both and name != before.get("loadBalancerClass"):
        yield invalid(path, name, "may not change once set")


def _traffic_errors(spec: Document, kind: str) -> Iterator[FieldError]:
    external, path = spec.get("externalTrafficPolicy") or "", "spec.externalTrafficPolicy"
    if not is_externally_accessible(spec):
        if external:
            text = "may only be set for externally-accessible services"
            yield invalid(path, external, text)
    elif not external:
        yield required(path)
    elif external not in _POLICIES:
        yield not_supported(path, external, _POLICIES)
    checked = kind == "LoadBalancer" and external == "Local"
    port, path = spec.get("healthCheckNodePort") or 0, "spec.healthCheckNodePort"
    if port and not checked:
        text = (
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
        yield invalid(path, port, text)
    elif port:
        yield from number_errors(port, path)
    internal, path = spec.get("internalTrafficPolicy"), "spec.internalTrafficPolicy"
    if internal is None and kind in ("ClusterIP", "LoadBalancer", "NodePort"):
        yield required(path)
    elif internal is not None and internal not in _POLICIES:
        yield not_supported(path, internal, _POLICIES)
    spread = spec.get("trafficDistribution")
    if spread is not None and spread not in _DISTRIBUTIONS:
        distributions = ", ".join(f'"{distribution}"' for distribution in _DISTRIBUTIONS)
        text = f"supported values: {distributions}"
        yield FieldError("FieldValueNotSupported", "spec.trafficDistribution", text, spread)


def is_externally_accessible(spec: Document) -> bool:
    """Report whether clients outside the cluster can reach a Service."""
    kind = spec.get("type")
    outside = kind == "ClusterIP" and bool(spec.get("externalIPs"))
    return kind in ("LoadBalancer", "NodePort") or outside


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


def _address_change_errors(spec: Document, old: Document) -> Iterator[FieldError]:
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
    if policy is not None and policy not in _FAMILY_POLICIES:
        yield not_supported("spec.ipFamilyPolicy", FixedText.of(policy), _FAMILY_POLICIES)


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
