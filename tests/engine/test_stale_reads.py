"""Managers that see everything late, and whose answers are lost, make nothing twice.

Four managers and two providers made with the SDK, each with a cache of its own, live through the
lives of two clusters: creation, growth, an upgrade, a Machine that is replaced, a class that
changes. Whatever they see late, they make as many objects of every kind as it takes. KAPY_SOAK
plays more such days.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from random import Random

import pytest

from kapy._aio.clock import loop_clock
from kapy._aio.services import Service, run_services
from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.dev_machine import DevMachine
from kapy.api.kinds import KINDS
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_pool import MachinePool
from kapy.apiserver.server import Server
from kapy.apiserver.server.kube_controller_manager import add_kube_controllers
from kapy.apps.admission import AdmissionRules
from kapy.apps.conversion import convert_documents
from kapy.apps.definitions import install_definitions
from kapy.apps.manager.programs import PROGRAMS, Connections, Program
from kapy.apps.program.process import AddControllers
from kapy.apps.provider.controllers import add_provider
from kapy.apps.provider.definitions import crds_of
from kapy.apps.settings import EMBEDDED_GATES, ControllerConfig
from kapy.client.client import Client
from kapy.conditions import is_true
from kapy.engine.runtime import Runtime
from kapy.hooks.https import HttpsTransport
from kapy.kube import Key
from kapy.kube.http import ADMIN
from kapy.kube.names import CONFIG_MAPS, CRDS, SECRETS, Resource
from kapy.providers.inmemory import InMemoryClusters
from kapy.sdk import Provider, add_ipam
from kapy.testing.faults import Faults, Rates
from kapy.testing.frozen import Frozen
from kapy.testing.story import Story
from tests.apps.manager.separate import PodsHere
from tests.core.environment import default_namespace
from tests.engine.two_clusters import CLAIM, HERD, PAGE
from tests.sdk.page_of_kubeadm import PROVIDER, PageControlPlane
from tests.sdk.range_pool import RangePool, Ranges

SOAK = bool(os.environ.get("KAPY_SOAK"))
LATE = Rates(late=5.0, lost_answer=0.05, lost_request=0.02, watch_breaks=0.01, stale_list=0.3)


def ranges(runtime: Runtime) -> None:
    add_ipam(runtime, RangePool, Ranges())


OTHERS = (
    PROVIDER,
    Provider(
        name="ranges",
        kinds=(RangePool,),
        add_to=ranges,
        image="registry.example.com/ranges",
        type="ipam",
    ),
)
"""A control plane of Machines, and one that gives addresses."""
MADE = [
    *(kind.type_of().RESOURCE for kind in KINDS),
    *(kind.RESOURCE for provider in OTHERS for kind in provider.kinds),
    SECRETS,
    CONFIG_MAPS,
]
MACHINES = 2 + (3 + 4 + 3) + 3 + 4
"""Of the control plane and its new version; three workers, those of the new version with one that
was replaced, and those of the class that changed; the page's; the pool's, in two versions."""
MANY = {
    **dict.fromkeys((resource.plural for resource in MADE), 0),
    "clusterclasses": 1,
    "clusterresourcesetbindings": 2,
    "clusterresourcesets": 1,
    "clusters": 2,
    "configmaps": 3,  # the addon, and the lock of each cluster's first machine
    "devclusters": 2,
    "devclustertemplates": 1,
    "devmachinepools": 1,
    "devmachinepooltemplates": 1,
    "devmachines": MACHINES,
    "devmachinetemplates": 2 + 2,  # what people made, and the herd's own
    "ipaddressclaims": 3,
    "ipaddresses": 3,
    "kubeadmconfigtemplates": 2 + 2,
    "kubeadmcontrolplanes": 1,
    "kubeadmcontrolplanetemplates": 1,
    "machinedeployments": 1,
    "machinehealthchecks": 1,
    "machinepools": 1,
    "machines": MACHINES,
    "machinesets": 3,
    "pagecontrolplanes": 1,
    "rangepools": 1,
    "secrets": (MACHINES - 4 + 1) + 2 * 5 + 1,  # of machines (a pool has one), of clusters, a shim
}
"""The number of objects of each kind that are ever created, by distinct names."""
Owner = MachineDeployment | KubeadmControlPlane | MachinePool


class Counting:
    """The names of the objects that came to be, by resource."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.names: dict[str, set[str]] = {resource.plural: set() for resource in MADE}

    async def follow(self, resource: Resource) -> None:
        """Count those of one resource until cancelled."""
        async with self._client.watch(resource, initial_events=True) as events:
            async for event in events:
                if event.type == "ADDED":
                    name = event.document["metadata"]["name"]
                    self.names[resource.plural].add(name)
        raise AssertionError("the watch ended")


def ours(program: Program, in_memory: InMemoryClusters, runtime: Runtime) -> Mapping[str, Service]:
    """One of our managers' controllers, added."""
    pods = PodsHere(in_memory)
    outside = Connections(
        lambda: HttpsTransport({}, None), in_memory.dial, lambda _: pods, in_memory
    )
    return program.add(runtime, ControllerConfig(), outside)


