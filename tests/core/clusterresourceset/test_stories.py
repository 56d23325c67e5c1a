"""Tests of the objects that ClusterResourceSets apply to workload clusters, and of their status."""

from __future__ import annotations

import pytest
import yaml

from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.names import Annotation
from kapy.kube import Document, Key
from kapy.kube.errors import Invalid
from kapy.kube.names import CONFIG_MAPS, CRDS, NAMESPACES, SECRETS
from tests.core.clusterresourceset.resource_sets import (
    APPLIED,
    binding,
    change,
    config_map,
    delivered,
    inside,
    legacy,
    manifest,
    resource_set,
    secret,
    select,
    told,
)
from tests.core.environment import INFRA_MACHINES as GADGETS
from tests.core.environment import Environment, crd_of, of, running_cluster


async def test_objects_of_config_maps_and_secrets_come_into_the_cluster(plane: Environment) -> None:
    await delivered(
        plane,
        config_map(k=manifest("a", x="1")),
        secret(k=manifest("b", z="2")),
        resource_set("set", ("ConfigMap", "cni"), ("Secret", "creds")),
    )

    assert (await inside(plane, "a"), await inside(plane, "b")) == ({"x": "1"}, {"z": "2"})
    assert await told(plane) == APPLIED
    resources = (await binding(plane))["set"]
    assert [(item.kind, item.name, item.applied) for item in resources] == [
        ("ConfigMap", "cni", True),
        ("Secret", "creds", True),
    ]
    assert all(item.hash.startswith("sha256:") for item in resources)
    for resource, name in ((CONFIG_MAPS, "cni"), (SECRETS, "creds")):
        source = await plane.client.get(resource, Key("default", name))
        assert [reference["name"] for reference in source["metadata"]["ownerReferences"]] == ["set"]
    cluster_resource_set = await plane.story.get(ClusterResourceSet, "set")
    assert cluster_resource_set is not None
    assert cluster_resource_set.metadata.finalizers == ["addons.cluster.x-k8s.io"]
    assert cluster_resource_set.status.observed_generation == 1


@pytest.mark.parametrize(
    ("strategy", "after", "again"),
    [
        ("ApplyOnce", {"by": "hand"}, {"by": "hand"}),
        ("Reconcile", {"by": "hand"}, {"x": "2"}),
    ],
)
async def test_a_strategy_says_whether_a_change_of_the_source_is_one_of_the_object(
    plane: Environment, strategy: str, after: Document, again: Document
) -> None:
    await delivered(plane, config_map(k=manifest("a", x="1")), resource_set(strategy=strategy))
    key = Key("default", "a")
    by_hand = {"metadata": {"labels": {"l": "v"}}, "data": {"x": None, "by": "hand"}}
    await plane.workload.patch(CONFIG_MAPS, key, by_hand)
    await plane.settle(60)
    assert await inside(plane, "a") == after

    await change(plane, k=manifest("a", x="2") + "---\n" + manifest("b"))
    assert await inside(plane, "a") == again
    assert (await inside(plane, "b") is not None) == (strategy == "Reconcile")
    labels = (await plane.workload.get(CONFIG_MAPS, key))["metadata"].get("labels")
    assert (labels is None) == (strategy == "Reconcile")


async def test_existing_objects_are_kept_unchanged(plane: Environment) -> None:
    await plane.workload.create(CONFIG_MAPS, config_map("a", x="theirs"))
    await delivered(plane, config_map(k=manifest("a", x="ours")), resource_set())
    assert await inside(plane, "a") == {"x": "theirs"}
    assert await told(plane) == APPLIED


async def test_a_settled_set_writes_nothing(plane: Environment) -> None:
    await delivered(plane, config_map(k=manifest("a")), resource_set(strategy="Reconcile"))
    before = len(plane.controllers.writes)
    await plane.story.merge(Cluster, "c", {"metadata": {"labels": {"more": "1"}}})
    await plane.settle(3600)
    writes = plane.controllers.writes[before:]
    assert not [path for _, path in writes if "clusterresourceset" in path]


async def test_a_source_that_is_missing_is_waited_for(plane: Environment) -> None:
    sources = ("ConfigMap", "late"), ("ConfigMap", "cni")
    await delivered(plane, config_map(k=manifest("a")), resource_set("set", *sources))
    assert await inside(plane, "a") is not None
    assert [item.name for item in (await binding(plane))["set"]] == ["cni"]

    await plane.create(config_map("late", k=manifest("b")))
    await plane.settle()
    assert await inside(plane, "b") is not None
    assert [item.name for item in (await binding(plane))["set"]] == ["cni", "late"]


