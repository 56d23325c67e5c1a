"""Machines and pools with boot configurations, for tests of the SDK's bootstrap controller."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_pool import MachinePool
from kapy.api.names import Label
from kapy.kube import Document
from kapy.kube.names import SECRETS
from kapy.sdk import (
    add_bootstrap,
)
from kapy.testing.fake_core import reference
from kapy.testing.provider_bench import ProviderBench, key, provider_bench
from tests.sdk.paper_bootstrap import CONFIG, PaperBoot, PaperConfig

RESOURCE = PaperConfig.RESOURCE
FINALIZER = "paper.example.dev/letterhead"


@dataclass
class Setup:
    bench: ProviderBench
    boot: PaperBoot

    async def config(self, name: str) -> Document:
        document = await self.bench.get(RESOURCE, name)
        assert document is not None
        return document


@asynccontextmanager
async def bootstrap_setup() -> AsyncIterator[Setup]:
    """Run a provider of boot data at a management cluster."""
    async with provider_bench([RESOURCE]) as bench:
        boot = PaperBoot()
        add_bootstrap(bench.runtime, PaperConfig, boot)
        async with bench.running():
            yield Setup(bench, boot)


async def machine(bench: ProviderBench, name: str, *, control_plane: bool = False) -> Document:
    """A Machine of the cluster blue with its configuration, as core and users make them."""
    config = {**CONFIG, "metadata": {"name": name}}
    labels = {Label.CLUSTER_NAME: "blue"} | ({Label.CONTROL_PLANE: ""} if control_plane else {})
    spec = {
        "clusterName": "blue",
        "version": "v1.34.0",
        "bootstrap": {"configRef": reference(config)},
        "infrastructureRef": {"apiGroup": "example.dev", "kind": "Anything", "name": name},
    }
    owner = await bench.client.create(
        Machine.RESOURCE,
        {
            "apiVersion": Machine.RESOURCE.api_version,
            "kind": "Machine",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": spec,
        },
    )
    await bench.create_owned(config, owner, labels, controller=True)
    return owner


async def initialized(bench: ProviderBench) -> None:
    condition = {"type": "ControlPlaneInitialized", "status": "True", "reason": "Initialized"}
    condition |= {"message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    patch = {"status": {"conditions": [condition]}}
    await bench.client.patch(Cluster.RESOURCE, key("blue"), patch, subresource="status")


async def sheet(bench: ProviderBench, name: str) -> str:
    secret = await bench.get(SECRETS, name)
    return "" if secret is None else b64decode(secret["data"]["value"]).decode()


def is_made(config: Document) -> bool:
    return bool(config.get("status", {}).get("initialization", {}).get("dataSecretCreated"))


def conditions(config: Document) -> dict[str, tuple[str, str, str]]:
    return {
        condition["type"]: (condition["status"], condition["reason"], condition["message"])
        for condition in config.get("status", {}).get("conditions", [])
    }


async def pool(bench: ProviderBench, **spec: Any) -> None:
    config = {**CONFIG, "metadata": {"name": "pool"}}
    infra = {"apiGroup": "example.dev", "kind": "Anything", "name": "pool"}
    labels = {Label.CLUSTER_NAME: "blue"}
    template = {
        "clusterName": "blue",
        "version": "v1.34.0",
        "bootstrap": {"configRef": reference(config)},
        "infrastructureRef": infra,
    }
    document = {
        "apiVersion": MachinePool.RESOURCE.api_version,
        "kind": "MachinePool",
        "metadata": {"name": "pool", "namespace": "default", "labels": labels},
        "spec": {"clusterName": "blue", "template": {"spec": template}},
    }
    owner = await bench.client.create(MachinePool.RESOURCE, document)
    await bench.create_owned(config, owner, labels, controller=True)
