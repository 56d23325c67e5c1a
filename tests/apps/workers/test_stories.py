"""Clusters divided among the processes of a plane, on virtual time."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any, NamedTuple

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.names import Label
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.cluster_progress import is_complete
from kapy.apps.pidfile import WorkerRecord
from kapy.apps.settings import Processes, Settings
from kapy.apps.workers.configuration import LEASE, PLANE_SLOT
from kapy.engine.controller import Reconcile
from kapy.engine.result import Result
from kapy.engine.runtime import Runtime
from kapy.engine.shards import slot_name
from kapy.kube import Document, Key
from kapy.kube.http import Request
from kapy.kube.names import LEASES, SECRETS
from kapy.testing.story import Story
from tests.apps.workers.in_process import InProcessWorkers
from tests.stories.plane import own_kinds, sample

NAMES = [f"fleet-{number}" for number in range(6)]
"""Of these, each of two or three processes has some."""
OF_EACH = {
    "Cluster": 0,
    "KubeadmControlPlane": 1,
    "MachineDeployment": 1,
    "MachineSet": 1,
    "Machine": 3,
    "KubeadmConfig": 3,
    "DevMachine": 3,
    "Secret": 8,
}
"""Objects with the label of their cluster: one control plane machine, two workers; five Secrets of
certificates and access, and one of boot data for each machine."""


class Setup(NamedTuple):
    plane: ManagementPlane
    workers: InProcessWorkers
    story: Story

    async def until(self, holds: Any) -> None:
        async with asyncio.timeout(600):
            while not await holds():  # noqa: ASYNC110  # polled on virtual time
                await asyncio.sleep(0.05)

    async def all_complete(self) -> bool:
        listed = (await self.plane.client.list(Cluster.RESOURCE)).items
        return len(listed) == len(NAMES) and all(map(is_complete, listed))

    async def objects(self) -> dict[str, Counter[str]]:
        """How many objects of each kind the clusters have."""
        result: dict[str, Counter[str]] = {name: Counter() for name in NAMES}
        for resource in (*own_kinds(), SECRETS):
            for item in (await self.plane.client.list(resource)).items:
                name = (item["metadata"].get("labels") or {}).get(Label.CLUSTER_NAME)
                if name:
                    result[name][resource.kind] += 1
        return result

    @property
    def shares(self) -> list[set[str]]:
        """The clusters on which the plane's process and each worker may begin work."""
        processes = self.plane.processes
        assert processes.shards is not None
        every = [processes.shards, *(worker.worker.shards for worker in self.workers.running)]
        return [
            {name for name in NAMES if shards is not None and shards.holds(Key("default", name))}
            for shards in every
        ]

    @property
    def records(self) -> tuple[WorkerRecord, ...]:
        workers = self.plane.processes.workers
        assert workers is not None
        return workers.records

    async def until_divided(self) -> None:
        """Wait until the workers run, and each cluster has one process."""

        async def divided() -> bool:
            shares = [*self.shares[:1], *self.shares[-len(self.records) :]]
            running = all(record.state == "running" for record in self.records)
            return running and sum(map(len, shares)) == len(NAMES) and all(shares)

        await self.until(divided)


@asynccontextmanager
async def setup(processes: Processes = 2) -> AsyncIterator[Setup]:
    clock = loop_clock()
    workers = InProcessWorkers(clock)
    settings = Settings(processes=processes)
    async with management_plane(
        settings, clock=clock, random=Random(1), launch=workers.launch
    ) as plane:
        story = Story(plane.client, [*own_kinds(), SECRETS])
        yield Setup(plane, workers, story)
        rights = plane.server.access.grants.built_in
        assert rights is not None
        assert rights.denied_requests == []


def cluster(name: str) -> list[Document]:
    """The sample with another name, and keys that are quick to make."""
    objects: list[Document] = json.loads(json.dumps(sample()).replace("capybara", name))
    for obj in objects:
        if obj["kind"] == "KubeadmControlPlane":
            configuration = obj["spec"]["kubeadmConfigSpec"].setdefault("clusterConfiguration", {})
            configuration["encryptionAlgorithm"] = "ECDSA-P256"
    return objects


async def test_the_clusters_are_divided_and_all_become_available() -> None:
    async with setup() as here:
        await here.until_divided()
        worker = here.workers.running[0].worker.runtime
        assert worker is not None
        shares = [reconciled_clusters(runtime) for runtime in (here.plane.runtime, worker)]
        for name in NAMES:
            await here.story.create(cluster(name))
        await here.until(here.all_complete)
        check(await here.objects())
        assert shares == here.shares


