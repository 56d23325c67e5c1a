"""Decode the values of contract fields."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

from msgspec import ValidationError

from kapy.api.embedded import (
    APIEndpoint,
    ContractVersionedObjectReference,
    FailureDomain,
    MachineAddress,
    MachineReadinessGate,
    MachineTaint,
    StatusVersion,
    TemplateMeta,
)
from kapy.api.times import moment
from kapy.contract.fields import kind_of
from kapy.contract.limits import out_of_limits
from kapy.kube.model import Model, decode
from kapy.kube.names import split_api_version

M = TypeVar("M", bound=Model)

MOST_DOMAINS: Final = 100  # limit of a Cluster's status


def endpoint(value: Any) -> APIEndpoint:
    """Decode the endpoint of a control plane; host or port may still be missing."""
    return _decode(value, APIEndpoint)


def address(value: Any) -> MachineAddress:
    """Decode one address of a machine."""
    return _decode(value, MachineAddress)


def reference(value: Any) -> ContractVersionedObjectReference:
    """Decode a reference by group, kind and name."""
    return _decode(value, ContractVersionedObjectReference)


def versioned_reference(value: Any) -> ContractVersionedObjectReference:
    """Decode a v1beta1 reference by group, version, kind and name."""
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, got {kind_of(value)}")
    version = value.get("apiVersion")
    group = split_api_version(version)[0] if isinstance(version, str) else ""
    return reference({**value, "apiGroup": group})


def template_meta(value: Any) -> TemplateMeta:
    """Decode labels and annotations of objects made from a template."""
    return _decode(value, TemplateMeta)


def status_version(value: Any) -> StatusVersion:
    """Decode a version and the number of machines that run it."""
    return _decode(value, StatusVersion)


def readiness_gate(value: Any) -> MachineReadinessGate:
    """Decode a readiness gate."""
    return _decode(value, MachineReadinessGate)


def taint(value: Any) -> MachineTaint:
    """Decode a taint for the Nodes of machines."""
    return _decode(value, MachineTaint)


def time(value: Any) -> datetime:
    """Decode a timestamp."""
    try:
        return moment(value)
    except (TypeError, ValueError):
        raise TypeError(f"expected a time, got {kind_of(value)}") from None


def failure_domains(value: Any) -> Sequence[FailureDomain]:
    """Decode the list form (v1beta2), by name; controlPlane defaults to false."""
    if not isinstance(value, list):
        raise TypeError(f"expected a list, got {kind_of(value)}")
    return _by_name([_decode(item, FailureDomain) for item in value])


def failure_domain_map(value: Any) -> Sequence[FailureDomain]:
    """Decode the map form (v1beta1): name → controlPlane and attributes."""
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, got {kind_of(value)}")
    return _by_name(
        [_decode({**(item or {}), "name": name}, FailureDomain) for name, item in value.items()]
    )


def _by_name(domains: list[FailureDomain]) -> Sequence[FailureDomain]:
    if len(domains) > MOST_DOMAINS:
        raise TypeError(f"there may be {MOST_DOMAINS} domains, not {len(domains)}")
    names = set[str]()
    for domain in domains:
        domain.control_plane = bool(domain.control_plane)
        if domain.name in names:
            raise TypeError(f'the name "{domain.name}" is there twice')
        names.add(domain.name)
    return sorted(domains, key=lambda failure_domain: failure_domain.name)


def _decode(value: Any, kind: type[M]) -> M:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, got {kind_of(value)}")
    try:
        decoded = decode(value, kind)
    except ValidationError as error:
        raise TypeError(str(error)) from None
    if (problem := out_of_limits(decoded)) is not None:
        raise TypeError(problem)
    return decoded
