"""Core managers as processes that share the clusters: each cluster has one at a time."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kapy.api.cluster import Cluster
from kapy.client.client import Client
from kapy.engine.cluster_of import rendezvous_owner
from kapy.engine.shards import CLAIMS, LABEL
from kapy.kube import Document, Key
from kapy.kube.names import LEASES, NAMESPACES
from tests.real.core_managers import LEASE, Managers, audit_of, is_noticed
from tests.real.installed import PATIENCE, cluster, eventually, is_true
from tests.real.processes import Stable
from tests.real.servers import Place
from tests.real.writes import Write, writes

COUNT = 20


class Shared:
    """Clusters of which each has one manager."""

    def __init__(self, client: Client, namespace: str, log: Path) -> None:
        self.client = client
        self.log = log
        self.namespace = namespace
        self.keys = [Key(namespace, f"herd-{number}") for number in range(COUNT)]
        self.is_paused = False

    async def create(self) -> None:
        """All of them, each noticed by somebody."""
        for key in self.keys:
            await self.client.create(Cluster.RESOURCE, cluster(key))
        for key in self.keys:
            await eventually(self.client, Cluster.RESOURCE, key, is_noticed)

    async def split(self, among: int) -> set[str]:
        """Have each of them written, once so many share them; by whom, who are the right ones and
        the only ones."""
        held = await self._held(among)
        before = len(await writes(self.client, self.log))
        await self._change()
        written = await writes(self.client, self.log)
        pods = {write.name: write.pod for write in written if write.resource == "leases"}
        wrote = {(write.name, write.pod) for write in written[before:] if self._is_ours(write)}
        assert wrote == {(key.name, pods[rendezvous_owner(key, held)]) for key in self.keys}
        return {pod for _, pod in wrote}

    def _is_ours(self, write: Write) -> bool:
        return (write.namespace, write.resource) == (self.namespace, "clusters")

    async def _held(self, count: int) -> list[str]:
        """The slots that are held, once so many are, and all work by their choice."""
        async with asyncio.timeout(PATIENCE):
            while True:
                labels = f"{LABEL}={LEASE.name}"
                results = (await self.client.list(LEASES, LEASE.namespace, labels=labels)).items
                held = [document for document in results if document["spec"].get("holderIdentity")]
                names = sorted(document["metadata"]["name"] for document in held)
                if len(held) == count and all(members(document) == names for document in held):
                    return names
                await asyncio.sleep(0.1)

    async def _change(self) -> None:
        self.is_paused = not self.is_paused
        patch: Document = {"spec": {"paused": self.is_paused}}
        for key in self.keys:
            await self.client.patch(Cluster.RESOURCE, key, patch)
        true = is_true("Paused")
        for key in self.keys:
            await eventually(
                self.client,
                Cluster.RESOURCE,
                key,
                lambda document: true(document) == self.is_paused,
            )


def members(lease: Document) -> list[str] | None:
    """Return the members that chose the holder of a slot; None if the claim is another holder's."""
    text = (lease["metadata"].get("annotations") or {}).get(CLAIMS, "{}")
    claims = json.loads(text)
    holds = claims.get("holder") == lease["spec"]["holderIdentity"]
    return list(claims["members"]) if holds else None


@pytest.mark.sockets
@pytest.mark.usefixtures("installed")
async def test_each_cluster_has_one_manager_while_managers_start_stop_and_die(
    there: Place, client: Client, namespace: str, forks: Stable
) -> None:
    shared = Shared(client, namespace, audit_of(there))
    async with AsyncExitStack() as stack:
        here = Managers(there, client, namespace, forks, stack)
        north = await here.begin("north", "--shards=3")
        south = await here.begin("south", "--shards=3")
        await shared.create()
        assert await shared.split(2) == {"north", "south"}
        await here.begin("west", "--shards=3")
        assert await shared.split(3) == {"north", "south", "west"}
        north.signal(signal.SIGKILL)
        assert await shared.split(2) == {"south", "west"}
        await south.stop()
        assert await shared.split(1) == {"west"}
    await client.delete(NAMESPACES, Key("", namespace))
