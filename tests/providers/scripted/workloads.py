"""Workload clusters that are not in memory of any provider: an API server and an etcd each, into
which a test (or a scripted provider) puts what boots."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from kapy._aio.clock import Clock
from kapy.apiserver.server import Server, ServerWithoutKubelets
from kapy.apiserver.server.kube_controller_manager import add_kube_controllers
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, NotFound, Unreachable
from kapy.kube.http import ADMIN, Transport
from kapy.kube.names import CONFIG_MAPS, NODES, PODS
from kapy.remote.cluster_cache import Kubeconfig
from kapy.testing.frozen import Frozen
from tests.core.environment import node_of
from tests.providers.kubeadm.fake_etcd import FakeEtcd
from tests.providers.kubeadm.peer_controllers import COMPONENTS, ROLE, static_pod


@dataclass
class Workload:
    """One workload cluster. answers: from the moment its first control plane machine runs."""

    server: Server
    etcd: FakeEtcd = field(default_factory=FakeEtcd)
    answers: bool = False

    @property
    def client(self) -> Client:
        """Asks as its administrator."""
        return Client(self.server.transport(ADMIN), field_manager="cloud")

    async def boot(
        self, name: str, provider_id: str, version: str, *, control_plane: bool = False
    ) -> None:
        """A machine comes up and joins as a Node."""
        node = node_of(name, version)
        node["spec"]["providerID"] = provider_id
        if control_plane:
            node["metadata"]["labels"] = {ROLE: ""}
            node["spec"]["taints"].append({"key": ROLE, "effect": "NoSchedule"})
            await self._run_kubeadm(name)
        await self._put(node)

    async def power_off(self, name: str) -> None:
        """A machine is gone; what ran on it is gone with it."""
        keys = [(NODES, Key("", name))]
        keys += [(PODS, Key("kube-system", f"{component}-{name}")) for component in COMPONENTS]
        for resource, key in keys:
            with suppress(NotFound):
                await self.client.delete(resource, key)

    async def _run_kubeadm(self, name: str) -> None:
        self.answers = True
        if name not in self.etcd.members:
            self.etcd.join(name)
        config = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "kubeadm-config", "namespace": "kube-system"},
            "data": {"ClusterConfiguration": ""},
        }
        await self._put(config)
        for component in COMPONENTS:
            await self._put(static_pod(component, name))

    async def _put(self, document: Document) -> None:
        resource = {"Node": NODES, "Pod": PODS, "ConfigMap": CONFIG_MAPS}[document["kind"]]
        with suppress(AlreadyExists):
            await self.client.create(resource, document)
            if status := document.get("status"):
                key = Key.of(document)
                await self.client.patch(resource, key, {"status": status}, subresource="status")


@dataclass
class Workloads:
    """All of them, by the host of their endpoint."""

    clock: Clock
    group: asyncio.TaskGroup
    _by_host: dict[str, Workload] = field(default_factory=dict)
    _running: list[asyncio.Task[None]] = field(default_factory=list)

    def at(self, host: str) -> Workload:
        """The cluster behind an endpoint, made when it is first asked for."""
        if host not in self._by_host:
            server = ServerWithoutKubelets.open(None, clock=self.clock)
            add_kube_controllers(server)
            self._by_host[host] = Workload(server)
            self._running.append(self.group.create_task(server.run()))
        return self._by_host[host]

    def dial(self, kubeconfig: Kubeconfig) -> Transport:
        """Reach an API server. Raises Unreachable."""
        return Frozen(self._reached(kubeconfig).server.transport(ADMIN))

    def etcd_dial(self, cluster: Key, kubeconfig: Kubeconfig, node: str) -> Transport:
        """Reach the etcd of a machine."""
        return self._reached(kubeconfig).etcd.dial(cluster, kubeconfig, node)

    def _reached(self, kubeconfig: Kubeconfig) -> Workload:
        workload = self._by_host.get(urlsplit(kubeconfig.server).hostname or "")
        if workload is None or not workload.answers:
            raise Unreachable(f"nobody answers at {kubeconfig.server}")
        return workload

    def close(self) -> None:
        """End all of them."""
        for task in self._running:
            task.cancel()
        for workload in self._by_host.values():
            workload.server.close()
