"""What a cluster's ClusterResourceSetBinding says of one set. Pure."""

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
    """A binding of a cluster that no set was put into yet."""
    spec = ClusterResourceSetBindingSpec(cluster_name=cluster.name)
    metadata = ObjectMeta(name=cluster.name, namespace=cluster.namespace)
    return ClusterResourceSetBinding(metadata=metadata, spec=spec)


def binding_patch(document: Document, change: Change) -> Document:
    """The merge patch that makes the change, {} when it changes nothing. Several sets write to one
    list, so it holds for the state only that it was made from."""
    before = read(document, ClusterResourceSetBinding)
    after = read(document, ClusterResourceSetBinding)
    change(after)
    if before == after:
        return {}
    patch = difference(encode(before), encode(after))
    version = document["metadata"]["resourceVersion"]
    return {**patch, "metadata": {**patch.get("metadata", {}), "resourceVersion": version}}


def entry_of(binding: ClusterResourceSetBinding | None, name: str) -> ResourceSetBinding | None:
    """What the binding says of a set."""
    bindings = binding.spec.bindings if binding is not None else ()
    return next((one for one in bindings if one.cluster_resource_set_name == name), None)


def resource_of(entry: ResourceSetBinding | None, ref: ResourceRef) -> ResourceBinding | None:
    """What became of one source of a set."""
    resources = entry.resources if entry is not None else ()
    return next((one for one in resources if (one.kind, one.name) == (ref.kind, ref.name)), None)


def is_bound(binding: ClusterResourceSetBinding | None, owner: OwnerReference) -> bool:
    """Whether the set `owner` owns the binding and stands in it."""
    if binding is None or entry_of(binding, owner.name) is None:
        return False
    return _is_named(binding.metadata.owner_references, owner)


def bound(owner: OwnerReference, news: Iterable[ResourceBinding]) -> Change:
    """Note what became of sources of the set `owner`, which owns the binding then. A new set
    stands among the others by its name, whichever of them came first."""
    changed = list(news)

    def change(binding: ClusterResourceSetBinding) -> None:
        references = binding.metadata.owner_references
        if not _is_named(references, owner):
            others = [one for one in references if not _is_set(one, owner.name)]
            binding.metadata.owner_references = [*others, owner]
        entry = entry_of(binding, owner.name)
        if entry is None:
            entry = ResourceSetBinding(cluster_resource_set_name=owner.name)
            insort(binding.spec.bindings, entry, key=lambda one: one.cluster_resource_set_name)
        for one in changed:
            places = [
                place
                for place, known in enumerate(entry.resources)
                if (known.kind, known.name) == (one.kind, one.name)
            ]
            if places:
                entry.resources[places[0]] = one
            else:
                entry.resources.append(one)

    return change


def released(name: str) -> Change:
    """Forget a set."""

    def change(binding: ClusterResourceSetBinding) -> None:
        spec, metadata = binding.spec, binding.metadata
        spec.bindings = [one for one in spec.bindings if one.cluster_resource_set_name != name]
        metadata.owner_references = [
            one for one in metadata.owner_references if not _is_set(one, name)
        ]

    return change


def _is_named(references: Iterable[OwnerReference], owner: OwnerReference) -> bool:
    """Whether one of the references is to the owner, in its present version."""
    wanted = owner.uid, owner.api_version
    return any((one.uid, one.api_version) == wanted for one in references)


def _is_set(owner: OwnerReference, name: str) -> bool:
    return owner.kind == "ClusterResourceSet" and owner.name == name
