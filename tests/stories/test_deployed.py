"""What users deploy in simulated workload clusters gets Pods, which drains evict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.machine import Machine
from kapy.apiserver.controllers.workloads import workloads
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.manifests import apply_manifests, class_sample
from kapy.apps.settings import Settings
from kapy.client.client import Client
from kapy.conditions.lookup import get, is_true
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError, TooManyRequests
from kapy.kube.names import DAEMON_SETS, DEPLOYMENTS, EVENTS, NAMESPACES, NODES, PODS, Resource
from kapy.kube.patch.merge_patch import apply as merged
from kapy.testing.story import Story

CLUSTER = Key("default", "capybara")
SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
JOBS = Resource("batch", "v1", "jobs", "Job")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
RULES = Resource("cluster.x-k8s.io", "v1beta2", "machinedrainrules", "MachineDrainRule")
TEMPLATES = Resource(
    "controlplane.cluster.x-k8s.io",
    "v1beta2",
    "kubeadmcontrolplanetemplates",
    "KubeadmControlPlaneTemplate",
)
FINALIZER = "test.cluster.x-k8s.io/block"
OWNER = "owner.node.cluster.x-k8s.io"


@asynccontextmanager
async def cluster(
    *, control_planes: int = 1, workers: int = 2
) -> AsyncIterator[tuple[ManagementPlane, Client]]:
    """A plane, and the workload cluster that it has made."""
    objects = class_sample()
    topology = next(one for one in objects if one["kind"] == "Cluster")["spec"]["topology"]
    topology["controlPlane"] = {
        "replicas": control_planes,
        "metadata": {"labels": {OWNER: "control-plane"}},
        "deletion": {"nodeDrainTimeoutSeconds": 0},
    }
    (pool,) = topology["workers"]["machineDeployments"]
    pool |= {"replicas": workers, "metadata": {"labels": {OWNER: "workers"}}}
    pool["deletion"] = {"nodeDrainTimeoutSeconds": 0}
    async with management_plane(Settings(), clock=loop_clock()) as running:
        await apply_manifests(running.client, objects)
        story = Story(running.client, [])
        await story.until(
            Cluster, CLUSTER.name, lambda one: is_true(one.status.conditions, "Available")
        )
        await asyncio.sleep(30)
        yield running, running.cluster_cache.client(CLUSTER)


def workload(kind: Resource, name: str, namespace: str = "default", **spec: Any) -> Document:
    labels = {"app": name}
    pod: Document = {"containers": [{"name": "main", "image": "registry.example.com/pause:1"}]}
    template: Document = {"metadata": {"labels": labels}, "spec": pod}
    found: Document = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }
    if kind is JOBS:
        del found["spec"]["selector"]
        pod["restartPolicy"] = "Never"
    if kind is STATEFUL_SETS:
        found["spec"]["serviceName"] = name
    whole: Document = merged(found, {"spec": spec})
    return whole


async def pods(client: Client, name: str = "", namespace: str = "default") -> list[Document]:
    found = (await client.list(PODS, namespace, labels=f"app={name}" if name else "")).items
    return sorted(found, key=lambda one: one["metadata"]["name"])


def nodes_of(found: list[Document]) -> list[str]:
    return sorted(one["spec"].get("nodeName", "") for one in found)


async def unseen(client: Client) -> list[Document]:
    """The Pods that have a Node, read as a drain reads them."""
    nodes = [one["metadata"]["name"] for one in (await client.list(NODES)).items]
    each = [(await client.list(PODS, fields=f"spec.nodeName={one}")).items for one in nodes]
    return [pod for found in each for pod in found]


async def test_nothing_happens_where_nobody_looks() -> None:
    async with cluster() as (_, client):
        await client.list(PODS, "kube-system", labels="tier=control-plane")
        await unseen(client)
        await client.get(DAEMON_SETS, Key("kube-system", "kube-proxy"))
        await asyncio.sleep(60)
        addon = await client.get(DEPLOYMENTS, Key("kube-system", "coredns"))
        assert addon["status"] == {}
        labels = [one["metadata"]["labels"] for one in await unseen(client)]
        assert {one["tier"] for one in labels} == {"control-plane"}


async def ask(client: Client, path: str) -> None:
    await client.raw("GET", path)


async def rolled_out(client: Client) -> None:
    """As `kubectl rollout status` asks."""
    await client.list(DEPLOYMENTS, "kube-system", fields="metadata.name=coredns")


LOOKS: list[Callable[[Client], Awaitable[object]]] = [
    lambda client: ask(client, "/api"),
    lambda client: ask(client, "/apis"),
    lambda client: client.list(DAEMON_SETS),
    lambda client: client.list(PODS),
    lambda client: client.list(PODS, "kube-system", labels="k8s-app=kube-dns"),
    rolled_out,
]


@pytest.mark.parametrize("look", LOOKS, ids=["api", "apis", "daemonsets", "pods", "dns", "rollout"])
async def test_whoever_looks_finds_the_pods_of_the_addons(
    look: Callable[[Client], Awaitable[object]],
) -> None:
    async with cluster() as (_, client):
        await look(client)
        found = await unseen(client)
        names = {one["metadata"]["labels"].get("k8s-app") for one in found}
        assert names == {None, "kube-dns", "kube-proxy"}
        dns = await client.get(DEPLOYMENTS, Key("kube-system", "coredns"))
        assert dns["status"]["availableReplicas"] == 2
        proxy = await client.get(DAEMON_SETS, Key("kube-system", "kube-proxy"))
        assert proxy["status"]["numberReady"] == 3
        assert all(one["status"]["phase"] == "Running" for one in found)


async def test_a_pod_of_nobody_waits_for_its_test() -> None:
    async with cluster() as (_, client):
        bare = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "bare", "namespace": "default"},
            "spec": {"containers": [{"name": "main", "image": "x"}]},
        }
        await client.create(PODS, bare)
        await asyncio.sleep(60)
        (pod,) = await pods(client)
        assert "nodeName" not in pod["spec"]


async def test_a_deployment_rolls_out_back_and_away() -> None:
    async with cluster() as (_, client):
        await client.create(DEPLOYMENTS, workload(DEPLOYMENTS, "web", replicas=4))
        await asyncio.sleep(1)
        found = await client.get(DEPLOYMENTS, Key("default", "web"))
        assert found["status"] | {"conditions": []} == {
            "observedGeneration": 1,
            "replicas": 4,
            "updatedReplicas": 4,
            "readyReplicas": 4,
            "availableReplicas": 4,
            "conditions": [],
        }
        reasons = {one["type"]: one["reason"] for one in found["status"]["conditions"]}
        assert reasons == {
            "Available": "MinimumReplicasAvailable",
            "Progressing": "NewReplicaSetAvailable",
        }
        first = await pods(client, "web")
        workers = nodes_of(first)
        assert len({*workers}) == 2
        assert workers.count(workers[0]) == 2, "as many on each worker, none on the control plane"
        key = Key("default", "web")
        image = {"containers": [{"name": "main", "image": "registry.example.com/pause:2"}]}
        await client.patch(DEPLOYMENTS, key, {"spec": {"template": {"spec": image}}})
        await asyncio.sleep(1)
        second = await pods(client, "web")
        assert {one["spec"]["containers"][0]["image"][-1] for one in second} == {"2"}
        assert len((await client.list(SETS, "default")).items) == 2
        image["containers"][0]["image"] = "registry.example.com/pause:1"
        await client.patch(DEPLOYMENTS, key, {"spec": {"template": {"spec": image}}})
        await asyncio.sleep(1)
        sets = (await client.list(SETS, "default")).items
        revisions = {
            one["metadata"]["annotations"]["deployment.kubernetes.io/revision"]: one["status"][
                "replicas"
            ]
            for one in sets
        }
        assert revisions == {"3": 4, "2": 0}
        addons = await client.get(DAEMON_SETS, Key("kube-system", "kube-proxy"))
        assert addons["status"]["numberReady"] == 3, "on the control plane, too"
        await client.delete(DEPLOYMENTS, key)
        await asyncio.sleep(1)
        assert await pods(client, "web") == []
        assert (await client.list(SETS, "default")).items == []


async def test_daemons_run_on_every_node_and_follow_them() -> None:
    async with cluster() as (running, client):
        await client.create(DAEMON_SETS, workload(DAEMON_SETS, "agent"))
        await asyncio.sleep(1)
        assert len(nodes_of(await pods(client, "agent"))) == 2
        await scale(running, workers=4)
        await asyncio.sleep(60)
        found = await client.get(DAEMON_SETS, Key("default", "agent"))
        assert found["status"]["desiredNumberScheduled"] == found["status"]["numberReady"] == 4
        await scale(running, workers=1)
        await asyncio.sleep(120)
        assert len(await pods(client, "agent")) == 1


async def test_pods_wait_for_a_node_with_what_they_request() -> None:
    async with cluster() as (running, client):
        whole = {"resources": {"requests": {"memory": "5Gi"}}}
        template = {"spec": {"containers": [{"name": "main", "image": "x", **whole}]}}
        await client.create(
            DEPLOYMENTS, workload(DEPLOYMENTS, "big", replicas=3, template=template)
        )
        await asyncio.sleep(1)
        found = await pods(client, "big")
        (waiting,) = [one for one in found if "nodeName" not in one["spec"]]
        assert waiting["status"]["phase"] == "Pending"
        (condition,) = waiting["status"]["conditions"]
        message = (
            "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient memory."
        )
        assert condition | {"lastTransitionTime": ""} == {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": "",
        }
        (event,) = (await client.list(EVENTS, "default")).items
        assert (event["reason"], event["type"]) == ("FailedScheduling", "Warning")
        assert event["message"] == message
        assert event["involvedObject"]["uid"] == waiting["metadata"]["uid"]
        await scale(running, workers=3)
        await asyncio.sleep(60)
        assert len({*nodes_of(await pods(client, "big"))} - {""}) == 3


async def scale(running: ManagementPlane, **replicas: int) -> None:
    found = await running.client.get(Cluster.RESOURCE, CLUSTER)
    topology = deepcopy(found["spec"]["topology"])
    if "workers" in replicas:
        topology["workers"]["machineDeployments"][0]["replicas"] = replicas["workers"]
    if "control_planes" in replicas:
        topology["controlPlane"]["replicas"] = replicas["control_planes"]
    await running.client.patch(Cluster.RESOURCE, CLUSTER, {"spec": {"topology": topology}})


async def test_stateful_sets_and_jobs_are_done() -> None:
    async with cluster() as (_, client):
        await client.create(STATEFUL_SETS, workload(STATEFUL_SETS, "db", replicas=3))
        await client.create(JOBS, workload(JOBS, "once", completions=5, parallelism=2))
        await asyncio.sleep(1)
        assert [one["metadata"]["name"] for one in await pods(client, "db")] == [
            "db-0",
            "db-1",
            "db-2",
        ]
        found = await client.get(STATEFUL_SETS, Key("default", "db"))
        assert found["status"]["readyReplicas"] == found["status"]["updatedReplicas"] == 3
        job = await client.get(JOBS, Key("default", "once"))
        assert job["status"]["succeeded"] == 5
        assert "Complete" in {one["type"] for one in job["status"]["conditions"]}
        await client.patch(STATEFUL_SETS, Key("default", "db"), {"spec": {"replicas": 1}})
        await asyncio.sleep(1)
        assert [one["metadata"]["name"] for one in await pods(client, "db")] == ["db-0"]


async def test_more_pods_than_there_is_room_for_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "MOST_PODS", 300)
    async with cluster(workers=1) as (_, client):
        await client.create(DEPLOYMENTS, workload(DEPLOYMENTS, "herd", replicas=2_000_000_000))
        await asyncio.sleep(5)
        found = await pods(client, "herd")
        assert 110 < len(found) < 300
        placed = [one for one in found if one["status"]["phase"] == "Running"]
        assert len(placed) <= 110
        (waiting, *_) = [one for one in found if one["status"]["phase"] == "Pending"]
        (condition,) = waiting["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("PodScheduled", "Unschedulable")


async def test_an_evicted_pod_is_replaced_elsewhere_and_a_budget_forbids_it() -> None:
    async with cluster() as (_, client):
        await client.create(DEPLOYMENTS, workload(DEPLOYMENTS, "web", replicas=2))
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        }
        await client.create(BUDGETS, budget)
        await asyncio.sleep(1)
        assert (await client.get(BUDGETS, Key("default", "web")))["status"][
            "disruptionsAllowed"
        ] == 1
        first, _ = await pods(client, "web")
        node = first["spec"]["nodeName"]
        await client.patch(NODES, Key("", node), {"spec": {"unschedulable": True}})
        await evict(client, first)
        await asyncio.sleep(1)
        after = await pods(client, "web")
        assert node not in nodes_of(after)
        assert len(after) == 2
        await client.patch(BUDGETS, Key("default", "web"), {"spec": {"minAvailable": 2}})
        await asyncio.sleep(1)
        with pytest.raises(TooManyRequests, match="disruption budget"):
            await evict(client, after[0])


async def evict(client: Client, pod: Document) -> None:
    key = Key.of(pod)
    path = PODS.path(key.namespace, key.name, "eviction")
    body = {"apiVersion": "policy/v1", "kind": "Eviction"}
    await client.raw(
        "POST", path, body=body | {"metadata": {"name": key.name, "namespace": key.namespace}}
    )


async def test_images_follow_an_upgrade() -> None:
    async with cluster(workers=0) as (running, client):
        tag = {"etcd": {"local": {"imageTag": "3.6.9-7"}}, "dns": {"imageTag": "v1.13.1"}}
        assert await images(client) == {
            "etcd": "registry.k8s.io/etcd:3.6.5-0",
            "kube-apiserver": "registry.k8s.io/kube-apiserver:v1.34.0",
        }
        await upgrade(running, "v1.35.0")
        assert await images(client) == {
            "etcd": "registry.k8s.io/etcd:3.6.6-0",
            "kube-apiserver": "registry.k8s.io/kube-apiserver:v1.35.0",
        }
        template = TEMPLATES
        (found,) = (await running.client.list(template, "default")).items
        spec = merged(
            found["spec"],
            {"template": {"spec": {"kubeadmConfigSpec": {"clusterConfiguration": tag}}}},
        )
        other = {"name": "tagged", "namespace": "default"}
        await running.client.create(template, {**found, "metadata": other, "spec": spec})
        cluster_class = (await running.client.list(ClusterClass.RESOURCE, "default")).items[0]
        reference = {**cluster_class["spec"]["controlPlane"]["templateRef"], "name": "tagged"}
        await running.client.patch(
            ClusterClass.RESOURCE,
            Key.of(cluster_class),
            {"spec": {"controlPlane": {"templateRef": reference}}},
        )
        await asyncio.sleep(200)
        assert (await images(client))["etcd"] == "registry.k8s.io/etcd:3.6.9-7"
        dns = await client.get(DEPLOYMENTS, Key("kube-system", "coredns"))
        (container,) = dns["spec"]["template"]["spec"]["containers"]
        assert container["image"] == "registry.k8s.io/coredns/coredns:v1.13.1"


async def images(client: Client) -> dict[str, str]:
    """Of etcd and the API server, which are as new on all machines."""
    found: dict[str, str] = {}
    for pod in await pods(client, namespace="kube-system"):
        (container,) = pod["spec"]["containers"]
        if container["name"] in ("etcd", "kube-apiserver"):
            assert found.setdefault(container["name"], container["image"]) == container["image"]
    return found


async def upgrade(running: ManagementPlane, version: str) -> None:
    patch = {"spec": {"topology": {"version": version}}}
    await running.client.patch(Cluster.RESOURCE, CLUSTER, patch)
    await asyncio.sleep(200)


async def test_usage_is_told() -> None:
    async with cluster() as (_, client):
        nodes = await client.raw("GET", "/apis/metrics.k8s.io/v1beta1/nodes")
        assert len(nodes["items"]) == 3
        again = await client.raw("GET", "/apis/metrics.k8s.io/v1beta1/nodes")
        assert [one["usage"] for one in again["items"]] == [one["usage"] for one in nodes["items"]]
        groups = await client.raw("GET", "/apis")
        assert "metrics.k8s.io" in [one["name"] for one in groups["groups"]]
        path = "/apis/metrics.k8s.io/v1beta1/namespaces/kube-system/pods"
        some = await client.raw("GET", path, {"labelSelector": "component=etcd"})
        (etcd,) = some["items"]
        assert set(etcd["containers"][0]["usage"]) == {"cpu", "memory"}
        one = await client.raw("GET", f"{path}/{etcd['metadata']['name']}")
        assert one["kind"] == "PodMetrics"
        for bad in (f"{path}/none", "/apis/metrics.k8s.io/v1", "/apis/metrics.k8s.io/v1beta1/x"):
            with pytest.raises(ApiError):
                await client.raw("GET", bad)


# Upstream's spec "node drain" (test/e2e/node_drain.go), as one of its users would tell it.


def apart(name: str, replicas: int, owner: str, **more: Any) -> Document:
    """A Deployment with a Pod on each Node of an owner."""
    term = {
        "labelSelector": {"matchLabels": {"app": name}},
        "topologyKey": "kubernetes.io/hostname",
    }
    spec = {
        "nodeSelector": {OWNER: owner},
        "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
    }
    labels, finalizers = more.get("labels", {}), more.get("finalizers")
    metadata = {"labels": labels} | ({"finalizers": finalizers} if finalizers else {})
    found = workload(
        DEPLOYMENTS, name, more["namespace"], replicas=replicas, template={"spec": spec}
    )
    whole: Document = merged(found, {"spec": {"template": {"metadata": metadata}}})
    return whole


def rule(name: str, order: int) -> Document:
    return {
        "apiVersion": RULES.api_version,
        "kind": RULES.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "drain": {"behavior": "Drain", "order": order},
            "pods": [{"selector": {"matchLabels": {"mdr": name}}}],
        },
    }


async def draining(running: ManagementPlane, holds: Callable[[str], bool]) -> list[str]:
    """The Deleting messages of Machines that are being drained, when all of them hold."""
    for _ in range(600):
        found = (await running.client.list(Machine, "default")).items
        told = [
            condition.message
            for one in found
            if one.deleting and (condition := get(one.status.conditions, "Deleting")) is not None
        ]
        if len(told) == 2 and all(map(holds, told)):
            return told
        await asyncio.sleep(1)
    raise AssertionError(told)


async def free(client: Client, name: str) -> None:
    """Take the finalizers from evicted Pods, which have ended."""
    for owner in ("cp", "md"):
        for pod in await pods(client, f"{owner}-{name}", "evictable"):
            if "deletionTimestamp" not in pod["metadata"]:
                continue
            assert pod["status"]["phase"] == "Succeeded"
            assert "DisruptionTarget" in {one["type"] for one in pod["status"]["conditions"]}
            await client.patch(PODS, Key.of(pod), {"metadata": {"finalizers": None}})


async def test_nodes_are_drained_by_rules_finalizers_and_budgets() -> None:
    async with cluster(control_planes=3, workers=1) as (running, client):
        for name, order in (("first", -5), ("second", -1), ("last", 10)):
            await running.client.create(RULES, rule(name, order))
        for name in ("evictable", "unevictable"):
            await client.create(
                NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
        for prefix, owner, count in (("cp", "control-plane", 3), ("md", "workers", 1)):
            for name, labels in (("first", {"mdr": "first"}), ("second", {"mdr": "second"}),
                                 ("skip", {"cluster.x-k8s.io/drain": "skip"})):  # fmt: skip
                one = apart(f"{prefix}-{name}", count, owner, namespace="evictable",
                            labels=labels, finalizers=[FINALIZER])  # fmt: skip
                await client.create(DEPLOYMENTS, one)
            one = apart(f"{prefix}-pdb", count, owner, namespace="unevictable",
                        labels={"mdr": "last"})  # fmt: skip
            await client.create(DEPLOYMENTS, one)
            budget = {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": f"{prefix}-pdb", "namespace": "unevictable"},
                "spec": {
                    "maxUnavailable": 0,
                    "selector": {"matchLabels": {"app": f"{prefix}-pdb"}},
                },
            }
            await client.create(BUDGETS, budget)
        await asyncio.sleep(5)
        every = (await client.list(DEPLOYMENTS)).items
        assert all(one["status"].get("unavailableReplicas", 0) == 0 for one in every)
        await scale(running, control_planes=1, workers=0)

        held = "deletionTimestamp set, but still not removed from the Node"
        await draining(running, lambda told: held in told and "-first" in told)
        await free(client, "first")
        await draining(
            running, lambda told: held in told and "-second" in told.partition("After")[0]
        )
        await free(client, "second")
        await draining(running, lambda told: "would violate the pod's disruption budget" in told)
        assert len(await pods(client, "md-skip", "evictable")) == 1
        for prefix in ("cp", "md"):
            await client.delete(BUDGETS, Key("unevictable", f"{prefix}-pdb"))
        story = Story(running.client, [])
        for machine in (await running.client.list(Machine, "default")).items:
            if machine.deleting:
                await story.until_gone(Machine, machine.metadata.name)
