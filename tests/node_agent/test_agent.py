"""The agent of a Node: failures of its own, and of what a Pod needs."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.controllers.workloads.pod_conditions import not_ready_reason
from kapy.clusterctl.waiting import wait_until
from kapy.kube import Document, Key
from kapy.kube.names import PODS, Resource
from kapy.node_agent.agent import CHECK_SECONDS
from kapy.node_agent.runtime import ContainerConfig
from kapy.node_agent.volumes import Volumes
from tests.node_agent.agent_bench import (
    LONG,
    POD,
    FailingRuntime,
    RunningContainer,
    agent,
    is_ready,
    pod,
    pod_when,
    waiting,
)


async def test_a_failure_of_the_agent_is_reported_and_tried_again(tmp_path: Path) -> None:
    runtime = FailingRuntime(3)
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


class FullDiskRuntime(FailingRuntime):
    """A runtime that finds the disk full when it starts a container."""

    async def start(self, config: ContainerConfig) -> RunningContainer:
        if self.failures:
            raise OSError(errno.ENOSPC, "No space left on device")
        return await super().start(config)


async def test_a_full_disk_of_the_agent_is_reported_until_there_is_space(tmp_path: Path) -> None:
    runtime = FullDiskRuntime(1)
    async with agent(tmp_path, runtime) as (client, _):
        await client.create(PODS, pod())
        failed = await pod_when(client, lambda item: waiting(item).get("reason") == "DiskFull")
        message = waiting(failed)["message"]
        assert message.startswith(f"the disk of {tmp_path}/node/pods/")
        assert message.endswith(" is full; free some space on it")
        runtime.failures = 0
        await pod_when(client, is_ready)


async def test_a_full_disk_is_reported_of_a_container_that_ended_without_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=0, f_frsize=4096))
    document, runtime = pod(), HookRuntime(3, 3, 0)
    document["spec"]["containers"][0]["lifecycle"] = {"postStart": {"exec": {"command": ["x"]}}}
    async with agent(tmp_path, runtime) as (client, _):
        await client.create(PODS, document)
        failed = await pod_when(
            client, lambda item: waiting(item).get("reason") == "CrashLoopBackOff"
        )
        assert waiting(failed)["message"].endswith(" is full; free some space on it")


async def test_a_token_that_a_full_disk_withholds_is_reported_at_the_end_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, full = JumpingClock(), [False]
    update = Volumes.update

    def updated(volumes: Volumes, *arguments: Any) -> None:
        if full[0]:
            raise OSError(errno.EDQUOT, "Disk quota exceeded")
        update(volumes, *arguments)

    monkeypatch.setattr(Volumes, "update", updated)
    async with agent(tmp_path, FailingRuntime(0), clock) as (client, _):
        account = Resource("", "v1", "serviceaccounts", "ServiceAccount")
        metadata = {"name": "own", "namespace": POD.namespace}
        await client.create(
            account, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
        )
        spec = pod()["spec"] | {"automountServiceAccountToken": True, "serviceAccountName": "own"}
        await client.create(PODS, pod() | {"spec": spec})
        await pod_when(client, is_ready)
        full[0] = True
        clock.slept += timedelta(hours=2)
        failed = await pod_when(client, lambda item: not is_ready(item))
        assert "its ServiceAccount token expired at " in not_ready_reason(failed)
        assert " is full; free some space on it" in not_ready_reason(failed)
        full[0] = False
        await pod_when(client, is_ready)


async def test_a_variable_has_the_address_of_this_start_and_not_that_of_an_earlier_one(
    tmp_path: Path,
) -> None:
    runtime, wanted = FailingRuntime(0), pod()
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


class AdoptingRuntime(FailingRuntime):
    """A runtime whose containers run already."""

    def __init__(self, *value: str) -> None:
        super().__init__(0)
        self.found = value
        self.names: list[str] = []

    async def find(self, config: ContainerConfig) -> Any:
        return RunningContainer() if config.name in self.found else None

    async def start(self, config: ContainerConfig) -> RunningContainer:
        self.names.append(config.name)
        fine = RunningContainer()
        if config.name == "before":
            fine.over.set()
        return fine


@pytest.mark.parametrize(("names_there", "names"), [(("main",), []), ((), ["before", "main"])])
async def test_init_containers_do_not_run_again_beside_their_containers(
    tmp_path: Path, names_there: tuple[str, ...], names: list[str]
) -> None:
    runtime, wanted = AdoptingRuntime(*names_there), pod()
    del wanted["spec"]["nodeName"]
    wanted["spec"]["initContainers"] = [{"name": "before", "image": "web:1"}]
    async with agent(tmp_path, runtime) as (client, _):
        await client.create(PODS, wanted)
        running = {"name": "main", "image": "", "imageID": "", "ready": True, "restartCount": 0}
        running["state"] = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        messages = {"containerStatuses": [running]}
        await client.patch(PODS, POD, {"status": messages}, subresource="status")
        await client.patch(PODS, POD, {"spec": {"nodeName": "kapy"}})
        document = await pod_when(client, _is_initialized)
        await asyncio.sleep(1)
    assert runtime.names == names
    assert "terminated" in document["status"]["initContainerStatuses"][0]["state"]


def _is_initialized(document: Document) -> bool:
    status = document.get("status") or {}
    (main,) = status.get("containerStatuses") or [{}]
    return bool(status.get("initContainerStatuses")) and "running" in (main.get("state") or {})


async def test_a_pod_of_a_failed_agent_can_be_deleted_at_once(tmp_path: Path) -> None:
    async with agent(tmp_path, FailingRuntime(1000)) as (client, node_agent):
        await client.create(PODS, pod())
        await asyncio.sleep(300)
        began = asyncio.get_running_loop().time()
        await client.delete(PODS, POD)
        await wait_until(client, PODS, POD, lambda document: document is None, within=LONG)
        assert asyncio.get_running_loop().time() - began < 5
        await asyncio.sleep(0)
        assert node_agent.workers == {}


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
    async with agent(tmp_path, FailingRuntime(0), clock) as (client, node_agent):
        await client.create(account, document)
        spec = pod()["spec"] | {
            "automountServiceAccountToken": True, "serviceAccountName": own.name
        }  # fmt: skip
        await client.create(PODS, pod() | {"spec": spec})
        ready = await pod_when(client, is_ready)
        folder = node_agent.workers[ready["metadata"]["uid"]].folder.volumes
        (token,) = folder.glob("*/token")
        before = token.read_text()
        clock.slept += timedelta(hours=9)
        await asyncio.sleep(CHECK_SECONDS + 0.5)
        renewed = token.read_text()
        assert renewed != before, "before the next regular look, half a minute later"
        await client.delete(account, own)
        clock.slept += timedelta(hours=9)
        failed = await pod_when(client, lambda item: not is_ready(item))
        assert "its ServiceAccount token expired at " in not_ready_reason(failed)
        assert 'and cannot be renewed: serviceaccounts "own" not found' in not_ready_reason(failed)
        await client.create(account, document)
        await pod_when(client, is_ready)
        assert token.read_text() != renewed


class HookRuntime(FailingRuntime):
    """A runtime whose containers end a command with these codes, one after the other."""

    def __init__(self, *codes: int) -> None:
        super().__init__(0)
        self.codes = list(codes)
        self.commands: list[str] = []

    async def start(self, config: ContainerConfig) -> RunningContainer:
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
    runtime = HookRuntime(3, 4, 0)
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
        ready = await pod_when(client, is_ready)
        assert ready["status"]["containerStatuses"][0]["restartCount"] == 2
        assert runtime.commands == ["prepare it"] * 3
        assert len(runtime.starts) == 3
