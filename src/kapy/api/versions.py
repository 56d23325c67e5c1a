"""The Kubernetes versions that Machines run (`status.versions`)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key

from kapy.api.embedded import StatusVersion
from kapy.api.machine import Machine
from kapy.kube.version import InvalidVersion, Version, compare, parse_tolerant


def versions_of(machines: Iterable[Machine]) -> list[StatusVersion]:
    """Count machines by version: the kubelet's version, or the desired one until that is known."""
    counted = list(machines)
    versions = set(map(_version_of, counted))
    if len(versions) == 1:  # mostly; then no order matters
        (version,) = versions
        return sum_by_version([StatusVersion(version=version, replicas=len(counted))])
    oldest_first = sorted(
        counted,
        key=lambda machine: (machine.metadata.creation_timestamp or "", machine.metadata.name),
    )
    return sum_by_version(
        StatusVersion(version=_version_of(machine), replicas=1) for machine in oldest_first
    )


def sum_by_version(versions: Iterable[StatusVersion]) -> list[StatusVersion]:
    """Add up the counts of each version, ordered from the oldest to the newest.

    Versions that cannot be compared (build tags of different kinds) keep their order.
    """
    replicas: dict[str, int] = {}
    for version in versions:
        if version.version:
            replicas[version.version] = replicas.get(version.version, 0) + version.replicas
    names = list(replicas)
    if len(names) > 1:
        names.sort(key=cmp_to_key(_compare))
    return [StatusVersion(version=name, replicas=replicas[name]) for name in names]


def _version_of(machine: Machine) -> str:
    info = machine.status.node_info
    return (info.kubelet_version if info is not None else "") or machine.spec.version


def _compare(a: str, b: str) -> int:
    version, other = _parse(a), _parse(b)
    if version is None or other is None:
        if version is None and other is None:
            return -1 if a < b else 1
        return 1 if version is None else -1
    order = compare(version, other, build_tags=True)
    if order in (-1, 1):
        return order
    return 0 if order else (-1 if a < b else 1)


def _parse(text: str) -> Version | None:
    try:
        return parse_tolerant(text)
    except InvalidVersion:
        return None
