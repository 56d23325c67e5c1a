"""The addons of a simulated workload cluster get Pods when a client reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.apps.all_in_one import ManagementPlane
from kapy.client.client import Client
from kapy.kube import Key
from kapy.kube.errors import ApiError
from kapy.kube.names import DAEMON_SETS, DEPLOYMENTS, PODS, Resource
from kapy.kube.patch.merge_patch import apply as merged
from tests.stories.deployed import CLUSTER, cluster, pods, unseen

TEMPLATES = Resource(
    "controlplane.cluster.x-k8s.io",
    "v1beta2",
    "kubeadmcontrolplanetemplates",
    "KubeadmControlPlaneTemplate",
)


async def test_addons_get_no_pods_while_nobody_reads_them() -> None:
    async with cluster() as (_, client):
        await client.list(PODS, "kube-system", labels="tier=control-plane")
        await unseen(client)
        await client.get(DAEMON_SETS, Key("kube-system", "kube-proxy"))
        await asyncio.sleep(60)
        addon = await client.get(DEPLOYMENTS, Key("kube-system", "coredns"))
        assert addon["status"] == {}
        labels = [document["metadata"]["labels"] for document in await unseen(client)]
        assert {label["tier"] for label in labels} == {"control-plane"}


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
async def test_the_pods_of_the_addons_are_found_in_every_way(
    look: Callable[[Client], Awaitable[object]],
) -> None:
    async with cluster() as (_, client):
        await look(client)
        results = await unseen(client)
        names = {document["metadata"]["labels"].get("k8s-app") for document in results}
        assert names == {None, "kube-dns", "kube-proxy"}
        dns = await client.get(DEPLOYMENTS, Key("kube-system", "coredns"))
        assert dns["status"]["availableReplicas"] == 2
        proxy = await client.get(DAEMON_SETS, Key("kube-system", "kube-proxy"))
        assert proxy["status"]["numberReady"] == 3
        assert all(document["status"]["phase"] == "Running" for document in results)


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
        (document,) = (await running.client.list(template, "default")).items
        spec = merged(
            document["spec"],
            {"template": {"spec": {"kubeadmConfigSpec": {"clusterConfiguration": tag}}}},
        )
        other = {"name": "tagged", "namespace": "default"}
        await running.client.create(template, {**document, "metadata": other, "spec": spec})
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
    results: dict[str, str] = {}
    for pod in await pods(client, namespace="kube-system"):
        (container,) = pod["spec"]["containers"]
        if container["name"] in ("etcd", "kube-apiserver"):
            assert results.setdefault(container["name"], container["image"]) == container["image"]
    return results


async def upgrade(running: ManagementPlane, version: str) -> None:
    patch = {"spec": {"topology": {"version": version}}}
    await running.client.patch(Cluster.RESOURCE, CLUSTER, patch)
    await asyncio.sleep(200)


async def test_usage_is_reported() -> None:
    async with cluster() as (_, client):
        nodes = await client.raw("GET", "/apis/metrics.k8s.io/v1beta1/nodes")
        assert len(nodes["items"]) == 3
        again = await client.raw("GET", "/apis/metrics.k8s.io/v1beta1/nodes")
        assert [item["usage"] for item in again["items"]] == [
            item["usage"] for item in nodes["items"]
        ]
        groups = await client.raw("GET", "/apis")
        assert "metrics.k8s.io" in [group["name"] for group in groups["groups"]]
        path = "/apis/metrics.k8s.io/v1beta1/namespaces/kube-system/pods"
        some = await client.raw("GET", path, {"labelSelector": "component=etcd"})
        (etcd,) = some["items"]
        assert set(etcd["containers"][0]["usage"]) == {"cpu", "memory"}
        document = await client.raw("GET", f"{path}/{etcd['metadata']['name']}")
        assert document["kind"] == "PodMetrics"
        for bad in (f"{path}/none", "/apis/metrics.k8s.io/v1", "/apis/metrics.k8s.io/v1beta1/x"):
            with pytest.raises(ApiError):
                await client.raw("GET", bad)
