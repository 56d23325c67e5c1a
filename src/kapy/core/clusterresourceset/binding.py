"""The entries of sets in a ClusterResourceSetBinding (pure functions)."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable

from kapy.api.cluster_resource_set import ResourceRef
from kapy.api.cluster_resource_set_binding import (
    ClusterResourceSetBinding,
    ClusterResourceSetBindingSpec,
    ResourceBinding,
    ResourceSetBinding,
)
from kapy.kube import Document, Key
from kapy.kube.meta import ObjectMeta, OwnerReference, read
from kapy.kube.model import encode
from kapy.kube.patch.merge_patch import difference

Change = Callable[[ClusterResourceSetBinding], None]


def new_binding(cluster: Key) -> ClusterResourceSetBinding:
    """Return an empty binding for a cluster."""
    spec = ClusterResourceSetBindingSpec(cluster_name=cluster.name)
    metadata = ObjectMeta(name=cluster.name, namespace=cluster.namespace)
    return ClusterResourceSetBinding(metadata=metadata, spec=spec)


def binding_patch(document: Document, change: Change) -> Document:
    """Return the merge patch for a change, {} if nothing changes. Several sets write to one list,
    so it is valid only for the state from which it was computed.
    """
    before = read(document, ClusterResourceSetBinding)
    after = read(document, ClusterResourceSetBinding)
    change(after)
    if before == after:
        return {}
    patch = difference(encode(before), encode(after))
    version = document["metadata"]["resourceVersion"]
    return {**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": version}}


def entry_of(binding: ClusterResourceSetBinding | None, name: str) -> ResourceSetBinding | None:
    """Return a set's entry in the binding."""
    bindings = binding.spec.bindings if binding is not None else ()
    return next(
        (set_binding for set_binding in bindings if set_binding.cluster_resource_set_name == name),
        None,
    )


def resource_of(entry: ResourceSetBinding | None, ref: ResourceRef) -> ResourceBinding | None:
    """Return the result for one source of a set."""
    resources = entry.resources if entry is not None else ()
    return next(
        (
            resource
            for resource in resources
            if (resource.kind, resource.name) == (ref.kind, ref.name)
        ),
        None,
    )


def is_bound(binding: ClusterResourceSetBinding | None, owner: OwnerReference) -> bool:
    """Return whether the set `owner` owns the binding and has an entry in it."""
    if binding is None or entry_of(binding, owner.name) is None:
        return False
    return _is_named(binding.metadata.owner_references, owner)


def binding_with(owner: OwnerReference, news: Iterable[ResourceBinding]) -> Change:
    """Return a change that records results of the set `owner` and sets its ownership. New entries
    are sorted by name, whichever set came first.
    """
    changed = list(news)

    def change(binding: ClusterResourceSetBinding) -> None:
        references = binding.metadata.owner_references
        if not _is_named(references, owner):
            others = [reference for reference in references if not _is_set(reference, owner.name)]
            binding.metadata.owner_references = [*others, owner]
        entry = entry_of(binding, owner.name)
        if entry is None:
            entry = ResourceSetBinding(cluster_resource_set_name=owner.name)
            insort(
                binding.spec.bindings,
                entry,
                key=lambda set_binding: set_binding.cluster_resource_set_name,
            )
        for item in changed:
            places = [
                place
                for place, resource in enumerate(entry.resources)
                if (resource.kind, resource.name) == (item.kind, item.name)
            ]
            if places:
                entry.resources[places[0]] = item
            else:
                entry.resources.append(item)

    return change


def binding_without(name: str) -> Change:
    """Return a change that removes a set."""

    def change(binding: ClusterResourceSetBinding) -> None:
        spec, metadata = binding.spec, binding.metadata
        spec.bindings = [
            set_binding
            for set_binding in spec.bindings
            if set_binding.cluster_resource_set_name != name
        ]
        metadata.owner_references = [
            reference for reference in metadata.owner_references if not _is_set(reference, name)
        ]

    return change


def _is_named(references: Iterable[OwnerReference], owner: OwnerReference) -> bool:
    """Return whether one of the references names the owner in its current version."""
    wanted = owner.uid, owner.api_version
    return any((reference.uid, reference.api_version) == wanted for reference in references)


def _is_set(owner: OwnerReference, name: str) -> bool:
    return owner.kind == "ClusterResourceSet" and owner.name == name
