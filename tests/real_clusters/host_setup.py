"""A plane whose hosts are containers with OpenSSH, for tests of `make test-hosts`."""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import asyncssh
from kapy_hosts import PROVIDER
from kapy_hosts.kinds import Host

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.names import ConditionType
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Serving, Settings
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import parse
from kapy.conditions import is_true
from kapy.containers import Engine
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import CONFIG_MAPS, NODES, SECRETS
from kapy.testing.planes import RunningPlane
from tests.real_clusters.engine import container_engine
from tests.real_clusters.growing import network
from tests.real_clusters.host_containers import start_hosts, traces
from tests.real_clusters.life import PATIENCE
from tests.real_clusters.parts import HERE, OLD, Release, tell

LONG = 2 * PATIENCE
KEY = asyncssh.generate_private_key("ssh-ed25519")


class Setup:
    """A plane, an engine, and hosts."""

    def __init__(self, plane: RunningPlane, engine: Engine, addresses: Mapping[str, str]) -> None:
        self.plane = plane
        self.engine = engine
        self.addresses = addresses
        self._begun = time.monotonic()

    def done(self, step: str) -> None:
        """Say how long a step took."""
        now = time.monotonic()
        tell(f"{step}: {now - self._begun:.0f} s")
        self._begun = now

    async def create(self, name: str, **values: str) -> None:
        """Create a cluster, and wait until it is Available."""
        text = (HERE / "hosts_cluster.yaml").read_text()
        variables = {
            "NAME": name,
            "VERSION": OLD.version,
            "ETCD": OLD.etcd,
            "COREDNS": OLD.coredns,
            "INSTALL": "",
            **values,
        }
        variables["INSTALL"] = variables["INSTALL"] and f", install: {variables['INSTALL']}"
        for key, value in variables.items():
            text = text.replace(f"@{key}@", value)
        await self.plane.apply(text)
        await self.plane.until(
            Cluster,
            name,
            lambda cluster: is_true(cluster.status.conditions, ConditionType.AVAILABLE),
            within=PATIENCE,
        )
        self.done(f"{name} is Available")

    @asynccontextmanager
    async def workload(self, name: str) -> AsyncIterator[Client]:
        """A client of a cluster."""
        secret = await self.plane.client.get(SECRETS, Key("default", f"{name}-kubeconfig"))
        transport = ApiTransport(parse(b64decode(secret["data"]["value"])))
        try:
            yield Client(transport)
        finally:
            await transport.aclose()

    async def nodes(self, name: str) -> list[Document]:
        """The Nodes of a cluster."""
        async with self.workload(name) as client:
            return list((await client.list(NODES)).items)

    async def until_answers(self, name: str) -> None:
        """Wait until the API server of a cluster answers at its endpoint."""
        async with asyncio.timeout(PATIENCE):
            while True:
                with suppress(KapyError, TimeoutError):
                    async with asyncio.timeout(5):
                        await self.nodes(name)
                        return
                await asyncio.sleep(0.5)

    async def host(self, name: str) -> Host:
        """The Host of that name."""
        return await self.plane.client.get(Host, Key("default", name))

    async def runs(self, name: str, release: Release, nodes: int) -> None:
        """Wait until that many Nodes, each of a Machine and no others, are ready in a version."""
        last: object = None
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            machines = {
                machine.status.node_ref.name if machine.status.node_ref else None
                for machine in await self.plane.all(Machine)
            }
            with suppress(KapyError):
                ready = {
                    node["metadata"]["name"]: (
                        node["status"]["nodeInfo"]["kubeletVersion"],
                        {each["type"]: each["status"] for each in node["status"]["conditions"]},
                    )
                    for node in await self.nodes(name)
                }
                last = machines, ready
                if (
                    len(ready) == nodes
                    and set(ready) == machines
                    and all(
                        version == release.version and statuses["Ready"] == "True"
                        for version, statuses in ready.values()
                    )
                ):
                    self.done(f"{name} has {nodes} nodes of {release.version}")
                    return
            await asyncio.sleep(1)
        raise AssertionError(f"{name} has other nodes: {last}")

    async def delete(self, name: str) -> None:
        """Delete a cluster; all hosts come back clean."""
        await self.plane.client.delete(Cluster, Key("default", name))
        await self.plane.until_gone(Cluster, name, within=PATIENCE)
        for host in self.addresses:
            await self.plane.until(
                Host, host, lambda current: current.status.state == "Free", within=PATIENCE
            )
            assert await traces(self.engine, host) == ""
        self.done(f"{name} is deleted, and all hosts are clean")


@asynccontextmanager
async def setup(folder: Path, names: list[str]) -> AsyncIterator[Setup]:
    """A plane with hosts that are free. Those whose names begin with cp have the label role=cp."""
    async with container_engine(folder) as engine:
        addresses = await start_hosts(engine, names, public_key())
        specs = {name: {"privateKeySecretRef": {"name": "key"}} for name in names}
        async with plane_of_hosts(engine, addresses, specs) as hosts:
            yield hosts


def public_key() -> str:
    """The public key of hosts, as a line of authorized_keys."""
    return KEY.export_public_key().decode().strip()


@asynccontextmanager
async def plane_of_hosts(
    engine: Engine, addresses: Mapping[str, str], specs: Mapping[str, Document]
) -> AsyncIterator[Setup]:
    """A plane with hosts that are free. specs: by name, how each Host is reached."""
    settings = Settings(serving=Serving(), inventory=True, providers=(PROVIDER,))
    async with management_plane(settings, clock=system_clock) as running:
        plane = RunningPlane(running)
        hosts = Setup(plane, engine, addresses)
        data = {"ssh-privatekey": b64encode(KEY.export_private_key()).decode()}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": named("key"), "data": data}
        await plane.apply(
            [
                secret,
                *(host_document(name, address, specs[name]) for name, address in addresses.items()),
            ]
        )
        await plane.client.create(CONFIG_MAPS, network())
        for name in addresses:
            await plane.until(Host, name, lambda host: host.status.state == "Free", within=PATIENCE)
        hosts.done(f"{len(addresses)} hosts are free")
        yield hosts


def host_document(name: str, address: str, access: Document) -> Document:
    """A Host. access: fields of its spec."""
    spec: dict[str, Any] = {"address": address, "ignoredChecks": ["swap"], **access}
    metadata = named(name) | {"labels": {"role": name.rstrip("0123456789-")}}
    return {
        "apiVersion": Host.RESOURCE.api_version,
        "kind": "Host",
        "metadata": metadata,
        "spec": spec,
    }


def named(name: str) -> Document:
    """The metadata of an object in the default namespace."""
    return {"name": name, "namespace": "default"}
