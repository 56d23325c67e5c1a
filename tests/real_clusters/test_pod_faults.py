"""Faults of Pods on a laptop: one sentence reports each fault, and no fault leaves traces."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from aiodocker import Docker

from kapy.client.client import Client
from kapy.clusterctl.waiting import has_condition, wait_until
from kapy.containers import Engine, EngineError
from kapy.kube import Document, Key
from kapy.kube.names import DEPLOYMENTS, PODS
from tests.real_clusters.engines import EngineProcess, Kind, engine_process
from tests.real_clusters.image_archive import layer, write_image
from tests.real_clusters.plane_command import Kapy
from tests.real_clusters.subjects import Subject, subject

pytestmark = pytest.mark.sockets

LONG: Final = 240.0
ASLEEP: Final = float(os.environ.get("KAPY_REAL_SLEEP") or 25)
"""Seconds for which everything is frozen: longer than the Lease of a manager lasts. More than an
hour is longer than the token of its ServiceAccount lasts."""
_UID: Final = "io.kubernetes.pod.uid"


class Setup:
    """A plane, an engine, and what runs there."""

    def __init__(self, kapy: Kapy, process: EngineProcess, what: Subject) -> None:
        self.kapy = kapy
        self.process = process
        self.engine: Engine = process.engine
        self.what = what

    async def available(self) -> None:
        """Wait until all is well, and both the Deployment and `kapy status` say so."""
        try:
            async with self.kapy.client() as client:
                await wait_until(client, DEPLOYMENTS, self.what.key, _is_available, within=LONG)
        except TimeoutError:
            raise AssertionError(await self.kapy.pods()) from None
        assert [pod["message"] for pod in await self.kapy.pods()] == [""]

    async def told(self, *words: str) -> None:
        """Wait until the Deployment is not available for this reason; `kapy status` tells it."""
        async with self.kapy.client() as client:

            def is_told(value: Document | None) -> bool:
                return any(word in _message(value) for word in words)

            try:
                await wait_until(client, DEPLOYMENTS, self.what.key, is_told, within=LONG)
            except TimeoutError:
                raise AssertionError(await self.kapy.pods()) from None
            (document,) = await self.kapy.pods()
            assert document["message"], "the status tells it, too"

    async def renew(self) -> None:
        """Replace the Pod, whose containers then start without a pause again."""
        async with self.kapy.client() as client:
            (pod,) = (await client.list(PODS, self.what.key.namespace)).items
            await client.delete(PODS, Key.of(pod))
            await wait_until(
                client, PODS, Key.of(pod), lambda document: document is None, within=LONG
            )
        await self.available()

    async def kill(self) -> None:
        """Kill the container, unless it ends by itself at this moment."""
        for item in await self.running():
            with suppress(EngineError):
                await self.engine.kill(item.id)

    async def restarts(self) -> int:
        (document,) = await self.kapy.pods()
        return int(document["restarts"])

    async def running(self) -> list[Any]:
        return [
            container
            for container in await self.engine.containers({_UID: ""})
            if container.is_running
        ]

    async def change(self, **container: Any) -> None:
        """Change the container of the Deployment."""
        async with self.kapy.client() as client:
            await _change(client, self.what, container)


async def _change(client: Client, what: Subject, container: dict[str, Any]) -> None:
    containers = [{"name": what.container, **container}]
    strategy = {"type": "Recreate", "rollingUpdate": None}  # else the old Pod stays available
    patch = {"spec": {"strategy": strategy, "template": {"spec": {"containers": containers}}}}
    media_type = "application/strategic-merge-patch+json"
    await client.patch(DEPLOYMENTS, what.key, patch, media_type=media_type)


def _is_available(deployment: Document | None) -> bool:
    if deployment is None or not has_condition(deployment, "Available"):
        return False
    status = deployment["status"]
    return bool(
        status.get("replicas") == status.get("updatedReplicas") == 1
        and status.get("observedGeneration") == deployment["metadata"]["generation"]
    )


def _message(deployment: Document | None) -> str:
    for condition in ((deployment or {}).get("status") or {}).get("conditions") or ():
        if condition["type"] == "Available" and condition["status"] != "True":
            return str(condition["message"])
    return ""


PODMAN: Final[list[Kind]] = ["podman"] if os.environ.get("KAPY_TEST_PODMAN") else []
KINDS: Final[list[Kind]] = ["docker", *PODMAN]
"""Podman is tried where somebody asks for it: `make test-real` needs Docker only."""


@pytest.mark.parametrize("kind", KINDS)
async def test_faults_are_reported_and_recover(kind: Kind, tmp_path: Path) -> None:
    what = subject(tmp_path)
    async with engine_process(kind, tmp_path) as process:
        await load(process.engine, what, tmp_path)
        setup = Setup(Kapy(tmp_path, process.engine), process, what)
        await setup.kapy.run("up", "--detach", "--port", "7443")
        try:
            await what.install(setup.kapy)
            await setup.available()
            await a_container_is_killed(setup)
            await the_plane_is_killed(setup)
            await the_engine_is_stopped(setup)
            await the_machine_sleeps(setup)
            await the_disk_is_full(setup)
            await the_image_is_gone(setup, tmp_path)
            await the_program_crashes(setup)
        finally:
            await setup.kapy.run("down", "--delete", "--yes")
        assert await process.engine.containers({_UID: ""}) == []


async def load(engine: Engine, what: Subject, folder: Path) -> None:
    """Put the program's image into the engine."""
    archive = folder / "image.tar"
    with archive.open("wb") as target:
        content = layer({f"usr/local/bin/{what.program.name}": what.program, **what.libraries()})
        write_image(target, what.image, [content], what.program.name)
    with archive.open("rb") as source:
        await engine.load(source)


