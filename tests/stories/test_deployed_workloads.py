"""Workloads that users deploy in a simulated workload cluster get Pods."""

from __future__ import annotations

import asyncio

import pytest

from kapy.apiserver.controllers.workloads import workloads
from kapy.kube import Key
from kapy.kube.names import DAEMON_SETS, DEPLOYMENTS, EVENTS, PODS, Resource
from tests.stories.deployed import JOBS, STATEFUL_SETS, cluster, nodes_of, pods, scale, workload

SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")


async def test_a_pod_without_an_owner_is_run_by_the_test() -> None:
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


async def test_a_deployment_is_rolled_out_rolled_back_and_deleted() -> None:
    async with cluster() as (_, client):
        await client.create(DEPLOYMENTS, workload(DEPLOYMENTS, "web", replicas=4))
        await asyncio.sleep(1)
        deployment = await client.get(DEPLOYMENTS, Key("default", "web"))
        assert deployment["status"] | {"conditions": []} == {
            "observedGeneration": 1,
            "replicas": 4,
            "updatedReplicas": 4,
            "readyReplicas": 4,
            "availableReplicas": 4,
            "conditions": [],
        }
        reasons = {
            condition["type"]: condition["reason"]
            for condition in deployment["status"]["conditions"]
        }
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
        assert {document["spec"]["containers"][0]["image"][-1] for document in second} == {"2"}
        assert len((await client.list(SETS, "default")).items) == 2
        image["containers"][0]["image"] = "registry.example.com/pause:1"
        await client.patch(DEPLOYMENTS, key, {"spec": {"template": {"spec": image}}})
        await asyncio.sleep(1)
        sets = (await client.list(SETS, "default")).items
        revisions = {
            machine_set["metadata"]["annotations"][
                "deployment.kubernetes.io/revision"
            ]: machine_set["status"]["replicas"]
            for machine_set in sets
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
        daemon_machine_set = await client.get(DAEMON_SETS, Key("default", "agent"))
        assert (
            daemon_machine_set["status"]["desiredNumberScheduled"]
            == daemon_machine_set["status"]["numberReady"]
            == 4
        )
        await scale(running, workers=1)
        await asyncio.sleep(120)
        assert len(await pods(client, "agent")) == 1


async def test_pods_wait_for_a_node_with_enough_resources() -> None:
    async with cluster() as (running, client):
        whole = {"resources": {"requests": {"memory": "5Gi"}}}
        template = {"spec": {"containers": [{"name": "main", "image": "x", **whole}]}}
        await client.create(
            DEPLOYMENTS, workload(DEPLOYMENTS, "big", replicas=3, template=template)
        )
        await asyncio.sleep(1)
        results = await pods(client, "big")
        (waiting,) = [document for document in results if "nodeName" not in document["spec"]]
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


async def test_stateful_sets_and_jobs_complete() -> None:
    async with cluster() as (_, client):
        await client.create(STATEFUL_SETS, workload(STATEFUL_SETS, "db", replicas=3))
        await client.create(JOBS, workload(JOBS, "once", completions=5, parallelism=2))
        await asyncio.sleep(1)
        assert [pod["metadata"]["name"] for pod in await pods(client, "db")] == [
            "db-0",
            "db-1",
            "db-2",
        ]
        stateful_machine_set = await client.get(STATEFUL_SETS, Key("default", "db"))
        assert (
            stateful_machine_set["status"]["readyReplicas"]
            == stateful_machine_set["status"]["updatedReplicas"]
            == 3
        )
        job = await client.get(JOBS, Key("default", "once"))
        assert job["status"]["succeeded"] == 5
        assert "Complete" in {condition["type"] for condition in job["status"]["conditions"]}
        await client.patch(STATEFUL_SETS, Key("default", "db"), {"spec": {"replicas": 1}})
        await asyncio.sleep(1)
        assert [pod["metadata"]["name"] for pod in await pods(client, "db")] == ["db-0"]


async def test_more_pods_than_there_is_room_for_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads, "MOST_PODS", 300)
    async with cluster(workers=1) as (_, client):
        await client.create(DEPLOYMENTS, workload(DEPLOYMENTS, "herd", replicas=2_000_000_000))
        await asyncio.sleep(5)
        results = await pods(client, "herd")
        assert 110 < len(results) < 300
        placed = [document for document in results if document["status"]["phase"] == "Running"]
        assert len(placed) <= 110
        (waiting, *_) = [
            document for document in results if document["status"]["phase"] == "Pending"
        ]
        (condition,) = waiting["status"]["conditions"]
        assert (condition["type"], condition["reason"]) == ("PodScheduled", "Unschedulable")
