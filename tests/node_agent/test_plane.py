"""Deployments of a plane really run, as local processes, and their webhooks are served."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kapy._aio.byte_streams import Channel
from kapy._aio.clock import system_clock
from kapy.apiserver.kubelet.port_forward import PortForward
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.running_pods import running_pods
from kapy.apps.settings import Serving, Settings
from kapy.client.client import Client
from kapy.clusterctl.waiting import has_condition, wait_until
from kapy.kube import Document, Key
from kapy.kube.errors import BadRequest
from kapy.kube.http import Request
from kapy.kube.names import CONFIG_MAPS, DEPLOYMENTS, PODS
from kapy.node_agent.processes import programs, records, runtime
from kapy.node_agent.processes.programs import Program
from tests.node_agent.objects import SPACE, release

pytestmark = pytest.mark.sockets

MANAGER = Path(__file__).parent / "manager.py"
FOO = Key(SPACE, "foo")
LONG = 90.0


@asynccontextmanager
async def plane(folder: Path) -> AsyncIterator[ManagementPlane]:
    settings = Settings(
        data=folder / "data", serving=Serving(pki=folder / "pki"), inventory=True, pods=folder
    )
    async with management_plane(settings, clock=system_clock) as result:
        yield result


async def install(client: Client, *, broken: bool = False) -> None:
    for path, document in release(broken=broken):
        await client.raw("POST", path, body=document)


def run(folder: Path, *more: str) -> None:
    """Let the manager run in place of its image."""
    command = (sys.executable, str(MANAGER), *more)
    programs.add(folder, [Program(SPACE, "foo", "manager", command)])


async def deployment_when(client: Client, done: Callable[[Document], bool]) -> Document:
    wait = await wait_until(
        client,
        DEPLOYMENTS,
        FOO,
        lambda document: document is not None and done(document),
        within=LONG,
    )
    assert wait is not None
    return wait


async def available(client: Client) -> Document:
    return await deployment_when(client, lambda document: has_condition(document, "Available"))


async def the_pod(client: Client) -> Document:
    (document,) = (await client.list(PODS, SPACE)).items
    return document


def record_of(folder: Path, pod: Document) -> records.Record:
    record = records.read(folder / "node" / "pods" / pod["metadata"]["uid"] / "manager")
    assert record is not None
    return record


def command_of(folder: Path, pod: Document) -> str:
    """Return the command line of a Pod's program in /proc, if the system has /proc."""
    command = Path(f"/proc/{record_of(folder, pod).pid}/cmdline")
    return command.read_text() if command.exists() else ""


def said(folder: Path, pod: Document) -> Document:
    """Return the facts that the manager of a Pod logged first."""
    log = folder / "node" / "pods" / pod["metadata"]["uid"] / "manager" / "0.log"
    document: Document = json.loads(log.read_text().splitlines()[0])
    return document


async def log_of(plane: ManagementPlane, pod: Document) -> str:
    """Return the last line of the Pod's log, as `kubectl logs` prints it."""
    path = PODS.path(SPACE, pod["metadata"]["name"], "log")
    reply = await plane.transport(Request("GET", path, {"tailLines": "1"}))
    assert reply.status == 200
    assert isinstance(reply.body, AsyncIterator)
    pieces = [item async for item in reply.body if isinstance(item, bytes)]
    return b"".join(pieces).decode()


async def asked(plane: ManagementPlane, pod: Document, port: int) -> bytes:
    """Return the answer of a Pod's port over port forwarding."""
    path = PODS.path(SPACE, pod["metadata"]["name"], "portforward")
    reply = await plane.transport(Request("POST", path, {}, {"upgrade": "SPDY/3.1"}))
    assert isinstance(reply, PortForward)
    assert reply.connect is not None
    result = bytearray()
    channel = Channel(lambda data: result.extend(data or b""))
    channel.feed(b"GET /healthz HTTP/1.0\r\n\r\n")
    await reply.connect(port, channel)
    return bytes(result)


