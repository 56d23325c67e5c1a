"""Workloads whose Pods somebody runs: what their controllers make of good and bad news."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kapy.apiserver.controllers.workloads.controller_loop import WorkloadControllers
from kapy.kube import Document
from tests.apiserver.requester import Asking, running

APPS = "/apis/apps/v1/namespaces/default"
CORE = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
READY = [{"type": "Ready", "status": "True"}]
EXCLUDED = "somebody.else/looks-after-it"


def _is_excluded(document: Document) -> bool:
    return EXCLUDED in (document["metadata"].get("annotations") or {})


@pytest.fixture
async def asking() -> AsyncIterator[Asking]:
    """A server with one Node and the controllers, and nobody who runs Pods but the test."""
    async with running(None) as result, asyncio.TaskGroup() as group:
        task = group.create_task(WorkloadControllers(result.server.context, _is_excluded).run())
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"}}
        await result.create("/api/v1/nodes", node)
        await result.merge("/api/v1/nodes/node/status", {"status": {"conditions": READY}})
        yield result
        task.cancel()


def deployment(**spec: Any) -> Document:
    labels = {"app": "web"}
    ports = [{"name": "hook", "containerPort": 9443}]
    template = {"containers": [{"name": "main", "image": "web:1", "ports": ports}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "annotations": spec.pop("annotations", {})},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template},
            **spec,
        },
    }


async def the_pods(asking: Asking) -> list[Document]:
    await asyncio.sleep(0.1)
    results: list[Document] = (await asking.get(f"{CORE}/pods"))["items"]
    return [document for document in results if "deletionTimestamp" not in document["metadata"]]


async def report(asking: Asking, pod: Document, **status: Any) -> None:
    """Update the status of a Pod, as its kubelet does."""
    await asking.merge(f"{CORE}/pods/{pod['metadata']['name']}/status", {"status": status})
    await asyncio.sleep(0.1)


async def run(asking: Asking, pod: Document) -> None:
    await report(asking, pod, phase="Running", podIP="10.0.0.1", conditions=READY)


async def end(asking: Asking, pod: Document) -> None:
    """Delete a Pod with grace period 0, as its kubelet does after its containers have stopped."""
    name = pod["metadata"]["name"]
    await asking.ask("DELETE", f"{CORE}/pods/{name}", {"gracePeriodSeconds": 0})
    await asyncio.sleep(0.1)


async def conditions(asking: Asking) -> dict[str, Document]:
    result = await asking.get(f"{APPS}/deployments/web")
    return {condition["type"]: condition for condition in result["status"]["conditions"]}


async def test_a_deployment_is_available_when_its_pods_are_ready(asking: Asking) -> None:
    await asking.create(f"{APPS}/deployments", deployment())
    (pod,) = await the_pods(asking)
    assert pod["spec"]["nodeName"] == "node"
    waiting = {"reason": "CrashLoopBackOff", "message": "it ended with code 3"}
    statuses = [{"name": "main", "state": {"waiting": waiting}}]
    await report(asking, pod, phase="Running", containerStatuses=statuses)
    available = (await conditions(asking))["Available"]
    assert available["status"] == "False"
    assert available["message"].endswith("CrashLoopBackOff: it ended with code 3")
    await run(asking, pod)
    assert (await conditions(asking))["Available"]["status"] == "True"


@pytest.mark.parametrize("field", ["serviceAccountName", "serviceAccount"])
async def test_a_bound_pod_has_a_service_account(asking: Asking, field: str) -> None:
    """Its own, or that of its namespace: its token is of that."""
    own = deployment()
    own["metadata"]["name"] = "own"
    own["spec"]["template"]["spec"] |= {field: "manager"}
    for document in (own, deployment()):
        await asking.create(f"{APPS}/deployments", document)
    specs = [pod["spec"] for pod in await the_pods(asking)]
    assert sorted((spec["serviceAccountName"], spec["serviceAccount"]) for spec in specs) == [
        ("default", "default"), ("manager", "manager")
    ]  # fmt: skip


async def test_a_rollout_without_progress_has_a_deadline(asking: Asking) -> None:
    await asking.create(f"{APPS}/deployments", deployment(progressDeadlineSeconds=60))
    (pod,) = await the_pods(asking)
    await asyncio.sleep(58)
    assert (await conditions(asking))["Progressing"]["reason"] == "ReplicaSetUpdated"
    await asyncio.sleep(4)
    late = (await conditions(asking))["Progressing"]
    assert (late["status"], late["reason"]) == ("False", "ProgressDeadlineExceeded")
    await run(asking, pod)
    assert (await conditions(asking))["Progressing"]["reason"] == "NewReplicaSetAvailable"
    await report(asking, pod, conditions=[{"type": "Ready", "status": "False"}])
    await asyncio.sleep(120)
    assert (await conditions(asking))["Progressing"]["status"] == "True", "it was complete once"


@pytest.mark.parametrize(
    "strategy",
    [
        {"type": "Recreate"},
        {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
    ],
    ids=["Recreate", "no surge"],
)
async def test_the_old_pod_has_ended_before_the_new_one_begins(
    asking: Asking, strategy: Document
) -> None:
    await asking.create(f"{APPS}/deployments", deployment(strategy=strategy))
    (old,) = await the_pods(asking)
    may_lack = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 0)
    available = (await conditions(asking))["Available"]["status"]
    assert available == ("True" if may_lack else "False"), "one that begins is not available"
    await run(asking, old)
    assert (await conditions(asking))["Available"]["status"] == "True"
    metadata = {"metadata": {"annotations": {"restarted": "now"}}}
    await asking.merge(f"{APPS}/deployments/web", {"spec": {"template": metadata}})
    assert await the_pods(asking) == [], "the old one still ends"
    await end(asking, old)
    (new,) = await the_pods(asking)
    assert new["metadata"]["annotations"] == {"restarted": "now"}


async def test_the_old_pod_stays_until_the_new_one_is_ready(asking: Asking) -> None:
    await asking.create(f"{APPS}/deployments", deployment())
    (old,) = await the_pods(asking)
    await run(asking, old)
    metadata = {"metadata": {"annotations": {"restarted": "now"}}}
    await asking.merge(f"{APPS}/deployments/web", {"spec": {"template": metadata}})
    new = next(pod for pod in await the_pods(asking) if pod["metadata"].get("annotations"))
    assert len(await the_pods(asking)) == 2
    await run(asking, new)
    assert [pod["metadata"]["name"] for pod in await the_pods(asking)] == [new["metadata"]["name"]]


async def test_a_deployment_of_another_controller_gets_no_replica_sets(asking: Asking) -> None:
    await asking.create(f"{APPS}/deployments", deployment(annotations={EXCLUDED: ""}))
    assert await the_pods(asking) == []


async def test_services_route_to_ready_pods_at_their_target_ports(asking: Asking) -> None:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 443, "targetPort": "hook"}]}
    metadata = {"name": "web"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    await asking.create(f"{CORE}/services", service)
    await asking.create(f"{APPS}/deployments", deployment())
    (pod,) = await the_pods(asking)
    assert (await asking.get(SLICES))["items"] == [], "a Pod without an address is nowhere"
    await run(asking, pod)
    (value,) = (await asking.get(SLICES))["items"]
    assert value["ports"] == [{"name": "", "protocol": "TCP", "port": 9443}]
    assert value["endpoints"][0]["conditions"]["ready"] is True
    note = {"kapy.cluster.x-k8s.io/ports": '{"9443": 40001}'}
    name = pod["metadata"]["name"]
    await asking.merge(f"{CORE}/pods/{name}", {"metadata": {"annotations": note}})
    await report(asking, pod, conditions=[{"type": "Ready", "status": "False"}])
    (value,) = (await asking.get(SLICES))["items"]
    assert value["ports"][0]["port"] == 40001
    assert value["endpoints"][0]["conditions"]["ready"] is False
    await asking.delete(f"{CORE}/services/web")
    await asyncio.sleep(0.1)
    assert (await asking.get(SLICES))["items"] == []


async def test_services_have_endpoints_for_old_clients(asking: Asking) -> None:
    ports = [{"name": "hook", "port": 443, "targetPort": "hook"}]
    spec = {"selector": {"app": "web"}, "ports": ports}
    meta = {"name": "web", "labels": {"team": "a"}}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}
    await asking.create(f"{CORE}/services", service)
    theirs = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "theirs"}}
    await asking.create(f"{CORE}/endpoints", theirs)
    await asking.create(f"{APPS}/deployments", deployment())
    (pod,) = await the_pods(asking)
    assert not (await asking.get(f"{CORE}/endpoints/web")).get("subsets")
    await run(asking, pod)
    result = await asking.get(f"{CORE}/endpoints/web")
    (subset,) = result["subsets"]
    (address,) = subset["addresses"]
    assert (address["ip"], address["targetRef"]["name"]) == ("10.0.0.1", pod["metadata"]["name"])
    assert subset["ports"] == [{"name": "hook", "port": 9443, "protocol": "TCP"}]
    assert result["metadata"]["labels"]["team"] == "a"
    await report(asking, pod, conditions=[{"type": "Ready", "status": "False"}])
    (subset,) = (await asking.get(f"{CORE}/endpoints/web"))["subsets"]
    assert set(subset) == {"notReadyAddresses", "ports"}
    await asking.delete(f"{CORE}/services/web")
    await asyncio.sleep(0.1)
    slices = (await asking.get(f"{CORE}/endpoints"))["items"]
    assert [item["metadata"]["name"] for item in slices] == ["theirs"]


async def ready_now(asking: Asking, pod: Document) -> None:
    now = asking.server.context.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [{**READY[0], "lastTransitionTime": now}]
    await report(asking, pod, phase="Running", podIP="10.0.0.1", conditions=conditions)


async def test_a_pod_is_available_after_min_ready_seconds(asking: Asking) -> None:
    await asking.create(f"{APPS}/deployments", deployment(minReadySeconds=60))
    (pod,) = await the_pods(asking)
    await ready_now(asking, pod)

    async def counts() -> tuple[int, int, str]:
        status = (await asking.get(f"{APPS}/deployments/web"))["status"]
        result = (await conditions(asking))["Available"]["status"]
        return status.get("readyReplicas", 0), status.get("availableReplicas", 0), result

    await asyncio.sleep(55)
    assert await counts() == (1, 0, "False")
    await asyncio.sleep(10)
    assert await counts() == (1, 1, "True")
    (progressing,) = [
        condition for name, condition in (await conditions(asking)).items() if name == "Progressing"
    ]
    assert progressing["reason"] == "NewReplicaSetAvailable"
    await asking.merge(f"{APPS}/deployments/web", {"spec": {"minReadySeconds": 500}})
    await asyncio.sleep(1)
    assert await counts() == (1, 0, "False")


async def test_the_old_pods_stay_until_new_ones_were_ready_for_long_enough(asking: Asking) -> None:
    await asking.create(f"{APPS}/deployments", deployment(minReadySeconds=30))
    (old,) = await the_pods(asking)
    await ready_now(asking, old)
    await asyncio.sleep(40)
    annotations = {"metadata": {"annotations": {"version": "2"}}}
    await asking.merge(f"{APPS}/deployments/web", {"spec": {"template": annotations}})
    new = next(pod for pod in await the_pods(asking) if pod["metadata"].get("annotations"))
    await ready_now(asking, new)
    assert len(await the_pods(asking)) == 2
    await asyncio.sleep(25)
    assert len(await the_pods(asking)) == 2
    await asyncio.sleep(10)
    assert [pod["metadata"]["name"] for pod in await the_pods(asking)] == [new["metadata"]["name"]]


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
async def test_sets_wait_for_min_ready_seconds_too(asking: Asking, kind: str) -> None:
    whole = deployment(minReadySeconds=60)
    spec = {**whole["spec"], **({"serviceName": "web"} if kind == "StatefulSet" else {})}
    path = f"{APPS}/{kind.lower()}s"
    await asking.create(path, {**whole, "kind": kind, "spec": spec})
    (pod,) = await the_pods(asking)
    await ready_now(asking, pod)
    name = "availableReplicas" if kind == "StatefulSet" else "numberAvailable"
    assert not (await asking.get(f"{path}/web"))["status"].get(name)
    await asyncio.sleep(65)
    assert (await asking.get(f"{path}/web"))["status"][name] == 1


@pytest.mark.parametrize(
    ("phases", "condition"),
    [(["Failed", "Succeeded"], "Complete"), (["Failed", "Failed"], "Failed")],
)
async def test_a_job_completes_with_its_pods(
    asking: Asking, phases: list[str], condition: str
) -> None:
    template = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "job:1"}]}
    spec = {"backoffLimit": 1, "template": {"spec": template}}
    metadata = {"name": "job"}
    document = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    await asking.create(JOBS, document)
    for phase in phases:
        pod = next(
            item
            for item in await the_pods(asking)
            if item.get("status", {}).get("phase") == "Pending"
        )
        await report(asking, pod, phase=phase)
    await asyncio.sleep(0.1)
    result = await asking.get(f"{JOBS}/job")
    types = {item["type"] for item in result["status"]["conditions"] if item["status"] == "True"}
    assert condition in types
