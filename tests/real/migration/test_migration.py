"""Live clusters of upstream's managers are taken over by kapy's, and handed back.

Core, the kubeadm bootstrap provider and the kubeadm control plane provider change hands. Upstream's
infrastructure provider runs all the time: its simulated clusters live in its process. The API
server's audit log tells who wrote what.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from kapy.api.cluster import Cluster
from kapy.apps.manager.programs import PROGRAMS
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.names import LEASES
from kapy.kube.yaml import load_all
from tests.real.core_managers import audit_of
from tests.real.installed import Installed, eventually, is_true
from tests.real.migration.upstream import running
from tests.real.processes import Stable
from tests.real.servers import Place
from tests.real.test_managers import OURS, SAMPLES, Herd, herd
from tests.real.writes import Write, writes

MOVED: Final = ("core", "bootstrap-kubeadm", "control-plane-kubeadm")
INFRASTRUCTURE: Final = "infrastructure-dev"
CLUSTERS: Final = {"in-memory-cluster.yaml": "capybara", "in-memory-class.yaml": "tapir"}
"""A cluster with a KubeadmControlPlane and workers, and one of a ClusterClass."""
QUIET: Final = 15.0
"""Seconds without any write after which everything is as it should be."""
LONGEST: Final = 600.0
"""Seconds. Upstream's managers try again after growing pauses."""
MOST: Final = 3
"""Writes that a take-over may need."""


def lease_of(name: str) -> Key:
    program = PROGRAMS[name]
    return Key(program.namespace, program.lease)


@asynccontextmanager
async def reserved(client: Client) -> AsyncIterator[None]:
    """Leases of somebody else: kapy's managers answer webhooks meanwhile, and do nothing more."""
    for name in MOVED:
        key = lease_of(name)
        now = "2026-01-01T00:00:00.000000Z"
        spec = {"holderIdentity": "upstream", "leaseDurationSeconds": 36000}
        spec |= {"acquireTime": now, "renewTime": now, "leaseTransitions": 0}
        metadata = {"name": key.name, "namespace": key.namespace}
        lease: Document = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        await client.create(LEASES, {**lease, "metadata": metadata, "spec": spec})
    yield
    for name in MOVED:
        await client.delete(LEASES, lease_of(name))


async def release(client: Client, name: str) -> None:
    """Let kapy's manager lead."""
    patch = {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}
    await client.patch(LEASES, lease_of(name), patch)


async def create(here: Herd, sample: str, name: str) -> None:
    """The objects of a sample. Upstream's provider fails at a DevCluster without annotations."""
    text = (SAMPLES / sample).read_text().replace("capybara", name)
    for document in load_all(text, sample):
        document["metadata"]["namespace"] = here.namespace
        if document["kind"] == "DevCluster":
            document["metadata"]["annotations"] = {"example.com/note": "live"}
        await here.client.create(OURS[document["kind"]], document)


async def available(here: Herd) -> None:
    for name in CLUSTERS.values():
        await until_available(here, Key(here.namespace, name))


async def until_available(here: Herd, cluster: Key) -> None:
    """Wait for a Cluster, also for long: upstream's managers try again after growing pauses."""
    deadline = asyncio.get_running_loop().time() + LONGEST
    while not is_true("Available")(await here.client.get(Cluster.RESOURCE, cluster)):
        assert asyncio.get_running_loop().time() < deadline, f"{cluster} is not Available"
        await asyncio.sleep(1)


async def quiet(here: Herd) -> None:
    """Wait until no object of the namespace has changed for a while."""
    loop = asyncio.get_running_loop()
    deadline, state, since = loop.time() + LONGEST, "", loop.time()
    while loop.time() - since < QUIET:
        assert loop.time() < deadline, "the managers never come to rest"
        now = await _versions(here)
        if now != state:
            state, since = now, loop.time()
        await asyncio.sleep(1)


async def _versions(here: Herd) -> str:
    versions = [
        document["metadata"]["resourceVersion"]
        for resource in OURS.values()
        if resource.namespaced
        for document in (await here.client.list(resource, here.namespace)).items
    ]
    return " ".join(versions)


async def machines(here: Herd) -> dict[str, str]:
    """The uids of all Machines by name."""
    results = [machine for name in CLUSTERS.values() for machine in await here.machines(name)]
    return {machine.metadata.name: machine.metadata.uid for machine in results}


async def generations(here: Herd) -> dict[str, int]:
    """Return the generation of each object. Upstream applies every object again when it starts.
    These are many writes, and none of them may change a spec."""
    return {
        f"{resource.kind} {document['metadata']['name']}": document["metadata"]["generation"]
        for resource in OURS.values()
        if resource.namespaced
        for document in (await here.client.list(resource, here.namespace)).items
    }


class Log:
    """The audit log from some moment on."""

    def __init__(self, here: Herd, path: Path) -> None:
        self._here, self._path = here, path
        self._before = 0

    async def mark(self) -> None:
        """Forget what was written up to now."""
        self._before = len(await writes(self._here.client, self._path))

    async def of(self, *pods: str) -> list[Write]:
        """Return the writes of these pods in the namespace since the mark, without events."""
        results = (await writes(self._here.client, self._path))[self._before :]
        return [
            write
            for write in results
            if write.pod in pods
            and write.namespace == self._here.namespace
            and write.resource != "events"
        ]


async def scale(here: Herd, replicas: int) -> None:
    """Change the workers of the cluster without a class, to see that somebody looks after it."""
    deployment = Key(here.namespace, "capybara-md-0")
    resource = OURS["MachineDeployment"]
    await here.client.patch(resource, deployment, {"spec": {"replicas": replicas}})

    def is_done(document: Document | None) -> bool:
        status = (document or {}).get("status") or {}
        return all(status.get(item) == replicas for item in ("replicas", "availableReplicas"))

    await eventually(here.client, resource, deployment, is_done)


@pytest.mark.sockets
async def test_live_clusters_change_hands_without_losing_a_machine(
    there: Place,
    client: Client,
    namespace: str,
    installed: Installed,
    forks: Stable,
    tmp_path: Path,
) -> None:
    access = there.access
    with running(tmp_path, access, INFRASTRUCTURE):
        async with (
            reserved(client),
            herd(there, client, namespace, installed, forks, MOVED) as here,
        ):
            log = Log(here, audit_of(there))
            with running(tmp_path, access, *MOVED):
                for sample, name in CLUSTERS.items():
                    await create(here, sample, name)
                await available(here)
                await quiet(here)
            before = await machines(here)
            assert len(before) == 3 * len(CLUSTERS)
            await log.mark()
            for name in MOVED:
                await release(client, name)
            await asyncio.sleep(QUIET)
            await quiet(here)
            entries = await log.of(*MOVED)
            assert await machines(here) == before
            assert len(entries) <= MOST, entries
            await log.mark()
            await asyncio.sleep(QUIET)
            assert await log.of(*MOVED) == []
            await scale(here, 3)
            await quiet(here)
            before |= await machines(here)
            assert len(before) == 3 * len(CLUSTERS) + 1
        here = Herd(client, namespace)
        specs = await generations(here)
        with running(tmp_path, access, *MOVED):
            await asyncio.sleep(QUIET)
            await quiet(here)
            assert await machines(here) == before
            assert await generations(here) == specs
            await available(here)
            await scale(here, 2)
