"""A program that reads what only its own webhooks can convert gets going by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest

from kapy._aio.clock import system_clock
from kapy._aio.services import run_services
from kapy.apiserver.auth.authentication import Authenticator
from kapy.apiserver.server import Server
from kapy.apiserver.serving import Application, listen
from kapy.apps.components.serving import client_config
from kapy.apps.program.endpoints import Readiness
from kapy.apps.program.options import ProgramOptions
from kapy.apps.provider.definitions import crds_of
from kapy.apps.provider.program import StandaloneOptions, run_standalone
from kapy.client.client import Client
from kapy.client.kubeconfig import Kubeconfig
from kapy.kube import Document, Key
from kapy.kube.errors import ServerError
from kapy.kube.http import ADMIN
from kapy.kube.names import CRDS, NAMESPACES
from kapy.sdk import Runtime
from tests.apps.provider.test_versions import SHEET_MILL
from tests.real.servers import free_port
from tests.sdk.paper_rules import Pages, Sheet
from tests.waiting import until

NAMESPACE = "mill-system"
SERVICE = (NAMESPACE, "mill-webhook-service", 0)


def add_to(runtime: Runtime) -> None:
    runtime.cache.informer(Sheet.RESOURCE)


MILL = replace(SHEET_MILL, add_to=add_to)


@asynccontextmanager
async def ground(places: dict[tuple[str, str, int], str]) -> AsyncIterator[tuple[Client, str]]:
    """A server with an object in a version that is stored no more."""
    server = Server.open(None, clock=system_clock, services=places)
    async with AsyncExitStack() as stack:
        stack.callback(server.close)
        await stack.enter_async_context(run_services(server=server.run))
        application = Application(server, Authenticator({"root": ADMIN}))
        host, port = await stack.enter_async_context(listen(application))
        client = Client(server.transport(ADMIN))
        (crd,) = crds_of(MILL)
        await client.create(CRDS, storing(crd, "v1"))
        await client.create(
            Pages.RESOURCE,
            {
                "apiVersion": Pages.RESOURCE.api_version,
                "kind": "Sheet",
                "metadata": {"name": "one", "namespace": "default"},
                "spec": {"pages": 2, "colour": "white"},
            },
        )
        named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        await client.create(NAMESPACES, named)
        (crd,) = crds_of(MILL, client_config("mill", NAMESPACE))
        await client.patch(CRDS, Key.of(crd), {"spec": crd["spec"]})
        yield client, f"http://{host}:{port}"


def storing(crd: Document, version: str) -> Document:
    versions = [{**item, "storage": item["name"] == version} for item in crd["spec"]["versions"]]
    return {**crd, "spec": {**crd["spec"], "versions": versions}}


@pytest.mark.sockets
async def test_a_manager_converts_objects_before_its_cache_has_synced() -> None:
    places: dict[tuple[str, str, int], str] = {}
    port = free_port()
    options = ProgramOptions(
        health="0", diagnostics="0", webhook_port=port, webhook_namespace=NAMESPACE
    )
    async with ground(places) as (client, url):
        with pytest.raises(ServerError, match="conversion webhook"):
            await client.list(Sheet.RESOURCE)
        access = Kubeconfig(server=url, token="root", namespace="default")
        async with run_standalone(
            MILL, StandaloneOptions(access=access, options=options), system_clock
        ) as runtime:
            await until(lambda: Readiness(runtime, converts=True).missing == "")
            assert "sheets" in Readiness(runtime).missing
            assert not runtime.working.is_set()
            places[SERVICE] = f"https://127.0.0.1:{port}"  # as its Service has what is ready
            await until(runtime.working.is_set)
            (document,) = runtime.cache.informer(Sheet.RESOURCE).list()
            assert document["spec"]["sheets"] == 2
