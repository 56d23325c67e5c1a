"""Tests of the addresses at which a plane finds the Services of runtime extensions."""

from __future__ import annotations

import asyncio

from kapy.apiserver.webhooks.client_config import ServiceResolver
from kapy.apps.service_addresses import ServiceAddresses
from tests.apiserver.requester import running

TOLD = {("ns", "told", 0): "https://10.0.0.1:1", ("ns", "exact", 443): "https://10.0.0.2:2"}


async def test_configured_addresses_precede_stored_services() -> None:
    async with running(None) as asking:
        await asking.create("/api/v1/namespaces", {"metadata": {"name": "ns"}})
        for name in ("told", "own"):
            service = {"metadata": {"name": name}, "spec": {"ports": [{"port": 443}]}}
            await asking.create("/api/v1/namespaces/ns/services", service)
        endpoints = {
            "metadata": {"name": "own-1", "labels": {"kubernetes.io/service-name": "own"}},
            "addressType": "IPv4",
            "ports": [{"name": "", "port": 9443}],
            "endpoints": [{"addresses": ["10.0.0.3"]}],
        }
        slices = "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices"
        await asking.create(slices, endpoints)
        await asyncio.sleep(0)
        places = ServiceAddresses(TOLD)
        assert places(("ns", "own", 443)) is None, "there is no server yet"
        places.lookup = ServiceResolver(asking.server.store)
        addresses = [places(("ns", name, 443)) for name in ("told", "exact", "own", "none")]
    assert addresses == ["https://10.0.0.1:1", "https://10.0.0.2:2", "https://10.0.0.3:9443", None]
