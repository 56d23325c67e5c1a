"""Recognize a settled topology by its fingerprint, without computing the desired state again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from kapy.contract.control_plane import ControlPlane
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.nested import value_at
from kapy.topology.blueprint import Blueprint
from kapy.topology.patches.external import ExternalPatches
from kapy.topology.state import ClusterState

Fingerprint: TypeAlias = tuple[Any, ...]
"""All inputs of a desired state and of the comparison with it, as far as they can make a
difference."""

RECHECK: Final = timedelta(minutes=10)
"""The interval after which extensions are called again for an unchanged topology: upstream's sync
period."""


_VERSION: Final = tuple(ControlPlane.status_version.path().split("."))
_VERSIONS: Final = tuple(ControlPlane.status_versions.path().split("."))


class PatchRevisions(ExternalPatches, Protocol):
    """Calls the extensions that a ClusterClass names."""

    def revision(self, extension: str) -> str:
        """Return a text that changes with an extension's ExtensionConfig."""


class SettledTopology(NamedTuple):
    """A topology that needs no writes until something changes.

    fingerprint: the fingerprint of its inputs. said: the messages of its conditions. until: the
    time when extensions have to be called again without a change; None if the class names no
    extension.
    """

    fingerprint: Fingerprint
    said: tuple[str, ...]
    until: datetime | None = None


def fingerprint(
    blueprint: Blueprint, current: ClusterState, patches: PatchRevisions | None = None
) -> Fingerprint:
    """Return a value that is equal only if desired state and differences are equal.

    It covers identity and spec of objects, not their status, except for the versions of a control
    plane, which affect upgrades. If extensions are called, every change of an object counts, since
    they must be called after it.
    """
    of_class, plane = blueprint.control_plane, current.control_plane
    return (
        _of_extensions(blueprint, current, patches),
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
            for worker in workers.values()
            for template in (worker.bootstrap_template, worker.infrastructure_template)
        ),
        _document(current.infrastructure_cluster),
        _control_plane(plane.object),
        _document(plane.infrastructure_machine_template),
        _object(plane.machine_health_check),
        *(
            (
                name,
                deployment.is_upgrading,
                _object(deployment.object),
                _document(deployment.bootstrap_template),
                _document(deployment.infrastructure_machine_template),
                _object(deployment.machine_health_check),
            )
            for name, deployment in current.machine_deployments.items()
        ),
        *(
            (
                name,
                pool.is_upgrading,
                _object(pool.object),
                _document(pool.bootstrap_object),
                _document(pool.infrastructure_machine_pool_object),
            )
            for name, pool in current.machine_pools.items()
        ),
    )


def extensions_of(blueprint: Blueprint) -> list[str]:
    """Return the handlers that a reconcile calls for patches and validation."""
    externals = (patch.external for patch in blueprint.cluster_class.spec.patches)
    return [
        name
        for definition in externals
        if definition is not None
        for name in (definition.generate_patches_extension, definition.validate_topology_extension)
        if name
    ]


def _of_extensions(
    blueprint: Blueprint, current: ClusterState, patches: PatchRevisions | None
) -> tuple[str, ...]:
    names = extensions_of(blueprint)
    if patches is None or not names:
        return ()
    return *map(patches.revision, names), *_revisions(current)


def _revisions(current: ClusterState) -> Iterator[str]:
    """Return the resourceVersions of all objects of a cluster."""
    plane = current.control_plane
    yield _version(current.cluster)
    yield from map(_revision, (current.infrastructure_cluster, plane.object))
    yield _revision(plane.infrastructure_machine_template)
    objects: list[Object | None] = [plane.machine_health_check]
    for group in current.machine_deployments.values():
        objects += [group.object, group.machine_health_check]
        yield _revision(group.bootstrap_template)
        yield _revision(group.infrastructure_machine_template)
    for pool in current.machine_pools.values():
        objects.append(pool.object)
        yield _revision(pool.bootstrap_object)
        yield _revision(pool.infrastructure_machine_pool_object)
    yield from (_version(obj) for obj in objects if obj is not None)


def _revision(document: Document | None) -> str:
    return "" if document is None else document["metadata"]["resourceVersion"]


def _control_plane(document: Document | None) -> tuple[Any, ...]:
    if document is None:
        return ()
    versions = value_at(document, _VERSIONS)
    if isinstance(versions, list):
        versions = [version.get("version") for version in versions if isinstance(version, dict)]
    return (*_document(document), value_at(document, _VERSION), versions)


def _version(obj: Object) -> str:
    return obj.metadata.resource_version


def _object(obj: Object | None) -> tuple[Any, ...]:
    if obj is None:
        return ()
    metadata = obj.metadata
    entries = metadata.labels, metadata.annotations, metadata.owner_references
    return metadata.uid, metadata.generation, metadata.deletion_timestamp is None, *entries


def _document(document: Document | None) -> tuple[Any, ...]:
    if document is None:
        return ()
    metadata = document["metadata"]
    entries = tuple(metadata.get(name) for name in ("labels", "annotations", "ownerReferences"))
    return metadata["uid"], metadata.get("generation"), "deletionTimestamp" in metadata, *entries