def config_map(name: str) -> Document:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.mark.parametrize("namespaces", [True, False], ids=["where it may mount", "where not"])
async def test_a_release_runs_and_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, namespaces: bool
) -> None:
    if not namespaces:

        async def refused() -> bool:
            return False

        monkeypatch.setattr(runtime, "_namespaces_allowed", refused)
    async with plane(tmp_path) as running:
        client = running.client
        await install(client)
        waiting = await deployment_when(client, lambda item: "NoRuntime" in json.dumps(item))
        (why,) = (
            condition["message"]
            for condition in waiting["status"]["conditions"]
            if condition["type"] == "Available"
        )
        assert "kapy run provider" in why
        run(tmp_path)
        await available(client)
        pod = await the_pod(client)
        document = said(tmp_path, pod)
        assert (document["may_list"], document["may_not"]) == (200, 403), (
            "its account's rights, no more"
        )
        assert document["setting"] == "first"
        assert "eyJ" not in json.dumps(document) + command_of(tmp_path, pod), "no token is told"
        await client.create(CONFIG_MAPS, config_map("good"))
        with pytest.raises(BadRequest, match="it is bad"):
            await client.create(CONFIG_MAPS, config_map("bad"))
        (running_pod,) = await running_pods(client, tmp_path)
        assert (running_pod.provider, running_pod.state) == ("infrastructure-foo", "Running")
        assert (
            running_pod.since
            == pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
        )
        assert running_pod.memory > 1_000_000
        assert (running_pod.restarts, running_pod.message) == (0, "")
        assert await log_of(running, pod) == json.dumps(document) + "\n"
        assert b" 200 " in await asked(running, pod, 9440)
        with pytest.raises(OSError, match=r"[Cc]onnect"):
            await asked(running, pod, 1)
        ports = {
            int(argument.rpartition(":")[2].rpartition("=")[2])
            for argument in document["arguments"][1:]
        }
        assert not ports & {9440, 9443}, "two managers do not clash"


async def test_a_program_that_fails_is_reported_in_one_sentence_and_recovers(
    tmp_path: Path,
) -> None:
    async with plane(tmp_path) as running:
        client = running.client
        run(tmp_path)
        await install(client, broken=True)

        def crashes(deployment: Document) -> bool:
            return "CrashLoopBackOff" in json.dumps(deployment)

        failing = await deployment_when(client, crashes)
        message = json.dumps(failing["status"])
        assert "it ended with code 1; its last words: it is broken" in message
        (pod,) = await running_pods(client, tmp_path)
        assert pod.state in ("CrashLoopBackOff", "Running")
        assert "it is broken" in pod.message or pod.state == "Running"
        good = [{"name": "BROKEN", "value": ""}]
        containers = [{"name": "manager", "env": good}]
        patch = {"spec": {"template": {"spec": {"containers": containers}}}}
        await client.patch(
            DEPLOYMENTS, FOO, patch, media_type="application/strategic-merge-patch+json"
        )
        await available(client)


async def test_a_changed_setting_reaches_its_file(tmp_path: Path) -> None:
    async with plane(tmp_path) as running:
        client = running.client
        run(tmp_path)
        await install(client)
        await available(client)
        pod = await the_pod(client)
        file = tmp_path / "node/pods" / pod["metadata"]["uid"] / "volumes/settings/setting"
        assert file.read_text() == "first"
        await client.patch(CONFIG_MAPS, Key(SPACE, "settings"), {"data": {"setting": "second"}})
        async with asyncio.timeout(LONG):
            while file.read_text() != "second":  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def test_another_program_takes_over_and_a_deleted_one_ends(tmp_path: Path) -> None:
    async with plane(tmp_path) as running:
        client = running.client
        run(tmp_path)
        await install(client)
        await available(client)
        pod = await the_pod(client)
        before = record_of(tmp_path, pod)
        run(tmp_path, "--leader-elect=other")
        key = Key.of(pod)

        def restarted(document: Document | None) -> bool:
            statuses = ((document or {}).get("status") or {}).get("containerStatuses") or [{}]
            return statuses[0].get("restartCount") == 1 and bool(statuses[0].get("ready"))

        await wait_until(client, PODS, key, restarted, within=LONG)
        after = record_of(tmp_path, pod)
        assert not before.is_alive
        assert before.ports == after.ports
        await client.delete(DEPLOYMENTS, FOO)
        await wait_until(client, PODS, key, lambda document: document is None, within=LONG)
        assert not after.is_alive
        assert not (tmp_path / "node/pods" / pod["metadata"]["uid"]).exists()


async def test_a_plane_that_ends_ends_its_processes_and_starts_them_again(tmp_path: Path) -> None:
    async with plane(tmp_path) as running:
        run(tmp_path)
        await install(running.client)
        await available(running.client)
        pod = await the_pod(running.client)
        first = record_of(tmp_path, pod)
    assert not first.is_alive
    async with plane(tmp_path) as running:

        def runs(document: Document | None) -> bool:
            statuses = ((document or {}).get("status") or {}).get("containerStatuses") or [{}]
            record = records.read(tmp_path / "node/pods" / pod["metadata"]["uid"] / "manager")
            again = statuses[0].get("restartCount") == 1
            return record is not None and again and bool(statuses[0].get("ready"))

        await wait_until(running.client, PODS, Key.of(pod), runs, within=LONG)
        assert record_of(tmp_path, pod).is_alive