async def a_container_is_killed(setup: Setup) -> None:
    before = await setup.restarts()
    await setup.kill()
    await _restarted(setup, before)
    await setup.available()


async def _restarted(setup: Setup, before: int) -> None:
    async with setup.kapy.client() as client:
        (pod,) = (await client.list(PODS, setup.what.key.namespace)).items

        def is_restarted(document: Document | None) -> bool:
            statuses = ((document or {}).get("status") or {}).get("containerStatuses") or []
            return sum(int(status["restartCount"]) for status in statuses) > before

        await wait_until(client, PODS, Key.of(pod), is_restarted, within=LONG)


async def the_plane_is_killed(setup: Setup) -> None:
    before = {item.id for item in await setup.running()}
    await setup.kapy.kill()
    assert {item.id for item in await setup.running()} == before
    await setup.kapy.run("up", "--detach", "--port", "7443")
    await setup.available()
    assert len(await setup.running()) == 1, "it is not started twice"


async def the_engine_is_stopped(setup: Setup) -> None:
    await setup.process.stop()
    await setup.told("no container engine answers", "does not answer")
    await setup.process.start()
    await setup.available()
    assert len(await setup.running()) == 1


async def the_machine_sleeps(setup: Setup) -> None:
    """Plane and containers are frozen, and nobody is told."""
    docker = Docker(setup.engine.address)
    try:
        (value,) = await setup.running()
        inspected = await (await docker.containers.get(value.id)).show()
        frozen = [setup.kapy.pid, int(inspected["State"]["Pid"])]
    finally:
        await docker.close()
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    await asyncio.sleep(ASLEEP)
    for pid in frozen:
        os.kill(pid, signal.SIGCONT)
    await setup.available()
    assert len(await setup.running()) == 1


async def the_image_is_gone(setup: Setup, folder: Path) -> None:
    (value,) = await setup.running()
    docker = Docker(setup.engine.address)
    try:
        await setup.engine.remove(value.id)
        for other in await setup.engine.containers({_UID: ""}):
            if not other.is_running:
                await setup.engine.remove(other.id)
        await docker.images.delete(setup.what.image, force=True)
    finally:
        await docker.close()
    await setup.told("ErrImagePull", "ImagePullBackOff")
    await load(setup.engine, setup.what, folder)
    await setup.available()


async def the_disk_is_full(setup: Setup) -> None:
    await setup.renew()
    async with setup.process.full():
        await setup.kill()
        await setup.told("DiskFull", "no space left")
    await setup.available()


async def the_program_crashes(setup: Setup) -> None:
    await setup.change(args=["--no-such-flag"])
    await setup.told("CrashLoopBackOff")
    await setup.change(args=setup.what.args)
    await setup.available()
