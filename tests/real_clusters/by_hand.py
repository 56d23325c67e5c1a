"""A cluster without Cluster API: `kubeadm init` and `join` typed into the same containers."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kinds import Kinds
from kapy.client.kubeconfig import parse
from kapy.containers import Engine, File
from kapy.kube import Document, Key
from kapy.kube.boot import PREFLIGHT_ERRORS
from kapy.kube.errors import KapyError
from kapy.kube.names import NODES
from kapy.kube.yaml import dump_all, load_all
from kapy.providers.docker.containers import (
    CONTROL_PLANE,
    LOAD_BALANCER,
    WORKER,
    Role,
    Wanted,
)
from kapy.providers.docker.host import Host
from kapy.providers.docker.load_balancer_config import PATH, Backend, Balancing, config_text
from kapy.providers.docker.node_container import systemd_operations
from kapy.providers.docker.tasks import Task
from tests.real_clusters.images import BALANCER, node_image
from tests.real_clusters.parts import OLD

CLUSTER: Final = Key("default", "hand")
TOKEN: Final = "abcdef.0123456789abcdef"
POLL: Final = 0.25
"""Seconds. A timer, because this is a measurement of others: it does not watch."""
_IGNORING: Final = f"--ignore-preflight-errors={','.join(PREFLIGHT_ERRORS)}"
_KUBELET: Final = {
    "image-gc-high-threshold": "100",
    "eviction-hard": "nodefs.available<0%,nodefs.inodesFree<0%,imagefs.available<0%",
    "fail-swap-on": "false",
    "cgroup-root": "/kubelet",
    "runtime-cgroups": "/system.slice/containerd.service",
}


class HandMade:
    """A cluster of one control plane node and workers. times: seconds of each step."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._host = Host(lambda: engine, os.environ)
        self._begun = time.perf_counter()
        self._endpoint = ""
        self.times: dict[str, float] = {}

    async def create(self, network: str) -> None:
        """One control plane node and one worker, both Ready. network: the manifest of the
        Pods' network."""
        self._begun = time.perf_counter()
        balancer = await self._container("hand-lb", LOAD_BALANCER)
        self._endpoint = f"{balancer}:6443"
        self._done("load balancer")
        address = await self._node("hand-cp", CONTROL_PLANE)
        await self._balance(address)
        self._done("control plane container")
        await self._kubeadm("hand-cp", "init", self._init())
        self._done("kubeadm init")
        async with aclosing(await self._transport()) as transport:
            client = Client(transport)
            await nodes_there(lambda: client)
            self._done("first answer through the load balancer")
            await self._apply(client, network)
            await self._node("hand-worker", WORKER)
            self._done("worker container")
            await self._kubeadm("hand-worker", "join", [self._join()])
            self._done("kubeadm join")
            await nodes_ready(lambda: client, 2)
            self._done("Nodes Ready")

    async def delete(self) -> None:
        """Remove the containers."""
        for name in ("hand-worker", "hand-cp", "hand-lb"):
            await self._engine.remove(name)

    def _done(self, step: str) -> None:
        now = time.perf_counter()
        self.times[step] = now - self._begun
        self._begun = now

    async def _container(self, name: str, role: Role) -> str:
        image = BALANCER if role == LOAD_BALANCER else node_image(OLD)
        wanted = Wanted(name=name, cluster=CLUSTER, role=role, image=image)
        files = [File(PATH, config_text(Balancing()).encode())] if role == LOAD_BALANCER else []
        return (await self._host.make(wanted, files)).address()[0]

    async def _node(self, name: str, role: Role) -> str:
        address = await self._container(name, role)
        for operation in systemd_operations(self._engine, name):
            await operation.run(Task())
        return address

    async def _balance(self, address: str) -> None:
        text = config_text(Balancing(backends={"hand-cp": Backend(address)}))
        await self._engine.put_files("hand-lb", [File(PATH, text.encode())])
        await self._engine.kill("hand-lb", "SIGHUP")

    async def _kubeadm(self, name: str, subcommand: str, config: list[Document]) -> None:
        script = f"cat > /etc/kubeadm.yaml && kubeadm {subcommand} --config /etc/kubeadm.yaml"
        command = ("/bin/sh", "-c", f"{script} {_IGNORING}")
        done = await self._engine.run(name, command, stdin=dump_all(config).encode())
        assert done.exit_code == 0, done.stdout[-2000:] + done.stderr[-2000:]

    def _init(self) -> list[Document]:
        api = "kubeadm.k8s.io/v1beta4"
        cluster: Document = {
            "apiVersion": api,
            "kind": "ClusterConfiguration",
            "clusterName": "hand",
            "kubernetesVersion": OLD.version,
            "controlPlaneEndpoint": self._endpoint,
            "etcd": {"local": {"imageTag": OLD.etcd}},
            "dns": {"imageTag": OLD.coredns},
            "networking": {"podSubnet": "192.168.0.0/16", "serviceSubnet": "10.128.0.0/12"},
        }
        init: Document = {
            "apiVersion": api,
            "kind": "InitConfiguration",
            "bootstrapTokens": [{"token": TOKEN}],
            "nodeRegistration": _registration(),
        }
        proxy: Document = {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "conntrack": {"maxPerCore": 0},
        }
        return [cluster, init, proxy]

    def _join(self) -> Document:
        discovery = {
            "token": TOKEN,
            "apiServerEndpoint": self._endpoint,
            "unsafeSkipCAVerification": True,
        }
        return {
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "JoinConfiguration",
            "discovery": {"bootstrapToken": discovery},
            "nodeRegistration": _registration(),
        }

    async def _transport(self) -> ApiTransport:
        command_result = await self._engine.run("hand-cp", ["cat", "/etc/kubernetes/admin.conf"])
        return ApiTransport(parse(command_result.stdout))

    async def _apply(self, client: Client, network: str) -> None:
        kinds = Kinds(client)
        for document in load_all(network):
            await client.create(await kinds.of(document), document)


async def nodes_there(client: Callable[[], Client]) -> list[Document]:
    """The Nodes, as soon as the API server tells them. client: raises KapyError until there is
    one."""
    while True:
        try:
            return list((await client().list(NODES)).items)
        except KapyError:
            await asyncio.sleep(POLL)


async def nodes_ready(client: Callable[[], Client], count: int) -> None:
    """Wait until so many Nodes are Ready."""
    while sum(map(_is_ready, await nodes_there(client))) != count:  # noqa: ASYNC110
        await asyncio.sleep(POLL)


def _is_ready(node: Document) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(
        (condition["type"], condition["status"]) == ("Ready", "True") for condition in conditions
    )


def _registration() -> Document:
    return {
        "criSocket": "unix:///var/run/containerd/containerd.sock",
        "kubeletExtraArgs": [{"name": name, "value": value} for name, value in _KUBELET.items()],
    }
