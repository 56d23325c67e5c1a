"""Managers that share their clusters: all of it works, and no cluster has two of a kind."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby
from random import Random

import yaml

from kapy._aio.clock import loop_clock
from kapy._aio.services import Service, run_services, run_together
from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.cluster_resource_set_binding import ClusterResourceSetBinding
from kapy.api.names import CLUSTER_GROUP
from kapy.apiserver.server import Server
from kapy.apiserver.server.kube_controller_manager import add_kube_controllers
from kapy.apps.admission import AdmissionRules
from kapy.apps.conversion import convert_documents
from kapy.apps.definitions import install_definitions
from kapy.apps.manager.programs import PROGRAMS, Connections
from kapy.apps.manager_flags import controller_config
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.conditions import is_true
from kapy.engine.cluster_of import cluster_of
from kapy.engine.leadership import Fenced, LeaderElectionConfig
from kapy.engine.runtime import Runtime
from kapy.engine.shards import Shards
from kapy.hooks.transport import HookTransport
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN, Reply, Request
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.providers.inmemory import InMemoryClusters
from kapy.testing.frozen import Frozen
from kapy.testing.story import Story
from tests.apps.manager.separate import PodsHere
from tests.stories.plane import own_kinds
from tests.stories.test_bad_workload_clusters import grow, has_grown, started
from tests.stories.test_fleet import CLUSTER

SHARED = ("core", "bootstrap-kubeadm", "control-plane-kubeadm")
HERDS = [f"herd-{number}" for number in range(4)]


class Writes(Interceptor):
    """Notes for which clusters a program writes."""

    __slots__ = ("clusters", "program")

    def __init__(self, server: Server, program: str, clusters: dict[Key, list[str]]) -> None:
        super().__init__(Frozen(server.transport(ADMIN)))
        self.program, self.clusters = program, clusters

    async def __call__(self, request: Request) -> Reply:
        reply = await self.transport(request)
        written = request.method != "GET" and reply.status < 400
        bindings = ClusterResourceSetBinding.RESOURCE.plural in request.path  # are of their sets
        ours = CLUSTER_GROUP in request.path and not bindings
        if written and ours and isinstance(reply.body, dict):
            self.clusters[cluster_of(reply.body)].append(self.program)
        return reply


@dataclass
class Managers:
    """The programs at one server. writers: by kind of manager and cluster, in order."""

    server: Server
    in_memory: InMemoryClusters
    writers: dict[str, dict[Key, list[str]]]
    group: asyncio.TaskGroup
    running: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self, shard: str) -> asyncio.Task[None]:
        """One more of each kind; those of machines in memory are alone."""
        services: dict[str, Service] = {}
        for name in SHARED:
            services |= self._started(name, shard)
        self.running.append(self.group.create_task(run_together(**services)))
        return self.running[-1]

    def _started(self, name: str, shard: str) -> dict[str, Service]:
        program, config = PROGRAMS[name], controller_config({})
        transport = Writes(self.server, shard, self.writers[name])
        terms = LeaderElectionConfig(lease=Key("default", program.lease), identity=shard)
        shards = Shards(Client(transport), terms, 3, loop_clock(), Random(f"{name} {shard}"))
        runtime = Runtime.on(
            Fenced(transport, shards),
            clock=loop_clock(),
            field_manager=program.name,
            random=Random(shard),
            options=config.manager,
        )
        runtime.leader_gate, runtime.shards = shards.run_as_member, shards
        pods = PodsHere(self.in_memory)
        outside = Connections(_nobody, self.in_memory.dial, lambda _: pods, self.in_memory)
        beside = program.add(runtime, config, outside)
        return {name: runtime.run, **{f"{name} {key}": run for key, run in beside.items()}}

    def owners(self) -> dict[str, dict[Key, list[str]]]:
        """Return the managers that wrote for each cluster, in order."""
        return {
            name: {cluster: [key for key, _ in groupby(by)] for cluster, by in clusters.items()}
            for name, clusters in self.writers.items()
        }


def _nobody() -> HookTransport:
    raise AssertionError("no extension is called here")


@asynccontextmanager
async def managers() -> AsyncIterator[tuple[Managers, Story]]:
    admission, clock = AdmissionRules(controller_config({}).manager.gates), loop_clock()
    server = Server.open(None, clock=clock, admission=(admission,), convert=convert_documents)
    admission.enable_reads(Client(server.transport(ADMIN)))
    async with AsyncExitStack() as stack:
        stack.callback(server.close)
        await stack.enter_async_context(run_services(server=server.run))
        await asyncio.sleep(0)
        client = Client(Frozen(server.transport(ADMIN)), field_manager="people")
        await install_definitions(client)
        add_kube_controllers(server)
        in_memory = InMemoryClusters(clock=clock)
        alone = Runtime.on(server.transport(ADMIN), clock=clock, random=Random(1))
        outside = Connections(_nobody, in_memory=in_memory)
        PROGRAMS["infrastructure-dev"].add(alone, controller_config({}), outside)
        await stack.enter_async_context(run_services(alone=alone.run))
        async with asyncio.TaskGroup() as group:
            writers: dict[str, dict[Key, list[str]]] = {name: defaultdict(list) for name in SHARED}
            result = Managers(server, in_memory, writers, group)
            yield result, Story(client, [*own_kinds(), NAMESPACES, SECRETS, CONFIG_MAPS])
            for task in result.running:
                task.cancel()


ADDON: list[Document] = list(
    yaml.safe_load_all("""