@asynccontextmanager
async def managers(rates: Rates, seed: int) -> AsyncIterator[tuple[Story, Counting, list[Faults]]]:
    clock = loop_clock()
    admission = AdmissionRules(EMBEDDED_GATES)
    server = Server.open(None, clock=clock, admission=(admission,), convert=convert_documents)
    admission.enable_reads(Client(server.transport(ADMIN)))
    client = Client(server.transport(ADMIN), field_manager="people")
    in_memory, faults = InMemoryClusters(clock=clock), list[Faults]()
    try:
        async with run_services(server=server.run):
            await default_namespace(client)
            await install_definitions(client)
            for crd in (document for provider in OTHERS for document in crds_of(provider)):
                await client.create(CRDS, crd)
            add_kube_controllers(server)
            services: dict[str, Service] = {}
            adding: dict[str, AddControllers] = {
                program.name: partial(ours, program, in_memory) for program in PROGRAMS.values()
            }
            adding |= {provider.label: partial(add_provider, provider) for provider in OTHERS}
            for number, (name, add) in enumerate(adding.items()):
                way = Faults(server.transport(ADMIN), rates, seed=seed + number)
                faults.append(way)
                runtime = Runtime.on(
                    Frozen(way), clock=clock, field_manager=name, random=Random(seed)
                )
                services |= {f"{name} {beside}": value for beside, value in add(runtime).items()}
                services[name] = runtime.run
            counting = Counting(client)
            for resource in MADE:
                services[f"counting {resource.plural}"] = partial(counting.follow, resource)
            async with run_services(**services):
                yield Story(client, MADE), counting, faults
    finally:
        server.close()


async def life(story: Story) -> None:
    """Apply the changes of a user to the herd and to the page, one after the other."""
    await story.create(HERD)
    await story.create(PAGE)
    await settled(story, "v1.33.4", 2)
    await story.create("---".join(CLAIM.format(number) for number in range(3)))
    await story.merge(PageControlPlane, "page", {"spec": {"replicas": 3}})
    await scaled(story, 3)
    await settled(story, "v1.33.4", 3)
    await story.merge(Cluster, "herd", {"spec": {"topology": {"version": "v1.34.0"}}})
    await settled(story, "v1.34.0", 3)
    ill = next(machine for machine in await story.all(Machine) if "east" in machine.metadata.name)
    mark = {"metadata": {"annotations": {"cluster.x-k8s.io/remediate-machine": ""}}}
    await story.merge(Machine, ill.metadata.name, mark)
    await story.until_gone(Machine, ill.metadata.name)
    await settled(story, "v1.34.0", 3)
    (before,) = await story.all(MachineDeployment)
    await with_other_workers(story)
    await story.until(
        MachineDeployment,
        before.metadata.name,
        lambda deployment: (
            deployment.spec.template.spec.bootstrap != before.spec.template.spec.bootstrap
        ),
    )
    await settled(story, "v1.34.0", 3)


async def scaled(story: Story, replicas: int) -> None:
    workers = {"machineDeployments": [{"class": "grass", "name": "east", "replicas": replicas}]}
    await story.merge(Cluster, "herd", {"spec": {"topology": {"workers": workers}}})


async def with_other_workers(story: Story) -> None:
    """The class has another template of what its workers start with."""
    cluster_class = await story.client.get(ClusterClass, Key("default", "meadow"))
    (workers,) = cluster_class.spec.workers.machine_deployments
    workers.bootstrap.template_ref.name = "prairie"
    await story.client.update(cluster_class)


async def settled(story: Story, version: str, workers: int) -> None:
    """Wait until the clusters are as asked for, and nothing moves any more."""

    def has_version(cluster: Cluster) -> bool:
        conditions = cluster.status.conditions
        return is_true(conditions, "TopologyReconciled") and is_true(conditions, "Available")

    (deployment,) = await there(story, MachineDeployment)
    (control_plane,) = await there(story, KubeadmControlPlane)
    (pool,) = await there(story, MachinePool)
    await story.until(
        MachineDeployment,
        deployment,
        lambda value: (
            value.spec.template.spec.version == version
            and value.status.replicas == workers == value.status.available_replicas
            and value.status.up_to_date_replicas == workers
        ),
    )
    await story.until(
        KubeadmControlPlane,
        control_plane,
        lambda value: (
            value.spec.version == version
            and value.status.replicas == 1 == value.status.available_replicas
            and value.status.up_to_date_replicas == 1
        ),
    )
    await story.until(
        MachinePool,
        pool,
        lambda machine_pool: (
            machine_pool.spec.template.spec.version == version
            and machine_pool.status.replicas == 2 == machine_pool.status.available_replicas
        ),
    )
    await story.until(
        PageControlPlane, "page", lambda value: value.status.ready_replicas == value.spec.replicas
    )
    await story.until(Cluster, "herd", has_version)
    page = await story.get(PageControlPlane, "page")
    assert page is not None
    wanted = 1 + workers + 2 + (page.spec.replicas or 0)
    # A status can be of some time ago, too: the last Machine of a rollout may still be there.
    for _ in range(60):
        if len(await story.all(Machine)) == wanted:
            break
        await story.settle(5)
    await story.settle(60)
    machines = {machine.metadata.name for machine in await story.all(Machine)}
    assert len(machines) == wanted
    # The objects of abandoned creations are gone. A pool has one bootstrap config in all.
    assert {dev_machine.metadata.name for dev_machine in await story.all(DevMachine)} == machines
    begun = {kubeadm_config.metadata.name for kubeadm_config in await story.all(KubeadmConfig)}
    assert len(begun - machines) == 1


async def there(story: Story, kind: type[Owner]) -> list[str]:
    while not (results := await story.all(kind)):
        await story.settle(1)
    return [item.metadata.name for item in results]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20 if SOAK else 1))
async def test_stale_reads_do_not_create_objects_twice(seed: int) -> None:
    async with managers(LATE, seed) as (story, counting, faults):
        await life(story)
        assert sum(fault.happened["lost answer"] for fault in faults) > 5
        entries = {plural: len(names) for plural, names in counting.names.items()}
        # The bootstrap configs of abandoned Machines are gone, which `settled` checks.
        entries["kubeadmconfigs"] = 0
        assert entries == MANY