async def test_a_secret_of_another_type_stops_the_set(plane: Environment) -> None:
    sources = ("ConfigMap", "cni"), ("Secret", "creds")
    documents = secret(type_="Opaque", k=manifest("b")), resource_set("set", *sources)
    await delivered(plane, config_map(k=manifest("a")), *documents)
    assert await told(plane) == ("False", "WrongSecretType")
    assert await legacy(plane) == ("Warning", "WrongSecretType", "unsupported secret type")
    assert await binding(plane) == {}
    assert await inside(plane, "a") is None

    await plane.client.delete(SECRETS, Key("default", "creds"))
    await plane.create(secret(k=manifest("b")))
    await plane.settle()
    assert await told(plane) == APPLIED
    assert await inside(plane, "b") is not None


async def test_a_cluster_that_cannot_be_reached_is_waited_for(plane: Environment) -> None:
    plane.wire.silent = True
    await delivered(plane, config_map(k=manifest("a")), resource_set())
    assert await told(plane) == ("False", "InternalError")
    severity, reason, _ = await legacy(plane)
    assert (severity, reason) == ("Error", "RemoteClusterClientFailed")
    assert await binding(plane) == {"set": []}

    plane.wire.silent = False
    await plane.settle(60)
    assert await told(plane) == APPLIED
    assert await inside(plane, "a") is not None


async def test_a_slow_cluster_gets_everything_in_several_reconciles(plane: Environment) -> None:
    plane.wire.delay = 3.0
    many = [manifest(f"a{number}") for number in range(7)]
    refused = manifest("r", namespace="later")
    await delivered(plane, config_map(k="---\n".join([refused, *many])), resource_set())
    await plane.settle(10)
    assert await told(plane) == ("False", "NotApplied")
    _, _, message = await legacy(plane)
    assert message.endswith(" of 8 objects were put into cluster default/c so far: it is slow")

    await plane.settle(60)
    assert None not in [await inside(plane, f"a{number}") for number in range(7)]
    plane.wire.delay = 0.0
    await plane.settle(60)
    _, _, message = await legacy(plane)
    assert message.endswith('namespaces "later" not found')


async def test_a_connection_that_breaks_in_between_is_waited_for(plane: Environment) -> None:
    plane.wire.delay = 1.0
    many = "---\n".join(manifest(f"a{number}") for number in range(6))
    await delivered(plane, config_map(k=many), resource_set())
    plane.wire.silent = True
    await plane.settle(30)
    status, _ = await told(plane)
    assert status == "False"
    assert 1 <= len((await plane.workload.list(CONFIG_MAPS, "default")).items) < 6

    plane.wire.silent = False
    await plane.settle(120)
    assert await told(plane) == APPLIED
    assert None not in [await inside(plane, f"a{number}") for number in range(6)]


async def test_a_value_that_is_no_object_is_reported_until_it_is_one(plane: Environment) -> None:
    await delivered(plane, config_map(k="apiVersion: v1\nkind: ConfigMap"), resource_set())
    assert await told(plane) == ("False", "NotApplied")
    problem = "ConfigMap default/cni: k: document 1 has no metadata.name"
    assert await legacy(plane) == ("Warning", "ApplyFailed", problem)
    (resource,) = (await binding(plane))["set"]
    assert (resource.applied, resource.hash) == (False, "")

    before = len(plane.controllers.writes)
    await plane.settle(600)
    assert len(plane.controllers.writes) == before
    await change(plane, k=manifest("a"))
    assert await told(plane) == APPLIED


async def test_refused_objects_are_retried_and_the_others_applied(plane: Environment) -> None:
    both = manifest("a", namespace="later") + "---\n" + manifest("b")
    await delivered(plane, config_map(k=both), resource_set())
    assert await told(plane) == ("False", "NotApplied")
    assert await inside(plane, "b") is not None
    _, _, message = await legacy(plane)
    name = "/v1, Kind=ConfigMap later/a"
    assert message == f'putting {name} into the cluster: namespaces "later" not found'

    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "later"}}
    await plane.workload.create(NAMESPACES, namespace)
    await plane.settle(120)
    assert await told(plane) == APPLIED


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            manifest("a").replace("ConfigMap", "Nonsense"),
            '/v1, Kind=Nonsense default/a into the cluster: no matches for kind "Nonsense" in'
            ' version "v1"',
        ),
        (
            manifest("a").replace(", namespace: default", ""),
            "/v1, Kind=ConfigMap a into the cluster: metadata.namespace is not set",
        ),
    ],
)
async def test_an_object_that_cannot_be_mapped_is_reported(
    plane: Environment, text: str, problem: str
) -> None:
    await delivered(plane, config_map(k=text), resource_set())
    assert await legacy(plane) == ("Warning", "ApplyFailed", f"putting {problem}")