def reconciled_clusters(runtime: Runtime) -> set[str]:
    """Return a set that gets the names of all Clusters that a runtime reconciles from now on."""
    names: set[str] = set()

    def record(reconcile: Reconcile) -> Reconcile:
        async def reconcile_and_record(key: Key) -> Result:
            names.add(key.name)
            return await reconcile(key)

        return reconcile_and_record

    for controller in runtime.controllers:
        if controller.name == "cluster":
            controller.wrap_reconcile(record)
    return names


def check(objects: dict[str, Counter[str]]) -> None:
    """Check that each cluster has each object once."""
    for name, counter in objects.items():
        assert {kind: counter[kind] for kind in OF_EACH} == OF_EACH, name


@pytest.mark.parametrize("after", [0.0, 0.05, 0.1, 0.15])
async def test_a_worker_killed_during_its_work_duplicates_nothing(after: float) -> None:
    """after: seconds since the last cluster was posted."""
    async with setup() as here:
        await here.until_divided()
        for name in NAMES:
            await here.story.create(cluster(name))
        await asyncio.sleep(after)
        here.workers.running[0].kill()
        assert not await here.all_complete()
        await here.until(here.all_complete)
        await here.story.settle()
        await here.until_divided()
        assert here.records[0].restarts == 1
        assert here.workers.started == 2
        check(await here.objects())


async def test_clusters_of_a_worker_that_cannot_start_move_to_the_others() -> None:
    async with setup() as here:
        await here.until_divided()
        here.workers.refuses = True
        here.workers.running[0].kill()
        for name in NAMES:
            await here.story.create(cluster(name))
        await here.until(here.all_complete)
        assert here.shares[0] == set(NAMES)
        assert here.records[0].state == "stopped"
        check(await here.objects())


async def test_objects_are_deleted_by_three_processes() -> None:
    async with setup(3) as here:
        await here.until_divided()
        for name in NAMES:
            await here.story.create(cluster(name))
        await here.until(here.all_complete)
        for name in NAMES:
            await here.story.client.delete(Cluster, Key("default", name))

        async def are_deleted() -> bool:
            return not await here.story.all(Cluster)

        await here.until(are_deleted)
        await here.story.settle(5)
        assert not any(counter.total() for counter in (await here.objects()).values())


async def test_metrics_of_workers_are_on_the_page_of_the_plane() -> None:
    async with setup() as here:
        await here.until_divided()
        await here.story.create(cluster(sorted(here.shares[1])[0]))
        await here.story.settle(20)
        page = (await here.plane.client.transport(Request("GET", "/metrics"))).body
        assert isinstance(page, bytes)
        lines = page.decode().splitlines()
        worker = [line for line in lines if 'process="worker-1"' in line]
        name = 'controller_runtime_reconcile_total{controller="cluster",process="worker-1"'
        assert sum(float(line.rpartition(" ")[2]) for line in worker if line.startswith(name)) > 0
        assert sum(line.startswith("kapy_shards{") for line in lines) == 2
        assert len({line for line in lines if line.startswith("# TYPE")}) == len(
            [line for line in lines if line.startswith("# TYPE")]
        )


async def test_the_lease_of_a_dead_worker_is_released_at_once() -> None:
    async with setup() as here:
        await here.until_divided()
        here.workers.refuses = True
        here.workers.running[0].kill()
        await asyncio.sleep(5.0)
        assert here.shares[0] == set(NAMES)


async def test_a_plane_takes_a_deleted_lease_again() -> None:
    async with setup() as here:
        await here.until_divided()
        key = Key(LEASE.namespace, slot_name(LEASE, PLANE_SLOT))
        await here.plane.client.delete(LEASES, key)
        await here.story.settle(1.0)
        await here.until_divided()
        assert (await here.plane.client.get(LEASES, key))["spec"]["holderIdentity"] == "plane"


async def test_auto_starts_workers_above_a_number_of_clusters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kapy.apps.workers.configuration.usable_cores", lambda: 2)
    monkeypatch.setattr("kapy.apps.workers.plane.AUTO_CLUSTERS", 3)
    async with setup("auto") as here:
        for name in NAMES[:2]:
            await here.story.create(cluster(name))
        await here.story.settle()
        assert [record.state for record in here.records] == ["waiting"]
        assert here.shares[0] == set(NAMES)
        for name in NAMES[2:]:
            await here.story.create(cluster(name))
        await here.until(here.all_complete)
        await here.until_divided()
        check(await here.objects())


async def test_one_core_gets_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kapy.apps.workers.configuration.usable_cores", lambda: 1)
    async with setup("auto") as here:
        assert here.plane.processes.workers is None
        assert (await here.plane.client.list(LEASES)).items == []


async def test_a_worker_that_fails_to_start_is_reported_in_one_sentence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with setup() as here:
        await asyncio.sleep(0)
        here.workers.running[0].kill()
        await here.until_divided()
    lines = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert lines[0] == (
        "worker-1 was killed by signal 9 before it was ready, and says why above; the other "
        "processes have its clusters"
    )
