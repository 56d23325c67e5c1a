"""Clusters on machines of one's own, which are containers with OpenSSH: `make test-hosts`."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from kapy_hosts import PROVIDER
from kapy_hosts.kinds import Host

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.api.names import ConditionType
from kapy.apps.all_in_one import management_plane
from kapy.apps.settings import Serving, Settings
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import parse
from kapy.conditions import is_true
from kapy.containers import Engine
from kapy.kube import Document, Key
from kapy.kube.names import CONFIG_MAPS, NODES, SECRETS
from kapy.testing.planes import RunningPlane
from tests.real_clusters.engine import container_engine
from tests.real_clusters.growing import network
from tests.real_clusters.host_containers import start_hosts, traces
from tests.real_clusters.life import PATIENCE
from tests.real_clusters.parts import HERE, OLD, tell

pytestmark = pytest.mark.sockets
KEY = asyncssh.generate_private_key("ssh-ed25519")


class Scene:
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
        known = {
            "NAME": name,
            "VERSION": OLD.version,
            "ETCD": OLD.etcd,
            "COREDNS": OLD.coredns,
            **values,
        }
        for key, value in known.items():
            text = text.replace(f"@{key}@", value)
        await self.plane.apply(text)
        await self.plane.until(
            Cluster,
            name,
            lambda one: is_true(one.status.conditions, ConditionType.AVAILABLE),
            within=PATIENCE,
        )
        self.done(f"{name} is Available")

    async def nodes(self, name: str) -> list[Document]:
        """The Nodes of a cluster."""
        secret = await self.plane.client.get(SECRETS, Key("default", f"{name}-kubeconfig"))
        transport = ApiTransport(parse(b64decode(secret["data"]["value"])))
        try:
            return list((await Client(transport).list(NODES)).items)
        finally:
            await transport.aclose()

    async def delete(self, name: str) -> None:
        """Delete a cluster; all hosts come back clean."""
        await self.plane.client.delete(Cluster, Key("default", name))
        await self.plane.until_gone(Cluster, name, within=PATIENCE)
        for host in self.addresses:
            await self.plane.until(
                Host, host, lambda one: one.status.state == "Free", within=PATIENCE
            )
            assert await traces(self.engine, host) == ""
        self.done(f"{name} is deleted, and all hosts are clean")


@asynccontextmanager
async def scene(folder: Path, names: list[str]) -> AsyncIterator[Scene]:
    """A plane with hosts that are free. Those whose names begin with cp have the label role=cp."""
    async with container_engine(folder) as engine:
        addresses = await start_hosts(engine, names, KEY.export_public_key().decode().strip())
        settings = Settings(serving=Serving(), inventory=True, providers=(PROVIDER,))
        async with management_plane(settings, clock=system_clock) as running:
            plane = RunningPlane(running)
            found = Scene(plane, engine, addresses)
            data = {"ssh-privatekey": b64encode(KEY.export_private_key()).decode()}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": _named("key"), "data": data}
            await plane.apply(
                [secret, *(_host(name, address) for name, address in addresses.items())]
            )
            await plane.client.create(CONFIG_MAPS, network())
            for name in names:
                await plane.until(
                    Host, name, lambda one: one.status.state == "Free", within=PATIENCE
                )
            found.done(f"{len(names)} hosts are free")
            yield found


def _host(name: str, address: str) -> Document:
    spec: dict[str, Any] = {
        "address": address,
        "privateKeySecretRef": {"name": "key"},
        "ignoredChecks": ["swap"],
    }
    metadata = _named(name) | {"labels": {"role": name.rstrip("0123456789-")}}
    return {
        "apiVersion": Host.RESOURCE.api_version,
        "kind": "Host",
        "metadata": metadata,
        "spec": spec,
    }


def _named(name: str) -> Document:
    return {"name": name, "namespace": "default"}


async def test_three_hosts_carry_two_clusters_one_after_the_other(tmp_path: Path) -> None:
    async with scene(tmp_path, ["cp-1", "worker-1", "worker-2"]) as hosts:
        endpoint = f"{{controlPlaneEndpoint: {{host: {hosts.addresses['cp-1']}, port: 6443}}}}"
        values = {
            "ENDPOINT": endpoint,
            "CONTROL_PLANES": "1",
            "WORKERS": "2",
            "CONTROL_PLANE_LABELS": "{role: cp}",
            "WORKER_LABELS": "{role: worker}",
        }
        for name in ("blue", "green"):
            await hosts.create(name, **values)
            nodes = await hosts.nodes(name)
            assert len(nodes) == 3
            assert all(one["spec"]["providerID"].startswith("hosts://") for one in nodes)
            await hosts.delete(name)