async def test_the_content_of_a_secret_is_reported_nowhere(plane: Environment) -> None:
    bad = manifest("a").replace("data: {}", "data: {k: [hunter2]}")
    await delivered(plane, secret(k=bad), resource_set("set", ("Secret", "creds")))
    assert await told(plane) == ("False", "NotApplied")
    severity, reason, message = await legacy(plane)
    assert (severity, reason) == ("Warning", "ApplyFailed")
    assert "hunter2" not in message


async def test_error_messages_about_objects_from_a_secret_are_reported_nowhere(
    plane: Environment,
) -> None:
    """It may quote the object."""
    plane.wire.fault = lambda request: (
        Invalid("data: Invalid value: hunter2") if request.method == "POST" else None
    )
    sources = (("Secret", "creds"), ("ConfigMap", "cni"))
    documents = secret(k=manifest("a")), config_map(k=manifest("b"))
    await delivered(plane, *documents, resource_set("set", *sources[:1]))
    assert (await legacy(plane))[2].endswith("default/a into the cluster: Invalid")
    await plane.create(resource_set("open", *sources[1:]))
    await plane.settle()
    assert "hunter2" in (await legacy(plane, "open"))[2]


async def test_a_definition_and_an_object_of_it_come_together(plane: Environment) -> None:
    gadget = of(GADGETS, "g", spec={})
    await delivered(
        plane,
        config_map(a=yaml.safe_dump_all([gadget, crd_of(GADGETS)])),
        resource_set(strategy="Reconcile"),
    )
    await plane.settle(60)
    assert await told(plane) == APPLIED
    assert await plane.workload.get(CRDS, Key("", GADGETS.group_resource))
    assert await plane.workload.get(GADGETS, Key("default", "g"))


async def test_labels_select_the_clusters(plane: Environment) -> None:
    await running_cluster(plane)
    await plane.create(config_map(k=manifest("a")), resource_set())
    await plane.settle()
    assert await inside(plane, "a") is None
    assert await told(plane) == ("", "")

    await select(plane)
    await plane.settle()
    assert await inside(plane, "a") is not None

    await select(plane, None)
    await plane.settle()
    assert await inside(plane, "a") is not None
    assert list(await binding(plane)) == ["set"]


@pytest.mark.parametrize("writes", [1, 2, 3, 4, 6])
async def test_an_interruption_changes_nothing(plane: Environment, writes: int) -> None:
    plane.controllers.lose = lambda request: request.path.endswith("clusterresourcesetbindings")
    await running_cluster(plane)
    await select(plane)
    both = resource_set("one"), resource_set("other", strategy="Reconcile")
    await plane.create(config_map(k=manifest("a")), *both)
    await plane.kill_after(writes)
    await plane.settle(60)
    assert {name: len(entries) for name, entries in (await binding(plane)).items()} == {
        "one": 1,
        "other": 1,
    }
    assert (await told(plane, "one"), await told(plane, "other")) == (APPLIED, APPLIED)
    assert await inside(plane, "a") is not None


async def test_a_paused_set_does_nothing(plane: Environment) -> None:
    paused = resource_set()
    paused["metadata"]["annotations"] = {Annotation.PAUSED: ""}
    await delivered(plane, config_map(k=manifest("a")), paused)
    assert await inside(plane, "a") is None
    await plane.story.merge(
        ClusterResourceSet, "set", {"metadata": {"annotations": {Annotation.PAUSED: None}}}
    )
    await plane.settle()
    assert await inside(plane, "a") is not None


async def test_a_reconcile_strategy_keeps_server_fields(plane: Environment) -> None:
    gadget = of(GADGETS, "g", spec={"size": "1"})
    await plane.workload.create(CRDS, crd_of(GADGETS))
    source = config_map(a=yaml.safe_dump(gadget))
    await delivered(plane, source, resource_set(strategy="Reconcile"))
    status = {"status": {"phase": "Running"}}
    key = Key("default", "g")
    before = await plane.workload.patch(GADGETS, key, status, subresource="status")
    await change(plane, a=yaml.safe_dump({**gadget, "spec": {"size": "2"}}))
    after = await plane.workload.get(GADGETS, key)
    assert (after["spec"], after["status"]) == ({"size": "2"}, before["status"])
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    bodies = [request.body for request in plane.wire.requests if request.method == "PATCH"]
    assert bodies == [{"spec": {"size": "2"}}]
