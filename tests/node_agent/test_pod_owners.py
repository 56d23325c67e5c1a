"""The workload whose program the agent runs for a Pod: that of its ReplicaSet, or none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kapy.engine.cache import Change
from kapy.kube import Document, Key
from kapy.kube.names import DEPLOYMENTS, PODS, Resource
from kapy.node_agent.agent import OWNER_SECONDS
from tests.node_agent.agent_bench import (
    FailingRuntime,
    agent,
    pod,
)

SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")

LABELS = {"app": "web"}
TEMPLATE: Document = {
    "metadata": {"labels": LABELS},
    "spec": {
        "serviceAccountName": "manager",
        "containers": [{"name": "main", "image": "web:1", "args": ["--leader-elect"]}],
        "volumes": [{"name": "cert", "secret": {"secretName": "cert"}}],
    },
}


def of(kind: str, name: str, owner: Document | None = None) -> Document:
    """A Deployment or a ReplicaSet; nobody makes Pods of it here."""
    metadata: Document = {"name": name, "namespace": "default"}
    if owner is not None:
        metadata["ownerReferences"] = [reference("Deployment", owner)]
    selector = {"matchLabels": LABELS}
    spec = {"replicas": 0, "selector": selector, "template": TEMPLATE}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def reference(kind: str, owner: Document) -> Document:
    meta = owner["metadata"]
    document = {"apiVersion": "apps/v1", "kind": kind, "name": meta["name"], "uid": meta["uid"]}
    return {**document, "controller": True}


DEFAULTED = {
    "nodeName": "kapy",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
}


@pytest.mark.parametrize(
    ("spec", "uid", "kind", "workload"),
    [
        ({}, "", "ReplicaSet", "web"),
        (DEFAULTED, "", "ReplicaSet", "web"),
        ({"containers": [{"name": "main", "image": "web:1"}]}, "", "ReplicaSet", ""),
        ({"containers": [{"name": "main", "image": "web:1", "args": ["--evil"]}]}, "",
         "ReplicaSet", ""),
        ({"serviceAccountName": "admin"}, "", "ReplicaSet", ""),
        ({"volumes": [{"name": "cert", "hostPath": {"path": "/"}}]}, "", "ReplicaSet", ""),
        ({"initContainers": [{"name": "first", "image": "x"}]}, "", "ReplicaSet", ""),
        ({}, "other", "ReplicaSet", ""),
        ({}, "", "Nothing", ""),
    ],
    ids=["as its template", "with defaults", "without arguments", "other arguments",
         "another account", "another volume", "one more container", "of a set that is gone",
         "without an owner"],
)  # fmt: skip
async def test_a_pod_runs_the_program_of_its_owner_only_unchanged(
    tmp_path: Path, spec: dict[str, Any], uid: str, kind: str, workload: str
) -> None:
    """Users who may create Pods must not run the owner's program with other arguments or rights."""
    async with agent(tmp_path, FailingRuntime(0)) as (client, node_agent):
        deployment = await client.create(DEPLOYMENTS, of("Deployment", "web"))
        stored = await client.create(SETS, of("ReplicaSet", "web-1", deployment))
        document: Document = {"metadata": {"name": "web-1-a", "namespace": "default"}}
        document["spec"] = {**stored["spec"]["template"]["spec"], **spec}
        if kind == "ReplicaSet":
            owner = reference(kind, stored)
            document["metadata"]["ownerReferences"] = [{**owner, "uid": uid or owner["uid"]}]
        await asyncio.sleep(1)
        assert node_agent.workload_of(document) == (
            workload or ("" if kind == "ReplicaSet" else "web-1-a")
        )


class LateSets:
    """ReplicaSets that this watch does not deliver before they are released."""

    def __init__(self, sets: Any) -> None:
        self._sets = sets
        self._released = False
        self._handlers: list[Callable[[Change], None]] = []

    async def wait_for_sync(self) -> None:
        await self._sets.wait_for_sync()

    def raw(self, key: Key) -> Document | None:
        document: Document | None = self._sets.raw(key) if self._released else None
        return document

    def subscribe(self, handler: Callable[[Change], None]) -> None:
        self._handlers.append(handler)

    def release(self, key: Key) -> None:
        self._released = True
        document = self._sets.raw(key)
        for handler in self._handlers:
            handler(Change(None, document))


@pytest.mark.parametrize(("late", "workload"), [(1, "web"), (60, "")], ids=["late", "never"])
async def test_a_pod_that_comes_before_its_replica_set_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: float, workload: str
) -> None:
    """An engine that would run its image must not be asked while its program is not known."""
    runtime = FailingRuntime(0)
    admitted: list[tuple[float, str]] = []
    async with agent(tmp_path, runtime) as (client, node_agent):
        sets = LateSets(node_agent._sets)
        monkeypatch.setattr(node_agent, "_sets", sets)
        now = asyncio.get_running_loop().time

        async def refusal(document: Document) -> str:
            admitted.append((now() - began, node_agent.workload_of(document)))
            return ""

        monkeypatch.setattr(runtime, "refusal", refusal)
        deployment = await client.create(DEPLOYMENTS, of("Deployment", "web"))
        stored = await client.create(SETS, of("ReplicaSet", "web-1", deployment))
        owned = pod(ownerReferences=[reference("ReplicaSet", stored)])
        began = now()
        spec = {**stored["spec"]["template"]["spec"], "nodeName": "kapy"}
        await client.create(PODS, owned | {"spec": spec})
        await asyncio.sleep(late)
        sets.release(Key.of(stored))
        await asyncio.sleep(60)
    ((after, name),) = admitted
    assert name == workload
    assert min(late, OWNER_SECONDS) <= after < min(late, OWNER_SECONDS) + 1
