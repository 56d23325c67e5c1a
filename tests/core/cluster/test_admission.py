"""A story: a ClusterClass, a Cluster that is made of it, and what both may not do to each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from copy import deepcopy
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.features import FeatureGates
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine_deployment import MachineDeployment
from kapy.apiserver.server import Server
from kapy.apps.admission import AdmissionRules
from kapy.apps.conversion import convert_documents
from kapy.apps.definitions import install_definitions
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import Forbidden, Invalid
from kapy.kube.http import ADMIN
from kapy.kube.names import NAMESPACES
from tests.api.validation.test_cluster_class import CLASS, CLUSTER, changed

CLASS_KEY = Key("ns", "cc")
EARLY = {"name": "early", "namespace": "ns"}


async def ready(client: Client) -> None:
    """The class as its controller would leave it: its variables are known."""
    live = deepcopy(await client.get(ClusterClass.RESOURCE, CLASS_KEY))
    schema = CLASS["spec"]["variables"][0]["schema"]
    definition = {"from": "inline", "required": True, "schema": schema}
    live["status"] = {
        "observedGeneration": live["metadata"]["generation"],
        "variables": [{"name": "cpu", "definitions": [definition]}],
        "conditions": [
            {
                "type": "VariablesReady",
                "status": "True",
                "reason": "VariablesReady",
                "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
    }
    await client.update(ClusterClass.RESOURCE, live, subresource="status")


async def refused(writing: Coroutine[Any, Any, Any]) -> list[str]:
    """The fields that the server names when it refuses a write."""
    with pytest.raises(Invalid) as caught:
        await writing
    assert caught.value.details is not None
    return sorted(cause["field"] for cause in caught.value.details["causes"])


@asynccontextmanager
async def plane() -> AsyncIterator[Client]:
    """A server that knows our kinds and lets ClusterClasses in."""
    rules = AdmissionRules(FeatureGates(cluster_topology=True))
    server = Server.open(None, clock=loop_clock(), admission=(rules,), convert=convert_documents)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        await asyncio.sleep(0)
        client = Client(server.transport(ADMIN))
        rules.enable_reads(client)
        await install_definitions(client)
        named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
        await client.create(NAMESPACES, named)
        yield client
        running.cancel()
    server.close()


async def test_a_cluster_and_its_class_are_validated_against_each_other() -> None:
    async with plane() as client:
        early = await client.create(Cluster.RESOURCE, {**CLUSTER, "metadata": EARLY})
        assert "variables" not in early["spec"]["topology"]  # nobody knows of any yet
        await client.create(ClusterClass.RESOURCE, deepcopy(CLASS))
        await ready(client)

        cluster = await client.create(Cluster.RESOURCE, deepcopy(CLUSTER))
        assert cluster["spec"]["topology"]["variables"] == [{"name": "cpu", "value": 2}]
        wrong = changed(CLUSTER, topology__variables=[{"name": "cpu", "value": 0}])
        wrong["metadata"]["name"] = "wrong"
        where = ["spec.topology.variables[cpu].value"]
        assert await refused(client.create(Cluster.RESOURCE, wrong)) == where

        odd = changed(CLUSTER, topology__variables={"cpu": 4})
        odd["metadata"]["name"] = "odd"
        assert "spec.topology.variables" in await refused(client.create(Cluster.RESOURCE, odd))

        unknown = changed(CLUSTER, topology__version="v1.32.0")
        unknown["metadata"]["name"] = "unknown"
        where = ["spec.topology.version"]
        assert await refused(client.create(Cluster.RESOURCE, unknown)) == where

        newer = deepcopy(cluster)
        newer["spec"]["topology"]["version"] = "v1.34.0"
        assert await refused(client.update(Cluster.RESOURCE, newer)) == where  # no control plane

        smaller = deepcopy(await client.get(ClusterClass.RESOURCE, CLASS_KEY))
        del smaller["spec"]["workers"], smaller["spec"]["patches"]
        where = ["spec.workers.machineDeployments"] * 2
        assert await refused(client.update(ClusterClass.RESOURCE, smaller)) == where
        with pytest.raises(Forbidden, match="used by Cluster"):
            await client.delete(ClusterClass.RESOURCE, CLASS_KEY)

        for name in ("c", "early"):
            await client.delete(Cluster.RESOURCE, Key("ns", name))
        await client.delete(ClusterClass.RESOURCE, CLASS_KEY)


async def test_an_upgrade_waits_for_the_one_before() -> None:
    async with plane() as client:
        await client.create(ClusterClass.RESOURCE, deepcopy(CLASS))
        await ready(client)
        await client.create(KubeadmControlPlane.RESOURCE, deepcopy(KCP))
        ref = {"apiGroup": KCP["apiVersion"].split("/")[0], "kind": KCP["kind"], "name": "cp"}
        cluster = await client.create(Cluster.RESOURCE, changed(CLUSTER, controlPlaneRef=ref))
        newer = deepcopy(cluster)
        newer["spec"]["topology"]["version"] = "v1.34.0"
        with pytest.raises(Invalid, match="currently provisioning"):
            await client.update(Cluster.RESOURCE, deepcopy(newer))

        await client.patch(
            KubeadmControlPlane.RESOURCE,
            Key("ns", "cp"),
            {"status": {"versions": [{"version": "v1.33.1", "replicas": 1}]}},
            subresource="status",
        )
        await client.create(MachineDeployment.RESOURCE, deployment("v1.32.0"))
        with pytest.raises(Invalid, match=r"still MachineDeployments .* \[md\]"):
            await client.update(Cluster.RESOURCE, deepcopy(newer))

        await client.delete(MachineDeployment.RESOURCE, Key("ns", "md"))
        await client.update(Cluster.RESOURCE, deepcopy(newer))


REF = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": "t"}
KCP: Document = {
    "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
    "kind": "KubeadmControlPlane",
    "metadata": {"name": "cp", "namespace": "ns"},
    "spec": {"version": "v1.33.1", "machineTemplate": {"spec": {"infrastructureRef": REF}}},
}


def deployment(version: str) -> Document:
    """A MachineDeployment of the cluster's topology."""
    labels = {
        "cluster.x-k8s.io/cluster-name": "c",
        "topology.cluster.x-k8s.io/owned": "",
    }
    machine = {
        "clusterName": "c",
        "version": version,
        "bootstrap": {"dataSecretName": "x"},
        "infrastructureRef": REF,
    }
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineDeployment",
        "metadata": {"name": "md", "namespace": "ns", "labels": labels},
        "spec": {"clusterName": "c", "selector": {}, "template": {"spec": machine}},
    }
