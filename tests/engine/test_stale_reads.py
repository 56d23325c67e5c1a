"""Managers that see everything late, and whose answers are lost, make nothing twice.

Four managers, each with a cache of its own, live through a cluster's life: creation, growth, an
upgrade, a Machine that is replaced. Whatever they see late, they make as many objects as it takes.
KAPY_SOAK plays more such days.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from random import Random

import pytest

from kapy._aio.clock import loop_clock
from kapy._aio.services import Service, running
from kapy.api.cluster import Cluster
from kapy.api.dev_machine import DevMachine
from kapy.api.kinds import KINDS
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.apiserver.controllers.kube_controller_manager import accompany
from kapy.apiserver.server import Server
from kapy.apps.admission import Rules
from kapy.apps.conversion import converted
from kapy.apps.definitions import install_definitions
from kapy.apps.manager.programs import PROGRAMS, Outside
from kapy.apps.settings import EMBEDDED_GATES, Controlling
from kapy.client.client import Client
from kapy.conditions import is_true
from kapy.engine.runtime import Runtime
from kapy.hooks.https import HttpsPost
from kapy.kube.http import ADMIN
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS, Resource
from kapy.providers.inmemory import InMemory
from kapy.testing.faults import Faults, Rates
from kapy.testing.frozen import Frozen
from kapy.testing.story import Story
from tests.apps.manager.separate import PodsHere
from tests.core.stage import default_namespace

SOAK = bool(os.environ.get("KAPY_SOAK"))
LATE = Rates(late=5.0, lost_answer=0.05, lost_request=0.02, watch_breaks=0.01, stale_list=0.3)
COUNTED = ("machines", "devmachines", "machinesets", "secrets", "kubeadmcontrolplanes")
MADE = [*(kind.type_of().RESOURCE for kind in KINDS), NAMESPACES, SECRETS, CONFIG_MAPS]

HERD = """
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevClusterTemplate
metadata: {name: meadow, namespace: default}
spec: {template: {spec: {backend: {inMemory: {}}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlaneTemplate
metadata: {name: meadow, namespace: default}
spec: {template: {spec: {kubeadmConfigSpec: {clusterConfiguration: {
  encryptionAlgorithm: ECDSA-P256}}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: DevMachineTemplate
metadata: {name: meadow, namespace: default}
spec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: 2s}}}}}}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: meadow, namespace: default}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: meadow, namespace: default}
spec:
  infrastructure: {templateRef: &infra {
    kind: DevClusterTemplate, name: meadow,
    apiVersion: infrastructure.cluster.x-k8s.io/v1beta2}}
  controlPlane:
    templateRef: {
      kind: KubeadmControlPlaneTemplate, name: meadow,
      apiVersion: controlplane.cluster.x-k8s.io/v1beta2}
    machineInfrastructure: &machines {templateRef: {
      kind: DevMachineTemplate, name: meadow,
      apiVersion: infrastructure.cluster.x-k8s.io/v1beta2}}
  workers:
    machineDeployments:
    - class: grass
      bootstrap: {templateRef: {
        kind: KubeadmConfigTemplate, name: meadow,
        apiVersion: bootstrap.cluster.x-k8s.io/v1beta2}}
      infrastructure: *machines
      healthCheck: {checks: {nodeStartupTimeoutSeconds: 600}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: herd, namespace: default}
spec:
  topology:
    classRef: {name: meadow}
    version: v1.33.4
    controlPlane: {replicas: 1}
    workers: {machineDeployments: [{class: grass, name: east, replicas: 2}]}
"""


class Counting:
    """Counts the objects that came to be, by resource."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.names: dict[str, list[str]] = {}

    async def follow(self, resource: Resource) -> None:
        """Count those of one resource until cancelled."""
        async with self._client.watch(resource, initial_events=True) as events:
            async for event in events:
                if event.type == "ADDED":
                    name = event.document["metadata"]["name"]
                    self.names.setdefault(resource.plural, []).append(name)
        raise AssertionError("the watch ended")


