"""The agent of a Node: failures of its own, and whose program a Pod gets."""

from __future__ import annotations

import asyncio
import errno
import os
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kapy._aio.clock import Clock, loop_clock
from kapy.apiserver.controllers.workloads.pod_conditions import not_ready_reason
from kapy.client.client import Client
from kapy.clusterctl.waiting import has_condition, wait_until
from kapy.engine.cache import Change
from kapy.kube import Document, Key
from kapy.kube.names import DEPLOYMENTS, PODS, Resource
from kapy.node_agent.agent import CHECK_SECONDS, OWNER_SECONDS, AgentConfig, NodeAgent
from kapy.node_agent.runtime import ContainerConfig, Exit
from kapy.node_agent.volumes import Volumes
from tests.clusterctl.releases import management_cluster

POD = Key("default", "pod")
SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
LONG = 3600.0


class Fine:
    """A container that runs until it is stopped."""

    identity = "fake://1"
    image = "fake"
    address = "127.0.0.1"
    ports: Mapping[int, int] = {}

    def __init__(self) -> None:
        self.over = asyncio.Event()

    @property
    def started(self) -> datetime:
        return loop_clock()()

    async def ended(self) -> Exit:
        await self.over.wait()
        return Exit(0, "Completed", loop_clock()())

    async def stop(self, seconds: float) -> None:
        self.over.set()

    async def execute(self, command: Sequence[str], seconds: float) -> int:
        return 0

    def outdated(self) -> str:
        return ""

    def trouble(self) -> str:
        return ""


class Broken:
    """A runtime that fails as no runtime should, so many times."""

    other_users = False

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.starts: list[float] = []
        self.environment: Mapping[str, str] = {}

    async def refusal(self, pod: Document) -> str:
        return ""

    async def find(self, config: ContainerConfig) -> None:
        return None

    async def start(self, config: ContainerConfig) -> Fine:
        self.starts.append(asyncio.get_running_loop().time())
        self.environment = config.environment
        if len(self.starts) <= self.failures:
            raise TypeError("nobody has thought of this")
        return Fine()

    async def server(self, pod: Document, tell: Any) -> None:
        return None

    def address(self, pod: Document) -> str:
        return "10.0.0.7"

    async def forget(self, pod: Document) -> None:
        pass

    async def keep(self, known: Any) -> None:
        await asyncio.get_running_loop().create_future()

    async def close(self) -> None:
        pass

    def tidy_soon(self) -> None:
        pass


@asynccontextmanager
async def agent(
    folder: Path, runtime: Any, clock: Clock | None = None
) -> AsyncIterator[tuple[Client, NodeAgent]]:
    async with management_cluster(controllers=True) as client, asyncio.TaskGroup() as group:
        await asyncio.sleep(1)
        place = AgentConfig("kapy", folder / "node", folder, ("127.0.0.1", 1), b"")
        node_agent = NodeAgent(
            client,
            place,
            clock=clock or loop_clock(),
            random=random.Random(1),
            runtimes=[runtime],
        )
        running = group.create_task(node_agent.run())
        yield client, node_agent
        running.cancel()


def pod(**metadata: Any) -> Document:
    container = {"name": "main", "image": "web:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": POD.name, "namespace": POD.namespace, **metadata},
        "spec": {
            "nodeName": "kapy",
            "containers": [container],
            "automountServiceAccountToken": False,
        },
    }


async def pod_when(client: Client, holds: Callable[[Document], Any]) -> Document:
    wait = await wait_until(
        client, PODS, POD, lambda document: bool(document and holds(document)), within=LONG
    )
    assert wait is not None
    return wait


def waiting(document: Document) -> Document:
    statuses = (document.get("status") or {}).get("containerStatuses") or [{}]
    result: Document = (statuses[0].get("state") or {}).get("waiting") or {}
    return result


async def test_a_failure_of_the_agent_is_told_and_tried_again(tmp_path: Path) -> None:
    runtime = Broken(3)
    async with agent(tmp_path, runtime) as (client, _):
        await client.create(PODS, pod())
        failed = await pod_when(
            client, lambda document: waiting(document).get("reason") == "ContainerCannotRun"
        )
        message = waiting(failed)["message"]
        assert message.startswith("the node agent failed (TypeError: nobody has thought of this)")
        running = await pod_when(
            client,
            lambda document: "running" in (document["status"]["containerStatuses"][0]["state"]),
        )
        assert running["status"]["phase"] == "Running"
        pauses = [
            round(after - before)
            for before, after in zip(runtime.starts, runtime.starts[1:], strict=False)
        ]
        assert pauses == [1, 10, 20]


