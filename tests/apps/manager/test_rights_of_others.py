"""Other people's providers work beside our managers with the rights of their releases: one of each
kind, and one whose kinds are of an API group of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from msgspec import field

from kapy._aio.clock import loop_clock
from kapy._aio.services import run_services
from kapy.api.cluster import Cluster
from kapy.api.ip_address import IPAddressClaim
from kapy.api.machine import Machine
from kapy.apps.provider.components import components_of, namespace_of, prefix_of
from kapy.apps.provider.controllers import add_provider
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.names import Resource
from kapy.sdk import (
    BootstrapConfigStatus,
    ControlPlaneStatus,
    InfraClusterSpec,
    InfraClusterStatus,
    InfraMachineSpec,
    InfraMachineStatus,
    Object,
    Provider,
    add_bootstrap,
    add_control_plane,
    add_infra_cluster,
    add_infra_machine,
    add_ipam,
    resource,
    template_of,
)
from kapy.testing.frozen import Frozen
from kapy.testing.story import NeverCame, Story
from tests.apps.manager.flows import story
from tests.apps.manager.separate import Asked, Separate, account_of, separate
from tests.hooks.extension import Extension, Network
from tests.sdk.paper_bootstrap import PaperBoot, PaperConfig
from tests.sdk.paper_cloud import PaperCloud, PaperLand
from tests.sdk.paper_plane import PaperControlPlane, PaperService
from tests.sdk.range_pool import RangePool, Ranges

GROUP = "sheets.example.com"


class SheetCluster(Object):
    """A cluster of a cloud whose kinds have a group of their own."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1", "SheetCluster")

    spec: InfraClusterSpec = field(default_factory=InfraClusterSpec)
    status: InfraClusterStatus = field(default_factory=InfraClusterStatus)


class SheetMachineSpec(InfraMachineSpec):
    sheets: int = 1


class SheetMachine(Object):
    """A machine of that cloud."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1", "SheetMachine")

    spec: SheetMachineSpec = field(default_factory=SheetMachineSpec)
    status: InfraMachineStatus = field(default_factory=InfraMachineStatus)


class SheetConfig(PaperConfig):
    """A bootstrap configuration of that cloud's machines."""

    RESOURCE: ClassVar[Resource] = replace(
        PaperConfig.RESOURCE, plural="sheetconfigs", kind="SheetConfig"
    )

    status: BootstrapConfigStatus = field(default_factory=BootstrapConfigStatus)


class SheetControlPlane(PaperControlPlane):
    """A control plane of that cloud."""

    RESOURCE: ClassVar[Resource] = replace(
        PaperControlPlane.RESOURCE, plural="sheetcontrolplanes", kind="SheetControlPlane"
    )

    status: ControlPlaneStatus = field(default_factory=ControlPlaneStatus)


SheetMachineTemplate = template_of(SheetMachine)


def sheets(runtime: Runtime) -> None:
    add_infra_cluster(runtime, SheetCluster, PaperLand(), finalizer="sheets.dev/cluster")
    add_infra_machine(runtime, SheetMachine, PaperCloud(), finalizer="sheets.dev/machine")


def papers(runtime: Runtime) -> None:
    add_bootstrap(runtime, SheetConfig, PaperBoot())


def planes(runtime: Runtime) -> None:
    add_control_plane(runtime, SheetControlPlane, PaperService(), finalizer="paper.dev/plane")


def ranges(runtime: Runtime) -> None:
    add_ipam(runtime, RangePool, Ranges())


IMAGE = "registry.example.com/provider"
PROVIDERS = (
    Provider(
        name="sheets",
        kinds=(SheetCluster, SheetMachine, SheetMachineTemplate),
        add_to=sheets,
        image=IMAGE,
    ),
    Provider(name="paper", kinds=(SheetConfig,), add_to=papers, image=IMAGE, type="bootstrap"),
    Provider(
        name="paper", kinds=(SheetControlPlane,), add_to=planes, image=IMAGE, type="control-plane"
    ),
    Provider(name="ranges", kinds=(RangePool,), add_to=ranges, image=IMAGE, type="ipam"),
)


