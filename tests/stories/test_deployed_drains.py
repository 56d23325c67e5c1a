"""Pods of a simulated workload cluster are evicted by drains, rules and budgets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kapy.api.machine import Machine
from kapy.apps.all_in_one import ManagementPlane
from kapy.client.client import Client
from kapy.conditions.lookup import get
from kapy.kube import Document, Key
from kapy.kube.errors import TooManyRequests
from kapy.kube.names import DEPLOYMENTS, NAMESPACES, NODES, PODS, Resource
from kapy.kube.patch.merge_patch import apply as merged
from kapy.testing.story import Story
from tests.stories.deployed import BUDGETS, OWNER, cluster, evict, nodes_of, pods, scale, workload

RULES = Resource("cluster.x-k8s.io", "v1beta2", "machinedrainrules", "MachineDrainRule")
FINALIZER = "test.cluster.x-k8s.io/block"


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
    document = workload(
        DEPLOYMENTS, name, more["namespace"], replicas=replicas, template={"spec": spec}
    )
    whole: Document = merged(document, {"spec": {"template": {"metadata": metadata}}})
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
        machines = (await running.client.list(Machine, "default")).items
        messages = [
            condition.message
            for machine in machines
            if machine.deleting
            and (condition := get(machine.status.conditions, "Deleting")) is not None
        ]
        if len(messages) == 2 and all(map(holds, messages)):
            return messages
        await asyncio.sleep(1)
    raise AssertionError(messages)


async def free(client: Client, name: str) -> None:
    """Take the finalizers from evicted Pods, which have ended."""
    for owner in ("cp", "md"):
        for pod in await pods(client, f"{owner}-{name}", "evictable"):
            if "deletionTimestamp" not in pod["metadata"]:
                continue
            assert pod["status"]["phase"] == "Succeeded"
            assert "DisruptionTarget" in {
                condition["type"] for condition in pod["status"]["conditions"]
            }
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
                document = apart(f"{prefix}-{name}", count, owner, namespace="evictable",
                            labels=labels, finalizers=[FINALIZER])  # fmt: skip
                await client.create(DEPLOYMENTS, document)
            document = apart(f"{prefix}-pdb", count, owner, namespace="unevictable",
                        labels={"mdr": "last"})  # fmt: skip
            await client.create(DEPLOYMENTS, document)
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
        entry = (await client.list(DEPLOYMENTS)).items
        assert all(item["status"].get("unavailableReplicas", 0) == 0 for item in entry)
        await scale(running, control_planes=1, workers=0)

        held = "deletionTimestamp set, but still not removed from the Node"
        await draining(running, lambda message: held in message and "-first" in message)
        await free(client, "first")
        await draining(
            running, lambda message: held in message and "-second" in message.partition("After")[0]
        )
        await free(client, "second")
        await draining(
            running, lambda message: "would violate the pod's disruption budget" in message
        )
        assert len(await pods(client, "md-skip", "evictable")) == 1
        for prefix in ("cp", "md"):
            await client.delete(BUDGETS, Key("unevictable", f"{prefix}-pdb"))
        story = Story(running.client, [])
        for machine in (await running.client.list(Machine, "default")).items:
            if machine.deleting:
                await story.until_gone(Machine, machine.metadata.name)