class Full(Broken):
    """A runtime that finds the disk full when it starts a container."""

    async def start(self, config: ContainerConfig) -> Fine:
        if self.failures:
            raise OSError(errno.ENOSPC, "No space left on device")
        return await super().start(config)


async def test_a_full_disk_of_the_agent_is_told_until_there_is_space(tmp_path: Path) -> None:
    runtime = Full(1)
    async with agent(tmp_path, runtime) as (client, _):
        await client.create(PODS, pod())
        failed = await pod_when(client, lambda item: waiting(item).get("reason") == "DiskFull")
        message = waiting(failed)["message"]
        assert message.startswith(f"the disk of {tmp_path}/node/pods/")
        assert message.endswith(" is full; free some space on it")
        runtime.failures = 0
        await pod_when(client, _is_ready)


async def test_a_full_disk_is_told_of_a_container_that_ended_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=0, f_frsize=4096))
    document, runtime = pod(), Hooked(3, 3, 0)
    document["spec"]["containers"][0]["lifecycle"] = {"postStart": {"exec": {"command": ["x"]}}}
    async with agent(tmp_path, runtime) as (client, _):
        await client.create(PODS, document)
        failed = await pod_when(
            client, lambda item: waiting(item).get("reason") == "CrashLoopBackOff"
        )
        assert waiting(failed)["message"].endswith(" is full; free some space on it")


async def test_a_token_that_a_full_disk_keeps_from_the_containers_is_told_when_the_old_one_expires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, full = JumpingClock(), [False]
    update = Volumes.update

    def updated(volumes: Volumes, *arguments: Any) -> None:
        if full[0]:
            raise OSError(errno.EDQUOT, "Disk quota exceeded")
        update(volumes, *arguments)

    monkeypatch.setattr(Volumes, "update", updated)
    async with agent(tmp_path, Broken(0), clock) as (client, _):
        account = Resource("", "v1", "serviceaccounts", "ServiceAccount")
        metadata = {"name": "own", "namespace": POD.namespace}
        await client.create(
            account, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
        )
        spec = pod()["spec"] | {"automountServiceAccountToken": True, "serviceAccountName": "own"}
        await client.create(PODS, pod() | {"spec": spec})
        await pod_when(client, _is_ready)
        full[0] = True
        clock.slept += timedelta(hours=2)
        failed = await pod_when(client, lambda item: not _is_ready(item))
        assert "its ServiceAccount token expired at " in not_ready_reason(failed)
        assert " is full; free some space on it" in not_ready_reason(failed)
        full[0] = False
        await pod_when(client, _is_ready)


async def test_a_variable_has_the_address_of_this_start_and_not_that_of_an_earlier_one(
    tmp_path: Path,
) -> None:
    runtime, wanted = Broken(0), pod()
    field = {"fieldRef": {"fieldPath": "status.podIP"}}
    wanted["spec"]["containers"][0]["env"] = [{"name": "IP", "valueFrom": field}]
    async with agent(tmp_path, runtime) as (client, _):
        del wanted["spec"]["nodeName"]
        await client.create(PODS, wanted)
        messages = {"podIP": "10.9.9.9", "podIPs": [{"ip": "10.9.9.9"}]}
        await client.patch(PODS, POD, {"status": messages}, subresource="status")
        await client.patch(PODS, POD, {"spec": {"nodeName": "kapy"}})
        await pod_when(
            client, lambda document: (document.get("status") or {}).get("containerStatuses")
        )
        await asyncio.sleep(1)
    assert runtime.environment["IP"] == "10.0.0.7"


class Found(Broken):
    """A runtime whose containers run already."""

    def __init__(self, *value: str) -> None:
        super().__init__(0)
        self.found = value
        self.names: list[str] = []

    async def find(self, config: ContainerConfig) -> Any:
        return Fine() if config.name in self.found else None

    async def start(self, config: ContainerConfig) -> Fine:
        self.names.append(config.name)
        fine = Fine()
        if config.name == "before":
            fine.over.set()
        return fine


@pytest.mark.parametrize(("found", "names"), [(("main",), []), ((), ["before", "main"])])
async def test_init_containers_do_not_run_again_beside_what_they_prepared(
    tmp_path: Path, found: tuple[str, ...], names: list[str]
) -> None:
    runtime, wanted = Found(*found), pod()
    del wanted["spec"]["nodeName"]
    wanted["spec"]["initContainers"] = [{"name": "before", "image": "web:1"}]
    async with agent(tmp_path, runtime) as (client, _):
        await client.create(PODS, wanted)
        running = {"name": "main", "image": "", "imageID": "", "ready": True, "restartCount": 0}
        running["state"] = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        messages = {"containerStatuses": [running]}
        await client.patch(PODS, POD, {"status": messages}, subresource="status")
        await client.patch(PODS, POD, {"spec": {"nodeName": "kapy"}})
        seen = await pod_when(client, _is_initialized)
        await asyncio.sleep(1)
    assert runtime.names == names
    assert "terminated" in seen["status"]["initContainerStatuses"][0]["state"]


