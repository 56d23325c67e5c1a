"""Test setups with a management plane on virtual time, and hosts in memory."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from kapy_hosts import PROVIDER, provider
from kapy_hosts.kinds import Host, HostMachine

from kapy.sdk import Runtime, conditions
from kapy.testing import RunningPlane, plane
from simulated_hosts.memory_hosts import MemoryDialer, MemoryHost

API = "infrastructure.cluster.x-k8s.io/v1alpha1"
BOOT_DATA = b"#cloud-config\nruncmd:\n- kubeadm join --config /run/kubeadm/join.yaml\n"


@dataclass
class Setup:
    """One plane, and the hosts that it reaches. version, boot_data: the version and the boot data of its machines."""

    plane: RunningPlane
    dialer: MemoryDialer
    version: str = "v1.34.0"
    boot_data: bytes = BOOT_DATA
    hosts: dict[str, MemoryHost] = field(default_factory=dict)

    async def add_host(self, name: str, **spec: Any) -> MemoryHost:
        """Add a Host, and the host itself if no other plane has it."""
        address = spec.setdefault("address", f"{name}.example.com")
        host = self.dialer.hosts.get(address) or MemoryHost(address, self.dialer.now)
        self.hosts[name] = self.dialer.hosts[address] = host
        document = {"apiVersion": API, "kind": "Host", "metadata": named(name), "spec": spec}
        await self.plane.apply([document])
        return host

    async def add_machine(self, name: str, *, control_plane: bool = False, **spec: Any) -> None:
        """Add a Machine with boot data, and its HostMachine."""
        labels = {"cluster.x-k8s.io/cluster-name": "blue"}
        if control_plane:
            labels["cluster.x-k8s.io/control-plane"] = ""
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": named(f"{name}-data") | {"labels": labels},
            "data": {"value": b64encode(self.boot_data).decode()},
        }
        machine = {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Machine",
            "metadata": named(name) | {"labels": labels},
            "spec": {
                "clusterName": "blue",
                "version": self.version,
                "bootstrap": {"dataSecretName": f"{name}-data"},
                "infrastructureRef": reference("HostMachine", name),
            },
        }
        infra = {"apiVersion": API, "kind": "HostMachine", "metadata": named(name) | {"labels": labels}, "spec": spec}
        await self.plane.apply([secret, infra, machine])

    async def provisioned(self, name: str, within: float = 600.0) -> HostMachine:
        """Wait until a machine is provisioned."""
        return await self.plane.until(
            HostMachine, name, lambda machine: machine.status.initialization.provisioned, within=within
        )

    async def state(self, name: str, state: str, within: float = 600.0) -> Host:
        """Wait until a Host has a state."""
        return await self.plane.until(Host, name, lambda host: host.status.state == state, within=within)


def named(name: str) -> dict[str, Any]:
    return {"name": name, "namespace": "default"}


def reference(kind: str, name: str) -> dict[str, str]:
    return {"apiGroup": API.split("/")[0], "kind": kind, "name": name}


def cluster_documents(spec: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the Cluster `blue` and its HostCluster. spec: the spec of the HostCluster, None for a default."""
    default_spec = {"controlPlaneEndpoint": {"host": "10.0.0.100", "port": 6443}}
    infra = {
        "apiVersion": API,
        "kind": "HostCluster",
        "metadata": named("blue"),
        "spec": default_spec if spec is None else spec,
    }
    document = {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": named("blue"),
        "spec": {"infrastructureRef": reference("HostCluster", "blue")},
    }
    return [infra, document]


def message(obj: Host | HostMachine, type_: str) -> str:
    """Return reason and message of a condition."""
    condition = conditions.get(obj.status.conditions, type_)
    return "" if condition is None else f"{condition.reason}: {condition.message}"


@asynccontextmanager
async def setup(dialer: MemoryDialer | None = None, cluster: dict[str, Any] | None = None) -> AsyncIterator[Setup]:
    """Yield a plane with the Cluster `blue`. cluster: the spec of its HostCluster."""
    dialer = dialer or MemoryDialer()
    chosen: MemoryDialer = dialer

    def add_to(runtime: Runtime) -> Any:
        chosen.now = lambda: runtime.clock().timestamp()
        return provider.add_to(runtime, chosen)

    on_paper = replace(PROVIDER, add_to=add_to)
    async with plane(providers=[on_paper]) as running:
        await running.apply(cluster_documents(cluster))
        yield Setup(running, dialer)
