"""ClusterResourceSetBindings are shared by sets, and go with the last one or the cluster."""

from __future__ import annotations

import pytest

from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.kube import Document, Key
from kapy.kube.errors import Conflict
from kapy.kube.http import Request
from tests.core.clusterresourceset.resource_sets import (
    APPLIED,
    binding,
    config_map,
    delivered,
    inside,
    manifest,
    resource_set,
    told,
)
from tests.core.environment import Environment


async def test_several_sets_share_a_binding_despite_refused_writes(plane: Environment) -> None:
    refusals = iter([True, False] * 4)

    def now_and_then(request: Request) -> Exception | None:
        changes = request.method == "PATCH" and "clusterresourcesetbindings" in request.path
        return Conflict("somebody was faster") if changes and next(refusals, False) else None

    plane.controllers.fault = now_and_then
    names = [f"set-{number}" for number in range(5)]
    sets = [resource_set(name) for name in reversed(names)]
    await delivered(plane, config_map(k=manifest("a")), *sets)
    assert list(await binding(plane)) == names
    assert {(await told(plane, name))[0] for name in names} == {"True"}

    for name in names[1:]:
        await plane.client.delete(ClusterResourceSet, Key("default", name))
        await plane.story.until_gone(ClusterResourceSet, name)
    set_binding = await plane.story.get(ClusterResourceSetBinding, "c")
    assert set_binding is not None
    assert list(await binding(plane)) == names[:1]
    assert [reference.name for reference in set_binding.metadata.owner_references] == names[:1]

    await plane.client.delete(ClusterResourceSet, Key("default", names[0]))
    await plane.story.until_gone(ClusterResourceSetBinding, "c")
    assert await inside(plane, "a") is not None


async def owners_of_binding(plane: Environment) -> list[Document]:
    document = await plane.client.get(ClusterResourceSetBinding.RESOURCE, Key("default", "c"))
    return document["metadata"].get("ownerReferences") or []


@pytest.mark.parametrize("paused", [True, False])
async def test_owner_references_of_a_binding_are_restored(
    plane: Environment, *, paused: bool
) -> None:
    await delivered(plane, config_map(k=manifest("a")), resource_set())
    await plane.story.merge(Cluster, "c", {"spec": {"paused": paused}})
    await plane.settle()
    before = await owners_of_binding(plane)
    assert [(document["kind"], document["name"]) for document in before] == [
        ("ClusterResourceSet", "set")
    ]
    outdated = [
        {**document, "apiVersion": "addons.cluster.x-k8s.io/v1alpha4"} for document in before
    ]
    for spoilt in ([], outdated):
        patch = {"metadata": {"ownerReferences": spoilt}}
        key = Key("default", "c")
        await plane.client.patch(ClusterResourceSetBinding.RESOURCE, key, patch)
        await plane.settle(1)
        assert await owners_of_binding(plane) == before


async def test_a_deleted_set_leaves_the_binding_to_the_others(plane: Environment) -> None:
    await delivered(plane, config_map(k=manifest("a")), resource_set("one"), resource_set("two"))
    assert set(await binding(plane)) == {"one", "two"}
    before = await plane.story.get(ClusterResourceSetBinding, "c")
    await plane.client.delete(ClusterResourceSet, Key("default", "one"))
    await plane.settle()
    after = await plane.story.get(ClusterResourceSetBinding, "c")
    assert before is not None
    assert after is not None
    assert after.metadata.uid == before.metadata.uid
    assert set(await binding(plane)) == {"two"}
    assert [owner["name"] for owner in await owners_of_binding(plane)] == ["two"]
    await plane.client.delete(ClusterResourceSet, Key("default", "two"))
    await plane.settle()
    assert await plane.story.get(ClusterResourceSetBinding, "c") is None


async def test_a_binding_is_deleted_with_its_cluster(plane: Environment) -> None:
    await delivered(plane, config_map(k=manifest("a")), resource_set())
    hold = {"metadata": {"finalizers": ["test.example.com/hold"]}}
    await plane.story.merge(Cluster, "c", hold)
    await plane.client.delete(Cluster, Key("default", "c"))
    await plane.story.until_gone(ClusterResourceSetBinding, "c")
    await plane.settle()
    assert await binding(plane) == {}
    assert await told(plane) == APPLIED


async def test_an_old_binding_is_attributed_by_its_owner(plane: Environment) -> None:
    await delivered(plane, config_map(k=manifest("a")), resource_set())
    cluster = await plane.story.get(Cluster, "c")
    assert cluster is not None
    owner = {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "Cluster",
        "name": "c",
        "uid": cluster.metadata.uid,
    }
    document = await plane.client.get(ClusterResourceSetBinding.RESOURCE, Key("default", "c"))
    owners = [*document["metadata"]["ownerReferences"], owner]
    patch = {"metadata": {"ownerReferences": owners}}
    await plane.client.patch(ClusterResourceSetBinding, Key("default", "c"), patch)
    await plane.settle()
    after = await plane.story.get(ClusterResourceSetBinding, "c")
    assert after is not None
    assert [reference.kind for reference in after.metadata.owner_references] == [
        "ClusterResourceSet"
    ]
