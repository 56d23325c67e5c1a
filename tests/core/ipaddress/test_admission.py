"""A story: an address must be from the pool that its claim asks."""

from __future__ import annotations

import asyncio

import pytest

from kapy._aio.clock import loop_clock
from kapy.api.ip_address import IPAddress, IPAddressClaim
from kapy.apiserver.server import Server
from kapy.apps.admission import AdmissionRules
from kapy.apps.conversion import convert_documents
from kapy.apps.definitions import install_definitions
from kapy.client.client import Client
from kapy.kube import Document
from kapy.kube.errors import Forbidden
from kapy.kube.http import ADMIN
from kapy.kube.names import NAMESPACES

pytestmark = pytest.mark.asyncio

POOL = {"apiGroup": "ipam.example.com", "kind": "Pool", "name": "ours"}


def named(name: str, **spec: object) -> Document:
    return {
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta2",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"poolRef": POOL, **spec},
    }


def address(name: str, claim: str, pool: str) -> Document:
    pools = {"poolRef": {**POOL, "name": pool}}
    spec = named(name, claimRef={"name": claim}, address="10.0.0.2", prefix=24, **pools)
    return {**spec, "kind": "IPAddress"}


async def test_an_address_must_fit_its_claim() -> None:
    rules = AdmissionRules()
    server = Server.open(None, clock=loop_clock(), admission=(rules,), convert=convert_documents)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        await asyncio.sleep(0)
        client = Client(server.transport(ADMIN))
        rules.enable_reads(client)
        await install_definitions(client)
        await _story(client)
        running.cancel()
    server.close()


async def _story(client: Client) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}
    await client.create(NAMESPACES, namespace)
    await client.create(IPAddressClaim.RESOURCE, {**named("one"), "kind": "IPAddressClaim"})
    await client.create(IPAddress.RESOURCE, address("early", "not-yet", "theirs"))
    await client.create(IPAddress.RESOURCE, address("good", "one", "ours"))
    with pytest.raises(Forbidden, match=r"spec\.poolRef: Invalid value"):
        await client.create(IPAddress.RESOURCE, address("bad", "one", "theirs"))
