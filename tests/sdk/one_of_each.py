"""One provider for each controller of the SDK, with an object that waits for its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from kapy._aio.clock import loop_clock
from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.api.names import Label
from kapy.engine.runtime import Runtime
from kapy.kube import Document
from kapy.kube.names import Resource
from kapy.sdk import (
    add_bootstrap,
    add_control_plane,
    add_infra_cluster,
    add_infra_machine,
    add_infra_machine_pool,
    add_ipam,
)
from kapy.sdk.machine_control_plane import add_machine_based_control_plane
from kapy.testing.fake_core import reference
from kapy.testing.provider_bench import ProviderBench
from tests.sdk.paper_bootstrap import CONFIG, Letterhead, PaperConfig
from tests.sdk.paper_cloud import (
    CLUSTER,
    MACHINE,
    PAPER_CLUSTERS,
    PaperCloud,
    PaperLand,
    PaperMachine,
)
from tests.sdk.paper_plane import PLANE, PaperControlPlane, PaperService
from tests.sdk.paper_stack import CONFIGS, INFRA, STACK, STACKS, TEMPLATE, TEMPLATES, PaperStacks
from tests.sdk.range_pool import GROUP, RangePool, Ranges
from tests.sdk.test_infra_machine_pool import POOL, POOLS, PaperPad

FINALIZER: Final = "paper.example.dev/each"
NAME: Final = "one"
ENDPOINT: Final = {"host": "blue.paper", "port": 6443}
CLAIMS: Final = IPAddressClaim.RESOURCE
_CLUSTER: Final = {Label.CLUSTER_NAME: "blue"}


@dataclass(frozen=True)
class Each:
    """resource: of the object called `NAME`, which `begin` makes with more metadata. question: the
    provider's. kinds: to be served."""

    resource: Resource
    provider: Callable[[], Any]
    question: str
    add: Callable[[Runtime, Any], Any]
    begin: Callable[[ProviderBench, Document], Awaitable[Any]]
    kinds: tuple[Resource, ...] = ()


async def _infra_cluster(bench: ProviderBench, metadata: Document) -> None:
    await bench.cluster("blue", _named(CLUSTER, metadata))


async def _infra_machine(bench: ProviderBench, metadata: Document) -> None:
    await bench.cluster("blue", provisioned=True)
    infra = {**MACHINE, "metadata": metadata}
    await bench.machine("blue", NAME, infra, bootstrap_data=b"#!/bin/sh")


async def _pool(bench: ProviderBench, metadata: Document) -> None:
    await bench.cluster("blue", provisioned=True)
    await bench.machine_pool("blue", NAME, {**POOL, "metadata": metadata})
    await bench.pool_bootstrap("blue", NAME, b"#!/bin/sh")


async def _config(bench: ProviderBench, metadata: Document) -> None:
    await bench.cluster("blue", provisioned=True)
    await bench.booting_machine("blue", NAME, {**CONFIG, "metadata": metadata})


async def _plane(bench: ProviderBench, metadata: Document) -> None:
    await _control_plane(bench, _named(PLANE, metadata))


async def _stack(bench: ProviderBench, metadata: Document) -> None:
    await bench.client.create(TEMPLATES, TEMPLATE)
    await _control_plane(bench, _named(STACK, metadata))


async def _control_plane(bench: ProviderBench, plane: Document) -> None:
    spec = {"controlPlaneRef": reference(plane), "controlPlaneEndpoint": ENDPOINT}
    cluster = await bench.cluster("blue", provisioned=True, **spec)
    await bench.create_owned(plane, cluster, _CLUSTER, controller=True)


async def _claim(bench: ProviderBench, metadata: Document) -> None:
    where = {"name": "pool", "namespace": "default"}
    spec: Document = {"first": "10.0.0.1", "last": "10.0.0.9"}
    pool = {"apiVersion": RangePool.RESOURCE.api_version, "kind": "RangePool", "metadata": where}
    await bench.client.create(RangePool.RESOURCE, {**pool, "spec": spec})
    claim = {"apiVersion": CLAIMS.api_version, "kind": CLAIMS.kind, "spec": {}}
    claim = _named(claim, {**metadata, "namespace": "default"})
    claim["spec"] = {"poolRef": {"apiGroup": GROUP, "kind": "RangePool", "name": "pool"}}
    await bench.client.create(CLAIMS, claim)


def _named(document: Document, metadata: Document) -> Document:
    return {**document, "metadata": {**metadata, "name": NAME}}


def _finalized(add: Callable[..., Any], kind: Any) -> Callable[[Runtime, Any], Any]:
    return lambda runtime, provider: add(runtime, kind, provider, finalizer=FINALIZER)


EACH: Final = {
    "infra cluster": Each(
        PAPER_CLUSTERS,
        PaperLand,
        "reconcile_normal",
        _finalized(add_infra_cluster, PAPER_CLUSTERS),
        _infra_cluster,
    ),
    "infra machine": Each(
        PaperMachine.RESOURCE,
        PaperCloud,
        "reconcile_normal",
        _finalized(add_infra_machine, PaperMachine),
        _infra_machine,
    ),
    "infra machine pool": Each(
        POOLS, PaperPad, "reconcile_normal", _finalized(add_infra_machine_pool, POOLS), _pool
    ),
    "bootstrap": Each(
        PaperConfig.RESOURCE,
        lambda: Letterhead(loop_clock()),
        "data",
        _finalized(add_bootstrap, PaperConfig.RESOURCE),
        _config,
    ),
    "control plane": Each(
        PaperControlPlane.RESOURCE,
        PaperService,
        "reconcile_normal",
        _finalized(add_control_plane, PaperControlPlane),
        _plane,
    ),
    "control plane of machines": Each(
        STACKS,
        PaperStacks,
        "observe",
        _finalized(add_machine_based_control_plane, STACKS),
        _stack,
        (TEMPLATES, INFRA, CONFIGS),
    ),
    "claims": Each(
        CLAIMS,
        Ranges,
        "allocate",
        lambda runtime, provider: add_ipam(runtime, RangePool, provider, finalizer=FINALIZER),
        _claim,
        (RangePool.RESOURCE, IPAddress.RESOURCE),
    ),
}