@asynccontextmanager
async def managers(rates: Rates, seed: int) -> AsyncIterator[tuple[Story, Counting, list[Faults]]]:
    clock = loop_clock()
    admission = Rules(EMBEDDED_GATES)
    server = Server.open(None, clock=clock, admission=(admission,), convert=converted)
    admission.read_through(Client(server.transport(ADMIN)))
    client = Client(server.transport(ADMIN), field_manager="people")
    in_memory, faults = InMemory(clock=clock), list[Faults]()
    try:
        async with running(server=server.run):
            await default_namespace(client)
            await install_definitions(client)
            accompany(server)
            services: dict[str, Service] = {}
            for number, program in enumerate(PROGRAMS.values()):
                way = Faults(server.transport(ADMIN), rates, seed=seed + number)
                faults.append(way)
                runtime = Runtime.on(
                    Frozen(way), clock=clock, field_manager=program.name, random=Random(seed)
                )
                outside = Outside(
                    lambda: HttpsPost({}, None),
                    in_memory.dial,
                    lambda _: PodsHere(in_memory),
                    in_memory,
                )
                beside = program.add(runtime, Controlling(), outside)
                services |= {f"{program.name} {name}": one for name, one in beside.items()}
                services[program.name] = runtime.run
            counting = Counting(client)
            for resource in (one for one in MADE if one.plural in COUNTED):
                services[f"counting {resource.plural}"] = partial(counting.follow, resource)
            async with running(**services):
                yield Story(client, MADE), counting, faults
    finally:
        server.close()


async def life(story: Story) -> None:
    """What people want of the herd, one thing after the other."""
    await story.create(HERD)
    await settled(story, "v1.33.4", 2)
    await scaled(story, 3)
    await settled(story, "v1.33.4", 3)
    await story.merge(Cluster, "herd", {"spec": {"topology": {"version": "v1.34.0"}}})
    await settled(story, "v1.34.0", 3)
    ill = next(one for one in await story.all(Machine) if "east" in one.metadata.name)
    mark = {"metadata": {"annotations": {"cluster.x-k8s.io/remediate-machine": ""}}}
    await story.merge(Machine, ill.metadata.name, mark)
    await story.until_gone(Machine, ill.metadata.name)
    await settled(story, "v1.34.0", 3)


async def scaled(story: Story, replicas: int) -> None:
    workers = {"machineDeployments": [{"class": "grass", "name": "east", "replicas": replicas}]}
    await story.merge(Cluster, "herd", {"spec": {"topology": {"workers": workers}}})


async def settled(story: Story, version: str, workers: int) -> None:
    """Wait until the cluster is as asked for, and nothing moves any more."""

    def has_version(cluster: Cluster) -> bool:
        conditions = cluster.status.conditions
        return is_true(conditions, "TopologyReconciled") and is_true(conditions, "Available")

    (deployment,) = await there(story, MachineDeployment)
    (control_plane,) = await there(story, KubeadmControlPlane)
    await story.until(
        MachineDeployment,
        deployment,
        lambda one: (
            one.spec.template.spec.version == version
            and one.status.replicas == workers == one.status.available_replicas
            and one.status.up_to_date_replicas == workers
        ),
    )
    await story.until(
        KubeadmControlPlane,
        control_plane,
        lambda one: (
            one.spec.version == version
            and one.status.replicas == 1 == one.status.available_replicas
            and one.status.up_to_date_replicas == 1
        ),
    )
    await story.until(Cluster, "herd", has_version)
    await story.settle(60)
    machines = {one.metadata.name for one in await story.all(Machine)}
    assert len(machines) == 1 + workers
    # What was begun and given up is gone again.
    for kind in (DevMachine, KubeadmConfig):
        assert {one.metadata.name for one in await story.all(kind)} == machines


async def there(story: Story, kind: type[MachineDeployment | KubeadmControlPlane]) -> list[str]:
    while not (found := await story.all(kind)):
        await story.settle(1)
    return [one.metadata.name for one in found]


@pytest.mark.parametrize("seed", range(20 if SOAK else 1))
async def test_what_is_seen_late_is_not_made_twice(seed: int) -> None:
    async with managers(LATE, seed) as (story, counting, faults):
        await life(story)
        assert sum(one.happened["lost answer"] for one in faults) > 5
        # Three workers and a control plane, those of the new version, and one that was replaced.
        made = {plural: len(names) for plural, names in counting.names.items()}
        assert made == {
            "machines": 9,
            "devmachines": 9,
            "machinesets": 2,
            "kubeadmcontrolplanes": 1,
            "secrets": 9 + 6,  # of the Machines, and of the cluster
        }
