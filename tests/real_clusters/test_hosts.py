"""Clusters on machines of one's own, which are containers with OpenSSH: `make test-hosts`."""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import asyncssh
import pytest
from kapy_hosts import PROVIDER
from kapy_hosts.kinds import Host

from kapy._aio.clock import system_clock
from kapy.api.cluster import Cluster
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
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
from tests.real_clusters.host_containers import set_cable, start_hosts, traces
from tests.real_clusters.life import PATIENCE
from tests.real_clusters.parts import HERE, NEW, OLD, Release, tell

pytestmark = pytest.mark.sockets
LONG = 2 * PATIENCE
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
            "INSTALL": "null",
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

    async def host(self, name: str) -> Host:
        """The Host of that name."""
        return await self.plane.client.get(Host, Key("default", name))

    async def runs(self, name: str, release: Release, nodes: int) -> None:
        """Wait until that many Nodes, each of a Machine and no others, are ready in a version."""
        seen: object = None
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            machines = {
                one.status.node_ref.name if one.status.node_ref else None
                for one in await self.plane.all(Machine)
            }
            with suppress(KapyError):
                found = {
                    one["metadata"]["name"]: (
                        one["status"]["nodeInfo"]["kubeletVersion"],
                        {each["type"]: each["status"] for each in one["status"]["conditions"]},
                    )
                    for one in await self.nodes(name)
                }
                seen = machines, found
                if (
                    len(found) == nodes
                    and set(found) == machines
                    and all(
                        version == release.version and known["Ready"] == "True"
                        for version, known in found.values()
                    )
                ):
                    self.done(f"{name} has {nodes} nodes of {release.version}")
                    return
            await asyncio.sleep(1)
        raise AssertionError(f"{name} has other nodes: {seen}")

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


async def test_seven_hosts_carry_a_cluster_through_its_life_and_then_another(
    tmp_path: Path,
) -> None:
    names = ["balancer-1", *(f"node-{number}" for number in range(1, 7))]
    async with scene(tmp_path, names) as hosts:
        values = {
            "ENDPOINT": "{haproxy: {hostSelector: {matchLabels: {role: balancer}}}}",
            "CONTROL_PLANES": "3",
            "WORKERS": "2",
            "CONTROL_PLANE_LABELS": "{role: node}",
            "WORKER_LABELS": "{role: node}",
            "INSTALL": '{folder: "/opt/kubernetes/{version}"}',
        }
        await hosts.create("blue", **values)
        await hosts.runs("blue", OLD, 5)
        for workers in (3, 2):
            scaled = {"spec": {"replicas": workers}}
            await hosts.plane.merge(MachineDeployment, "blue-workers", scaled)
            await hosts.runs("blue", OLD, 3 + workers)
        await _lose_a_host(hosts)
        configuration = {
            "etcd": {"local": {"imageTag": NEW.etcd}},
            "dns": {"imageTag": NEW.coredns},
        }
        before = await hosts.plane.all(Machine)
        await hosts.plane.merge(
            KubeadmControlPlane,
            "blue",
            {
                "spec": {
                    "version": NEW.version,
                    "kubeadmConfigSpec": {"clusterConfiguration": configuration},
                }
            },
        )
        await hosts.plane.until(KubeadmControlPlane, "blue", _is_upgraded, within=LONG)
        hosts.done("the control plane is upgraded")
        version = {"spec": {"template": {"spec": {"version": NEW.version}}}}
        await hosts.plane.merge(MachineDeployment, "blue-workers", version)
        await hosts.runs("blue", NEW, 5)
        after = {one.metadata.uid for one in await hosts.plane.all(Machine)}
        assert after.isdisjoint(one.metadata.uid for one in before)
        await hosts.delete("blue")
        await hosts.create("green", **{**values, "WORKERS": "3"})
        await hosts.runs("green", OLD, 6)
        claims = [(await hosts.host(name)).spec.claim for name in names]
        assert None not in claims
        await hosts.delete("green")


async def _lose_a_host(hosts: Scene) -> None:
    """A worker whose host is cut off is replaced on the spare one; the host comes back clean."""
    check = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": _named("workers"),
        "spec": {
            "clusterName": "blue",
            "selector": {"matchLabels": {"role": "worker"}},
            "checks": {
                "unhealthyNodeConditions": [
                    {"type": "Ready", "status": "Unknown", "timeoutSeconds": 5}
                ]
            },
        },
    }
    await hosts.plane.create([check])
    claims = {name: (await hosts.host(name)).spec.claim for name in hosts.addresses}
    [spare] = [name for name, claim in claims.items() if claim is None]
    lost, claim = next(
        (name, claim)
        for name, claim in claims.items()
        if claim is not None and claim.name.startswith("blue-workers")
    )
    assert claim is not None
    await set_cable(hosts.engine, lost, "down")
    await hosts.plane.until_gone(Machine, claim.name, within=PATIENCE)
    await hosts.plane.until(
        Host, lost, lambda one: one.status.state == "Quarantined", within=PATIENCE
    )
    await hosts.runs("blue", OLD, 5)
    assert (await hosts.host(spare)).spec.claim is not None
    hosts.done(f"{lost} was cut off, and its worker is replaced on {spare}")
    await set_cable(hosts.engine, lost, "up")
    await hosts.plane.until(Host, lost, lambda one: one.status.state == "Free", within=PATIENCE)
    assert await traces(hosts.engine, lost) == ""
    hosts.done(f"{lost} answers again, and is clean")


def _is_upgraded(one: KubeadmControlPlane) -> bool:
    counts = {one.status.replicas, one.status.available_replicas, one.status.up_to_date_replicas}
    return (
        counts == {3}
        and one.status.version == NEW.version
        and one.status.observed_generation == one.metadata.generation
    )
