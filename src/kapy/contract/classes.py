"""The references between Clusters, their ClusterClass and its templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_class_template import ClusterClassTemplateReference
from kapy.api.cluster_class_workers import MachineDeploymentClass, MachinePoolClass
from kapy.engine.cache import Cache, Change
from kapy.kube import Document, Key
from kapy.kube.names import split_api_version

BY_CLASS: Final = "class"
BY_TEMPLATE: Final = "template"


def clusters_of_class(cache: Cache) -> Callable[[Key], list[Key]]:
    """Return a function that finds the Clusters of a class in the cache."""
    clusters = cache.informer(Cluster.RESOURCE)
    clusters.add_index(BY_CLASS, _class_of)

    def find(key: Key) -> list[Key]:
        return list(clusters.keys_by_index(BY_CLASS, str(key)))

    return find


def _class_of(cluster: Document) -> Iterable[str]:
    ref = (cluster["spec"].get("topology") or {}).get("classRef")
    if ref:
        yield str(Key(ref.get("namespace") or cluster["metadata"]["namespace"], ref["name"]))


def template_refs(cluster_class: ClusterClass) -> list[ClusterClassTemplateReference]:
    """Return all templates of a class, each once, in the order of the class."""
    return list(
        {(ref.api_version, ref.kind, ref.name): ref for ref in _refs(cluster_class)}.values()
    )


def of_template(cache: Cache) -> Callable[[Change], Iterable[Key]]:
    """Return a mapper from a template to the classes that refer to it, in any version."""
    classes, typed = (
        cache.informer(ClusterClass.RESOURCE),
        cache.informer(ClusterClass).decode_shared,
    )

    def values(document: Document) -> Iterable[str]:
        namespace = document["metadata"].get("namespace", "")
        return {
            _value(namespace, ref.api_version, ref.kind, ref.name) for ref in _refs(typed(document))
        }

    def keys(change: Change) -> Iterable[Key]:
        template = change.document
        metadata = template["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        value = _value(namespace, template["apiVersion"], template["kind"], name)
        return list(classes.keys_by_index(BY_TEMPLATE, value))

    classes.add_index(BY_TEMPLATE, values)
    return keys


def _refs(cluster_class: ClusterClass) -> Iterator[ClusterClassTemplateReference]:
    spec = cluster_class.spec
    yield spec.infrastructure.template_ref
    yield spec.control_plane.template_ref
    if spec.control_plane.machine_infrastructure is not None:
        yield spec.control_plane.machine_infrastructure.template_ref
    workers: list[MachineDeploymentClass | MachinePoolClass] = [
        *spec.workers.machine_deployments,
        *spec.workers.machine_pools,
    ]
    for worker in workers:
        yield worker.bootstrap.template_ref
        yield worker.infrastructure.template_ref


def _value(namespace: str, api_version: str, kind: str, name: str) -> str:
    return f"{namespace}/{split_api_version(api_version)[0]}/{kind}/{name}"
