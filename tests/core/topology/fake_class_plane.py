"""A server with a class of fake kinds, and the controllers of classes and topologies alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random

from kapy._aio.clock import loop_clock
from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.crds import crds
from kapy.apiserver.server import Server
from kapy.client.client import Client
from kapy.core.clusterclass.controller import add_to as add_classes
from kapy.core.topology.controller import add_to
from kapy.engine.runtime import Runtime
from kapy.kube import Key
from kapy.kube.http import ADMIN, Transport
from kapy.kube.names import CRDS, Resource
from kapy.remote.cluster_cache import ClusterCache
from kapy.topology.hooks import LifecycleHooks
from tests.core.environment import CONTROL_PLANES, INFRA_CLUSTERS, crd_of, default_namespace, of

KEY = Key("default", "c")


def template(of_kind: Resource) -> Resource:
    kind = f"{of_kind.kind}Template"
    return Resource(of_kind.group, of_kind.version, f"{kind.lower()}s", kind)


TEMPLATES = (template(INFRA_CLUSTERS), template(CONTROL_PLANES))


def _as_it_is(transport: Transport) -> Transport:
    return transport


@asynccontextmanager
async def plane_with_fake_class(
    hooks: LifecycleHooks | None = None, *, through: Callable[[Transport], Transport] = _as_it_is
) -> AsyncIterator[Client]:
    """The Cluster `c` of the class is there. through: what the controllers reach the server by."""
    server = Server.open(None, clock=loop_clock())
    client = Client(server.transport(ADMIN), field_manager="person")
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(server.run())]
        await default_namespace(client)
        for crd in (*crds(), *map(crd_of, (INFRA_CLUSTERS, CONTROL_PLANES, *TEMPLATES))):
            await client.create(CRDS, crd)
        refs = []
        for resource in TEMPLATES:
            await client.create(
                resource, of(resource, "meadow", spec={"template": {"spec": {"a": 1}}})
            )
            named = {"apiVersion": resource.api_version, "kind": resource.kind, "name": "meadow"}
            refs.append({"templateRef": named})
        spec = {"infrastructure": refs[0], "controlPlane": refs[1]}
        await client.create(ClusterClass.RESOURCE, of(ClusterClass.RESOURCE, "meadow", spec=spec))
        runtime = Runtime.on(through(server.transport(ADMIN)), clock=loop_clock(), random=Random(0))
        connections = ClusterCache(runtime, dial=lambda _: server.transport(ADMIN))
        add_classes(runtime)
        add_to(runtime, connections, hooks=hooks)
        running.append(group.create_task(runtime.run()))
        topology = {"classRef": {"name": "meadow"}, "version": "v1.34.0"}
        cluster = of(Cluster.RESOURCE, "c", spec={"topology": topology})
        cluster["metadata"]["finalizers"] = ["example.com/held"]
        await client.create(Cluster.RESOURCE, cluster)
        yield client
        for task in running:
            task.cancel()
    server.close()
