"""Providers to be judged: the in-memory one, and one of paper."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from kapy.api.dev_cluster import DevCluster
from kapy.api.dev_machine import DevMachine
from kapy.api.dev_machine_pool import DevMachinePool
from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.providers.inmemory import InMemoryClusters
from kapy.providers.inmemory import add_to as add_in_memory
from kapy.sdk import Runtime
from kapy.testing.conformance.in_process import InProcess
from kapy.testing.conformance.provider_under_test import Kind, ProviderUnderTest
from tests.providers.inmemory.plane import dev_cluster, dev_machine

POOL: Final[Document] = {**dev_cluster("example"), "kind": "DevMachinePool"}


def template_of(resource: Resource) -> Resource:
    """Return the resource of the templates of a kind."""
    plural = f"{resource.kind.lower()}templates"
    return Resource(resource.group, resource.version, plural, f"{resource.kind}Template")


def in_memory() -> ProviderUnderTest:
    """DevClusters, DevMachines and DevMachinePools."""

    def add(runtime: Runtime) -> Mapping[str, Callable[[], Awaitable[None]]]:
        add_in_memory(runtime, InMemoryClusters(clock=runtime.clock))
        return {}

    examples = {
        "infra-cluster": (DevCluster.RESOURCE, dev_cluster("example")),
        "infra-machine": (DevMachine.RESOURCE, dev_machine()),
        "infra-machinepool": (DevMachinePool.RESOURCE, POOL),
    }
    kinds = tuple(
        Kind(role, resource, example, template=template_of(resource))
        for role, (resource, example) in examples.items()
    )
    return ProviderUnderTest("in-memory", kinds, InProcess(add))
