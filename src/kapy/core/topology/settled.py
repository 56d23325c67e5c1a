"""Recognising a cluster of which nothing is left to do, without computing it once more."""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeAlias

from kapy.contract.control_plane import ControlPlane
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.nested import value_at
from kapy.topology.blueprint import Blueprint
from kapy.topology.patches.external import ExternalPatches
from kapy.topology.state import ClusterState

Settled: TypeAlias = tuple[Any, ...]
"""All that a desired state is computed from and compared with, as far as it can make a
difference."""


_VERSION: Final = tuple(ControlPlane.status_version.path().split("."))
_VERSIONS: Final = tuple(ControlPlane.status_versions.path().split("."))


class Patches(ExternalPatches, Protocol):
    """Asks the extensions that a ClusterClass names, and knows for how long they have answered."""

    def era(self, extension: str) -> str:
        """The same while the answers of an extension to the same requests count."""


def fingerprint(
    blueprint: Blueprint, current: ClusterState, patches: Patches | None = None
) -> Settled:
    """Two equal ones have the same desired state, and the same differences from it.

    Of objects only who they are and what they are meant to be counts, not how they are doing; but
    the versions that run in a control plane decide about upgrades.
    """
    of_class, plane = blueprint.control_plane, current.control_plane
    return (
        _eras(blueprint, patches),
        _object(current.cluster),
        _version(blueprint.cluster_class),
        *map(
            _revision,
            (
                blueprint.infrastructure_cluster_template,
                of_class.template,
                of_class.infrastructure_machine_template,
            ),
        ),
        *(
            _revision(template)
            for workers in (blueprint.machine_deployments, blueprint.machine_pools)
            for one in workers.values()
            for template in (one.bootstrap_template, one.infrastructure_template)
        ),
        _document(current.infrastructure_cluster),
        _control_plane(plane.object),
        _document(plane.infrastructure_machine_template),
        _object(plane.machine_health_check),
        *(
            (
                name,
                one.is_upgrading,
                _object(one.object),
                _document(one.bootstrap_template),
                _document(one.infrastructure_machine_template),
                _object(one.machine_health_check),
            )
            for name, one in current.machine_deployments.items()
        ),
        *(
            (
                name,
                one.is_upgrading,
                _object(one.object),
                _document(one.bootstrap_object),
                _document(one.infrastructure_machine_pool_object),
            )
            for name, one in current.machine_pools.items()
        ),
    )


def _eras(blueprint: Blueprint, patches: Patches | None) -> list[str]:
    """Of the extensions that patch: no other answers are in a desired state that is settled."""
    asked = (one.external for one in blueprint.cluster_class.spec.patches)
    names = (
        name
        for one in asked
        if one is not None
        for name in (one.generate_patches_extension, one.validate_topology_extension)
    )
    return [] if patches is None else [patches.era(name) for name in names if name]


def _revision(document: Document | None) -> str:
    return "" if document is None else document["metadata"]["resourceVersion"]


def _control_plane(document: Document | None) -> tuple[Any, ...]:
    if document is None:
        return ()
    versions = value_at(document, _VERSIONS)
    if isinstance(versions, list):
        versions = [one.get("version") for one in versions if isinstance(one, dict)]
    return (*_document(document), value_at(document, _VERSION), versions)


def _version(obj: Object) -> str:
    return obj.metadata.resource_version


def _object(obj: Object | None) -> tuple[Any, ...]:
    if obj is None:
        return ()
    one = obj.metadata
    said = one.labels, one.annotations, one.owner_references
    return one.uid, one.generation, one.deletion_timestamp is None, *said


def _document(document: Document | None) -> tuple[Any, ...]:
    if document is None:
        return ()
    one = document["metadata"]
    said = tuple(one.get(name) for name in ("labels", "annotations", "ownerReferences"))
    return one["uid"], one.get("generation"), "deletionTimestamp" in one, *said
