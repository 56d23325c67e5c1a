"""A whole control plane provider: stacks of paper machines; and hands that do what core does."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.names import Finalizer
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import ApiError
from kapy.kube.names import Resource
from kapy.sdk import Released, Waiting
from kapy.sdk.certificates import ClusterCertificate
from kapy.sdk.machine_control_plane import (
    ControlPlaneObserved,
    MachineControlPlaneContext,
    MachineControlPlaneProvider,
)
from kapy.testing.provider_bench import ProviderBench
from tests.sdk.paper_bootstrap import PaperConfig
from tests.sdk.paper_cloud import PaperMachine

GROUP = "controlplane.cluster.x-k8s.io"
STACKS: Final = Resource(GROUP, "v1", "paperstacks", "PaperStack")
INFRA: Final = PaperMachine.RESOURCE
TEMPLATES: Final = Resource(INFRA.group, "v1", "papermachinetemplates", "PaperMachineTemplate")
CONFIGS: Final = PaperConfig.RESOURCE
TEMPLATE: Document = {
    "apiVersion": TEMPLATES.api_version,
    "kind": "PaperMachineTemplate",
    "metadata": {"name": "sheets", "namespace": "default"},
    "spec": {"template": {"spec": {"sheets": 3}}},
}
STACK: Document = {
    "apiVersion": STACKS.api_version,
    "kind": "PaperStack",
    "spec": {
        "version": "v1.34.0",
        "replicas": 3,
        "ink": "blue",
        "machineTemplate": {
            "metadata": {"labels": {"team": "a"}, "annotations": {"note": "x"}},
            "spec": {
                "infrastructureRef": {
                    "apiGroup": INFRA.group,
                    "kind": "PaperMachineTemplate",
                    "name": "sheets",
                }
            },
        },
    },
}


class PaperStacks(MachineControlPlaneProvider[Document]):
    """Takes requests when its first machine has a Node. left: the machines that were let go."""

    algorithm = "ECDSA-P256"
    certificates = tuple(
        ClusterCertificate(purpose, algorithm="ECDSA-P256")
        for purpose in ("ca", "etcd", "proxy", "sa")
    )

    def __init__(self) -> None:
        self.left: list[str] = []
        self.hold = ""
        self.unstable = ""

    async def bootstrap_config(
        self, context: MachineControlPlaneContext[Document], *, first: bool
    ) -> Document:
        spec = {"ink": context.object["spec"]["ink"], "first": first}
        return {"apiVersion": CONFIGS.api_version, "kind": CONFIGS.kind, "spec": spec}

    async def observe(self, context: MachineControlPlaneContext[Document]) -> ControlPlaneObserved:
        ready = any(machine.status.node_ref is not None for machine in context.machines)
        return ControlPlaneObserved(initialized=ready, unstable=self.unstable)

    async def prepare_shutdown(
        self, context: MachineControlPlaneContext[Document], machine: Machine
    ) -> Released | Waiting:
        if self.hold:
            return Waiting(message=self.hold)
        self.left.append(machine.metadata.name)
        return Released()


class Hands:
    """The role of core: Machines get Nodes and conditions, and go when no hook holds them."""

    def __init__(self, bench: ProviderBench) -> None:
        self.client = Client(bench.transport, field_manager="core")
        self.seen: list[int] = []
        self.slow: set[str] = set()

    async def work(self) -> None:
        while True:
            machines = (await self.client.list(Machine.RESOURCE, "default")).items
            self.seen.append(len(machines))
            for machine in machines:
                with suppress(ApiError):  # it changed meanwhile
                    await self._on(machine)
            await asyncio.sleep(0.2)

    async def _on(self, machine: Document) -> None:
        metadata, status = machine["metadata"], machine.get("status") or {}
        key = Key.of(machine)
        if "deletionTimestamp" in metadata:
            annotations = metadata.get("annotations") or {}
            if any(annotation.startswith("pre-terminate") for annotation in annotations):
                await self._report(machine, ("Deleting", "WaitingForPreTerminateHook"))
            else:
                await self._delete(machine)
        elif Finalizer.MACHINE not in metadata.get("finalizers", ()):
            patch = {"metadata": {"finalizers": [Finalizer.MACHINE]}}
            await self.client.patch(Machine.RESOURCE, key, patch)
        elif "nodeRef" not in status and key.name not in self.slow:
            node: Document = {"status": {"nodeRef": {"name": key.name}}}
            await self.client.patch(Machine.RESOURCE, key, node, subresource="status")
            await self._report(machine, ("Ready", "Ready"), ("Available", "Available"))

    async def _delete(self, machine: Document) -> None:
        key = Key.of(machine)
        await self.client.patch(Machine.RESOURCE, key, {"metadata": {"finalizers": None}})
        for resource in (INFRA, CONFIGS):
            with suppress(ApiError):
                await self.client.delete(resource, key)

    async def _report(self, machine: Document, *reported: tuple[str, str]) -> None:
        live = await self.client.get(Machine.RESOURCE, Key.of(machine))
        there = (live.get("status") or {}).get("conditions") or []
        types = [text for text, _ in reported]
        time = "2026-01-01T00:00:00Z"
        new = [
            {
                "type": type_,
                "status": "True",
                "reason": reason,
                "message": "",
                "lastTransitionTime": time,
            }
            for type_, reason in reported
        ]
        if all(any(item["type"] == type_ for item in there) for type_ in types):
            return
        others = [item for item in there if item["type"] not in types]
        patch = {
            "metadata": {"resourceVersion": live["metadata"]["resourceVersion"]},
            "status": {"conditions": [*others, *new]},
        }
        await self.client.patch(Machine.RESOURCE, Key.of(live), patch, subresource="status")


async def domains(bench: ProviderBench, *names: str) -> None:
    """Failure domains of the cluster blue; the last one takes no control plane machines."""
    listed = [{"name": name, "controlPlane": name != names[-1]} for name in names]
    patch = {"status": {"failureDomains": listed}}
    await bench.client.patch(Cluster.RESOURCE, Key("default", "blue"), patch, subresource="status")