apiVersion: v1
kind: ConfigMap
metadata: {name: addon}
data: {addon: "{apiVersion: v1, kind: Namespace, metadata: {name: addon}}"}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: addon}
spec:
  clusterSelector: {matchLabels: {addon: wanted}}
  strategy: Reconcile
  resources: [{kind: ConfigMap, name: addon}]
""")
)


async def addons_change(story: Story) -> None:
    """A changed addon is applied to the cluster of each namespace."""
    before = {namespace: await applied(story, namespace) for namespace in HERDS}
    changed = {"data": {"addon": "{apiVersion: v1, kind: Namespace, metadata: {name: other}}"}}
    for namespace in HERDS:
        await story.client.patch(CONFIG_MAPS, Key(namespace, "addon"), changed)
    await asyncio.sleep(60)
    after = {namespace: await applied(story, namespace) for namespace in HERDS}
    assert all(after[namespace] and after[namespace] != before[namespace] for namespace in HERDS)


async def applied(story: Story, namespace: str) -> str:
    """The hash of what a cluster got, "" for nothing."""
    set_binding = await story.get(ClusterResourceSetBinding, CLUSTER, namespace)
    assert set_binding is not None
    (resource,) = set_binding.spec.bindings[0].resources
    return resource.hash if resource.applied else ""


async def addons(story: Story) -> None:
    """Create the addons. A ClusterResourceSet belongs to no Cluster, so most of them are
    reconciled by another member than their Cluster is."""
    for namespace in HERDS:
        await story.create(
            [
                {**document, "metadata": {**document["metadata"], "namespace": namespace}}
                for document in ADDON
            ]
        )
        await story.merge(
            Cluster, CLUSTER, {"metadata": {"labels": {"addon": "wanted"}}}, namespace
        )


async def have_addons(story: Story) -> None:
    for namespace in HERDS:
        await story.until(ClusterResourceSet, "addon", is_applied, namespace=namespace, within=60)


def is_applied(resource_set: ClusterResourceSet) -> bool:
    return is_true(resource_set.status.conditions, "ResourcesApplied")


async def test_clusters_are_reconciled_while_managers_start_and_stop() -> None:
    async with managers() as (here, story):
        value = here.start("one")
        here.start("two")
        await asyncio.sleep(20)
        await started(story, HERDS)
        await addons(story)
        await have_addons(story)
        here.start("three")
        await asyncio.sleep(20)
        await addons_change(story)
        for namespace in HERDS:
            await grow(story, namespace)
        value.cancel()
        for namespace in HERDS:
            await has_grown(story, namespace, within=120)
        for name, clusters in here.owners().items():
            for cluster, owners in clusters.items():
                # Nobody comes back to what somebody else had in between.
                assert len(owners) == len(set(owners)), (name, cluster, owners)
        core = here.owners()["core"]
        assert {key.namespace for key in core} >= set(HERDS)
        assert {owner for owners in core.values() for owner in owners} == {"one", "two", "three"}
