"""The guarantees of the SDK for a provider of cluster infrastructure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from kapy.api.cluster import Cluster
from kapy.conditions import false
from kapy.kube import Document
from kapy.sdk import (
    ClusterContext,
    ClusterProvisioned,
    Endpoint,
    InfraClusterProvider,
    Waiting,
    add_infra_cluster,
)
from kapy.testing.conformance.behaviour import check_infra_cluster
from kapy.testing.provider_bench import ProviderBench, key, provider_bench
from tests.sdk.paper_cloud import CLUSTER, PAPER_CLUSTERS, PaperLand

FINALIZER = "paper.example.dev/cluster"


@dataclass
class Setup:
    bench: ProviderBench
    land: PaperLand

    async def infra(self) -> Document:
        paper_cluster = await self.bench.get(PAPER_CLUSTERS, "blue")
        assert paper_cluster is not None
        return paper_cluster


@pytest_asyncio.fixture
async def setup() -> AsyncIterator[Setup]:
    async with provider_bench([PAPER_CLUSTERS]) as bench:
        land = PaperLand()
        add_infra_cluster(bench.runtime, PAPER_CLUSTERS, land, finalizer=FINALIZER)
        async with bench.running():
            yield Setup(bench, land)


def named(name: str, **spec: Document) -> Document:
    return {**CLUSTER, "metadata": {"name": name}, "spec": spec}


class Moving(PaperLand):
    """Answers another endpoint each time, which the SDK must not write."""

    async def reconcile_normal(
        self, context: ClusterContext[Document]
    ) -> ClusterProvisioned | Waiting:
        self.clusters.add(f"{context.key.name}{len(self.clusters)}")
        return ClusterProvisioned(endpoint=Endpoint(f"host-{len(self.clusters)}", 6443))


class Never(PaperLand):
    async def reconcile_normal(
        self, context: ClusterContext[Document]
    ) -> ClusterProvisioned | Waiting:
        return Waiting(message="no land", conditions=(false("LandFound", "NoLand", "all taken"),))


@pytest.mark.parametrize("provider", [PaperLand, Moving])
async def test_a_good_provider_conforms(provider: type[InfraClusterProvider[Document]]) -> None:
    await check_infra_cluster(PAPER_CLUSTERS, CLUSTER, lambda _: provider())


async def test_an_invalid_provider_is_refused_with_the_rule() -> None:
    with pytest.raises(AssertionError, match=r"infra-cluster/initialized: .* it was not set"):
        await check_infra_cluster(PAPER_CLUSTERS, CLUSTER, lambda _: Never())


async def test_a_cluster_gets_its_endpoint(setup: Setup) -> None:
    await setup.bench.cluster("blue", named("blue"))
    await asyncio.sleep(1)
    infra = await setup.infra()
    assert infra["spec"] == {"controlPlaneEndpoint": {"host": "blue.paper", "port": 6443}}
    assert infra["status"]["initialization"] == {"provisioned": True}
    entries = {
        condition["type"]: condition["status"] for condition in infra["status"]["conditions"]
    }
    assert entries == {"Ready": "True", "Paused": "False"}
    assert infra["metadata"]["finalizers"] == [FINALIZER]


async def test_a_cluster_that_gets_its_reference_later_wakes_its_infrastructure(
    setup: Setup,
) -> None:
    owner = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "name": "blue",
        "uid": "u",
    }
    metadata = {"name": "blue", "namespace": "default", "ownerReferences": [owner]}
    await setup.bench.client.create(PAPER_CLUSTERS, {**CLUSTER, "metadata": metadata})
    await asyncio.sleep(1)
    assert not (await setup.infra()).get("status")
    plane = {"apiGroup": "controlplane.example.dev", "kind": "Plane", "name": "blue"}
    await setup.bench.cluster("blue", controlPlaneRef=plane)
    await asyncio.sleep(1)
    reference = {"apiGroup": PAPER_CLUSTERS.group, "kind": PAPER_CLUSTERS.kind, "name": "blue"}
    change = {"spec": {"infrastructureRef": reference}}
    await setup.bench.client.patch(Cluster.RESOURCE, key("blue"), change)
    await asyncio.sleep(1)
    assert (await setup.infra())["status"]["initialization"] == {"provisioned": True}


async def test_an_endpoint_that_the_user_chose_stays(setup: Setup) -> None:
    chosen = {"host": "10.1.2.3", "port": 8443}
    await setup.bench.cluster("blue", named("blue", controlPlaneEndpoint=chosen))
    await asyncio.sleep(1)
    assert (await setup.infra())["spec"] == {"controlPlaneEndpoint": chosen}


async def test_externally_managed_infrastructure_is_left_alone(setup: Setup) -> None:
    infra = named("blue")
    infra["metadata"]["annotations"] = {"cluster.x-k8s.io/managed-by": "terraform"}
    await setup.bench.cluster("blue", infra)
    await asyncio.sleep(1)
    assert not setup.land.clusters
    assert "finalizers" not in (await setup.infra())["metadata"]


async def test_a_paused_cluster_is_left_alone_until_it_is_resumed(setup: Setup) -> None:
    infra = named("blue")
    infra["metadata"]["annotations"] = {"cluster.x-k8s.io/paused": ""}
    await setup.bench.cluster("blue", infra)
    await asyncio.sleep(1)
    assert not setup.land.clusters
    entries = {
        condition["type"]: condition["message"]
        for condition in (await setup.infra())["status"]["conditions"]
    }
    assert entries == {"Paused": "PaperCluster has the cluster.x-k8s.io/paused annotation"}
    resume: Document = {"metadata": {"annotations": None}}
    await setup.bench.client.patch(PAPER_CLUSTERS, key("blue"), resume)
    await asyncio.sleep(1)
    assert setup.land.clusters == {"blue"}


async def test_a_deletion_releases_the_infrastructure(setup: Setup) -> None:
    await setup.bench.cluster("blue", named("blue"))
    await asyncio.sleep(1)
    await setup.bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": True}})
    await asyncio.sleep(1)
    await setup.bench.client.delete(PAPER_CLUSTERS, key("blue"))
    await asyncio.sleep(5)
    assert setup.land.clusters == {"blue"}
    await setup.bench.client.patch(Cluster.RESOURCE, key("blue"), {"spec": {"paused": None}})
    await setup.bench.until_gone(PAPER_CLUSTERS, "blue")
    assert not setup.land.clusters
