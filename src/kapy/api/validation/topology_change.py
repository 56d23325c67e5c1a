"""Changes of a Cluster's topology: its class and its version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_topology import Topology
from kapy.api.names import Annotation
from kapy.api.validation.cluster_topology import NO_VERSION
from kapy.kube.field_errors import FieldError, forbidden, invalid
from kapy.kube.version import InvalidVersion, Version, compare, parse_tolerant

VERSION: Final = "spec.topology.version"
CLASS: Final = "spec.topology.class"
UNCHECKED: Final = (
    "Skipping version validation for Cluster because annotation "
    f'"{Annotation.UNSAFE_UPDATE_VERSION}" is set.'
)
"""The warning for a user who changes the version without the checks."""

_HOOK: Final = "AfterClusterUpgrade"
_NONE: Final = Version(0, 0, 0)


def new_topology_errors(cluster: Cluster) -> list[FieldError]:
    """Return an error if a Cluster without topology gets one, unless an annotation allows it."""
    if Annotation.UNSAFE_UPDATE_CLASS_NAME in cluster.metadata.annotations:
        return []
    return [forbidden(CLASS, "classRef cannot be set on an existing Cluster")]


def changes_version(old: Topology, new: Topology) -> bool:
    """Report whether the change sets another version."""
    return str(_parse_version(old.version)) != str(_parse_version(new.version))


def version_change_errors(
    cluster: Cluster, old: Topology, new: Topology, *, ceiling: bool, unsettled: Sequence[str]
) -> list[FieldError]:
    """Return the errors that forbid the new version."""
    errors = []
    after, before = _parse_version(new.version), _parse_version(old.version)
    if after is _NONE:
        errors.append(invalid(VERSION, new.version, NO_VERSION))
    if before is _NONE:
        problem = "old version must be a valid semantic version"
        errors.append(invalid(VERSION, old.version, problem))
    annotations = cluster.metadata.annotations
    if Annotation.UNSAFE_UPDATE_VERSION in annotations or str(after) == str(before):
        return errors
    is_comparable = after is not _NONE and before is not _NONE
    if is_comparable and compare(after, before, pre_releases=False) < 0:
        problem = f'version cannot be decreased from "{before}" to "{after}"'
    elif ceiling and _is_two_minors_on(before, after):
        problem = f'version cannot be increased from "{before}" to "{after}"'
    elif _HOOK in annotations.get(Annotation.PENDING_HOOKS, "").split(","):
        problem = f'version cannot be changed when the "{_HOOK}" hook is still blocking'
    elif unsettled:
        all_ = unsettled[0] if len(unsettled) == 1 else f"[{', '.join(unsettled)}]"
        problem = f"version cannot be changed: {all_}"
    else:
        return errors
    return [*errors, invalid(VERSION, new.version, problem)]


def _is_two_minors_on(before: Version, after: Version) -> bool:
    limit = Version(before.major, before.minor + 2, 0)
    return compare(after, limit, pre_releases=False) >= 0


def _parse_version(version: str) -> Version:
    try:
        return parse_tolerant(version)
    except InvalidVersion:
        return _NONE
