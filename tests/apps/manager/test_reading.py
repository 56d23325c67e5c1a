"""Tests that managers watch only Secrets and ConfigMaps of clusters, or only their metadata."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from kapy._aio.clock import loop_clock
from kapy._aio.services import run_services
from kapy.api.cluster import Cluster
from kapy.api.cluster_resource_set import ClusterResourceSet
from kapy.api.names import Label
from kapy.apiserver.server import Server
from kapy.apps.definitions import install_definitions
from kapy.apps.manager.programs import PROGRAMS, Connections, Program
from kapy.apps.manager_flags import controller_config
from kapy.client.client import Client
from kapy.client.intercept import Interceptor
from kapy.engine.runtime import Runtime
from kapy.hooks.https import HttpsTransport
from kapy.kube.http import ADMIN, Reply, Request
from kapy.providers.inmemory import InMemoryClusters
from tests.core.environment import default_namespace

SENSITIVE = ("secrets", "configmaps")


class Far(Interceptor):
    """A remote server that records watches.

    watched: pairs of a kind's plural and "metadata", the label selector or "everything".
    """

    __slots__ = ("watched",)

    def __init__(self, server: Server) -> None:
        super().__init__(server.transport(ADMIN))
        self.over_network = True
        self.watched: set[tuple[str, str]] = set()

    async def __call__(self, request: Request) -> Reply:
        if "watch" in request.query:
            metadata = "PartialObjectMetadata" in request.headers.get("accept", "")
            how = "metadata" if metadata else request.query.get("labelSelector", "everything")
            self.watched.add((request.path.rpartition("/")[2], how))
        return await self.transport(request)


@asynccontextmanager
async def server() -> AsyncIterator[Server]:
    here = Server.open(None, clock=loop_clock())
    async with AsyncExitStack() as stack:
        stack.callback(here.close)
        await stack.enter_async_context(run_services(server=here.run))
        await asyncio.sleep(0)
        client = Client(here.transport(ADMIN))
        await install_definitions(client)
        await default_namespace(client)
        labels = {"cni": "capybara"}
        reference = {"apiGroup": "example.com", "kind": "Herd", "name": "north"}
        resources = [{"kind": kind, "name": "cni"} for kind in ("Secret", "ConfigMap")]
        selector = {"matchLabels": labels}
        for resource, spec in (
            (Cluster.RESOURCE, {"infrastructureRef": reference}),
            (ClusterResourceSet.RESOURCE, {"clusterSelector": selector, "resources": resources}),
        ):
            named = {"apiVersion": resource.api_version, "kind": resource.kind}
            metadata = {"name": "capybara", "namespace": "default", "labels": labels}
            await client.create(resource, {**named, "metadata": metadata, "spec": spec})
        yield here


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
async def test_only_secrets_and_config_maps_of_clusters_are_cached(program: Program) -> None:
    async with server() as here:
        far = Far(here)
        runtime = Runtime.on(far, clock=loop_clock())
        outside = Connections(
            lambda: HttpsTransport({}, None), in_memory=InMemoryClusters(clock=loop_clock())
        )
        services = program.add(runtime, controller_config({}), outside)
        async with run_services(runtime=runtime.run, **services):
            await asyncio.sleep(60)
        sensitive = {(kind, how) for kind, how in far.watched if kind in SENSITIVE}
        assert sensitive
        assert {how for _, how in sensitive} <= {Label.CLUSTER_NAME, "metadata"}
        if program.name == "capi-controller-manager":
            assert {(kind, "metadata") for kind in SENSITIVE} <= sensitive