def _is_initialized(document: Document) -> bool:
    status = document.get("status") or {}
    (main,) = status.get("containerStatuses") or [{}]
    return bool(status.get("initContainerStatuses")) and "running" in (main.get("state") or {})


async def test_a_pod_whose_agent_failed_can_be_deleted_at_once(tmp_path: Path) -> None:
    async with agent(tmp_path, Broken(1000)) as (client, node_agent):
        await client.create(PODS, pod())
        await asyncio.sleep(300)
        began = asyncio.get_running_loop().time()
        await client.delete(PODS, POD)
        await wait_until(client, PODS, POD, lambda document: document is None, within=LONG)
        assert asyncio.get_running_loop().time() - began < 5
        await asyncio.sleep(0)
        assert node_agent.workers == {}


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
async def test_a_pod_gets_the_program_of_its_owner_only_as_that_has_it(
    tmp_path: Path, spec: dict[str, Any], uid: str, kind: str, workload: str
) -> None:
    """Users who may create Pods must not run the owner's program with other arguments or rights."""
    async with agent(tmp_path, Broken(0)) as (client, node_agent):
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

    async def synced(self) -> None:
        await self._sets.synced()

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
    runtime = Broken(0)
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


class JumpingClock:
    """The time of the loop, and the hours for which the machine has slept."""

    def __init__(self) -> None:
        self.slept = timedelta()
        self._clock = loop_clock()

    def __call__(self) -> datetime:
        return self._clock() + self.slept


async def test_a_token_is_renewed_at_once_when_the_machine_has_slept(tmp_path: Path) -> None:
    clock = JumpingClock()
    account = Resource("", "v1", "serviceaccounts", "ServiceAccount")
    own = Key("default", "own")
    document: Document = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": own.name, "namespace": own.namespace},
    }
    async with agent(tmp_path, Broken(0), clock) as (client, node_agent):
        await client.create(account, document)
        spec = pod()["spec"] | {
            "automountServiceAccountToken": True, "serviceAccountName": own.name
        }  # fmt: skip
        await client.create(PODS, pod() | {"spec": spec})
        ready = await pod_when(client, _is_ready)
        folder = node_agent.workers[ready["metadata"]["uid"]].folder.volumes
        (token,) = folder.glob("*/token")
        before = token.read_text()
        clock.slept += timedelta(hours=9)
        await asyncio.sleep(CHECK_SECONDS + 0.5)
        renewed = token.read_text()
        assert renewed != before, "before the next regular look, half a minute later"
        await client.delete(account, own)
        clock.slept += timedelta(hours=9)
        failed = await pod_when(client, lambda item: not _is_ready(item))
        assert "its ServiceAccount token expired at " in not_ready_reason(failed)
        assert 'and cannot be renewed: serviceaccounts "own" not found' in not_ready_reason(failed)
        await client.create(account, document)
        await pod_when(client, _is_ready)
        assert token.read_text() != renewed


def _is_ready(document: Document) -> bool:
    return has_condition(document, "Ready")


class Hooked(Broken):
    """A runtime whose containers end a command with these codes, one after the other."""

    def __init__(self, *codes: int) -> None:
        super().__init__(0)
        self.codes = list(codes)
        self.commands: list[str] = []

    async def start(self, config: ContainerConfig) -> Fine:
        fine = await super().start(config)
        fine.execute = self._execute  # type: ignore[method-assign]
        return fine

    async def _execute(self, command: Sequence[str], seconds: float) -> int:
        self.commands.append(" ".join(command))
        await asyncio.sleep(1)
        return self.codes.pop(0)


async def test_a_post_start_hook_that_fails_ends_the_container(
    tmp_path: Path,
) -> None:
    runtime = Hooked(3, 4, 0)
    document = pod()
    (container,) = document["spec"]["containers"]
    container["lifecycle"] = {"postStart": {"exec": {"command": ["prepare", "it"]}}}
    async with agent(tmp_path, runtime) as (client, _):
        await client.create(PODS, document)
        failed = await pod_when(
            client, lambda item: waiting(item).get("reason") == "CrashLoopBackOff"
        )
        why = waiting(failed)["message"]
        assert "the postStart hook failed: prepare it ended with code 4" in why
        ready = await pod_when(client, _is_ready)
        assert ready["status"]["containerStatuses"][0]["restartCount"] == 2
        assert runtime.commands == ["prepare it"] * 3
        assert len(runtime.starts) == 3