async def test_providers_and_managers_work_with_their_granted_permissions() -> None:
    beside = [
        component for provider in PROVIDERS for component in components_of(provider, "v0.1.0")
    ]
    async with separate(Network(ext=Extension()), beside) as here:
        others = [(provider.label, started(provider, here)) for provider in PROVIDERS]
        services = {label: runtime.run for label, (_, runtime) in others}
        async with run_services(**services):
            await their_clusters(story(here.client, *kinds()))
    entry = [*here.asked.items(), *((label, request) for label, (request, _) in others)]
    assert {label: item.refused for label, item in entry if item.refused} == {}


def kinds() -> list[Resource]:
    return [kind.RESOURCE for provider in PROVIDERS for kind in provider.kinds]


def started(provider: Provider, here: Separate) -> tuple[Asked, Runtime]:
    user = account_of(namespace_of(provider), f"{prefix_of(provider)}-manager")
    request = Asked(Frozen(here.server.transport(user)), user)
    runtime = Runtime.on(request, clock=loop_clock(), field_manager=provider.label)
    assert not add_provider(provider, runtime)
    return request, runtime


async def their_clusters(value: Story) -> None:
    """One with our control plane and machines of the other group, one with theirs alone."""
    await value.settle(20)  # those who had the Leases are gone
    await value.create(CLUSTERS)
    for cluster in ("ours", "theirs"):
        machine = await first_machine(value, cluster)
        await value.until(
            Machine, machine, lambda item: item.status.initialization.infrastructure_provisioned
        )
    await value.until(
        IPAddressClaim, "claim", lambda address_claim: address_claim.status.address_ref
    )
    await value.client.delete(IPAddressClaim, Key("default", "claim"))
    await value.until_gone(IPAddressClaim, "claim")
    for cluster in ("ours", "theirs"):
        await value.client.delete(Cluster, Key("default", cluster))
        await value.until_gone(Cluster, cluster)


async def first_machine(value: Story, cluster: str) -> str:
    for _ in range(600):
        for machine in await value.all(Machine):
            if machine.spec.cluster_name == cluster:
                return machine.metadata.name
        await value.settle(1)
    raise NeverCame(f"no Machine of {cluster}")


CLUSTERS = """
apiVersion: sheets.example.com/v1
kind: SheetCluster
metadata: {name: ours, namespace: default}
---
apiVersion: sheets.example.com/v1
kind: SheetMachineTemplate
metadata: {name: plane, namespace: default}
spec: {template: {spec: {sheets: 2}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: ours, namespace: default}
spec:
  replicas: 1
  version: v1.34.0
  machineTemplate:
    spec:
      infrastructureRef:
        {apiGroup: sheets.example.com, kind: SheetMachineTemplate, name: plane}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: ours, namespace: default}
spec:
  infrastructureRef: {apiGroup: sheets.example.com, kind: SheetCluster, name: ours}
  controlPlaneRef:
    {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: ours}
---
apiVersion: sheets.example.com/v1
kind: SheetCluster
metadata: {name: theirs, namespace: default}
---
apiVersion: controlplane.cluster.x-k8s.io/v1
kind: SheetControlPlane
metadata: {name: theirs, namespace: default}
spec: {version: 1.34.1, replicas: 1}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: theirs, namespace: default}
spec:
  infrastructureRef: {apiGroup: sheets.example.com, kind: SheetCluster, name: theirs}
  controlPlaneRef:
    {apiGroup: controlplane.cluster.x-k8s.io, kind: SheetControlPlane, name: theirs}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1
kind: SheetConfig
metadata: {name: worker, namespace: default}
spec: {ink: blue}
---
apiVersion: sheets.example.com/v1
kind: SheetMachine
metadata: {name: worker, namespace: default}
spec: {sheets: 2}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: worker, namespace: default}
spec:
  clusterName: theirs
  version: v1.34.1
  bootstrap:
    configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: SheetConfig, name: worker}
  infrastructureRef: {apiGroup: sheets.example.com, kind: SheetMachine, name: worker}
---
apiVersion: ipam.example.dev/v1
kind: RangePool
metadata: {name: pool, namespace: default}
spec: {first: 10.0.0.1, last: 10.0.0.9, gateway: 10.0.0.1}
---
apiVersion: ipam.cluster.x-k8s.io/v1beta2
kind: IPAddressClaim
metadata: {name: claim, namespace: default}
spec: {poolRef: {apiGroup: ipam.example.dev, kind: RangePool, name: pool}}
"""
