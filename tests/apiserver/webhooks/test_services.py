"""Tests of the address to which a webhook's Service leads."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.apiserver.webhooks.client_config import ServiceResolver
from kapy.kube import Document
from tests.apiserver.requester import GIZMOS, Asking, gizmo
from tests.apiserver.webhooks.webhook_server import allow, bundle, configure, hook, plane, serving

pytestmark = pytest.mark.sockets

SERVICES = "/api/v1/namespaces/default/services"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def service(**spec: Any) -> Document:
    """The Service `s`."""
    spec = {"ports": [{"name": "web", "port": 443, "targetPort": "web"}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}


def endpoint_slice(port: int, *, ready: bool = True, name: str = "web") -> Document:
    """An EndpointSlice of the Service `s`, at 10.0.0.9."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "s-1", "labels": {"kubernetes.io/service-name": "s"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.9"], "conditions": {"ready": ready}}],
        "ports": [{"name": name, "port": port}],
    }


async def checked(me: Asking, port: int = 443) -> None:
    """Have the Service asked about Gizmos."""
    place = {"namespace": "default", "name": "s", "path": "/x", "port": port}
    client = {"service": place, "caBundle": bundle()}
    await configure(me, "validating", hook("a.hook.dev", client))


async def answer(me: Asking) -> tuple[int, str]:
    """Of a write that is asked about; the end of its message."""
    status, body = await me.ask("POST", GIZMOS, gizmo("one"))
    return status, body.get("message", "").rpartition('": ')[2]


def port_of(base: str) -> int:
    return int(base.rpartition(":")[2])


async def test_an_external_name_is_followed() -> None:
    async with serving("s.default.svc") as hooks, plane() as me:
        hooks.answers["/x"] = allow
        await me.create(SERVICES, service(type="ExternalName", externalName="localhost"))
        await checked(me, port_of(hooks.base))
        assert (await answer(me))[0] == 201
        assert len(hooks.asked("/x")) == 1


async def test_endpoint_slices_lead_to_a_port_by_its_name() -> None:
    async with plane() as me:
        two = [{"name": "other", "port": 80}, {"name": "web", "port": 443}]
        await me.create(SERVICES, service(ports=two, clusterIP="None"))
        document = endpoint_slice(9443)
        document["ports"].insert(0, {"name": "other", "port": 1})
        await me.create(SLICES, document)
        lookup = ServiceResolver(me.server.context.store)
        assert lookup.resolve("default", "s", 443) == "https://10.0.0.9:9443"
        assert lookup.resolve("default", "s", 80) == "https://10.0.0.9:1"


async def test_endpoints_resolve_to_a_port() -> None:
    async with plane() as me:
        await me.create(SERVICES, service())
        ports = [{"name": "web", "port": 9443}]
        endpoints = {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"name": "s"},
            "subsets": [{"addresses": [{"ip": "10.0.0.9"}], "ports": ports}],
        }
        await me.create(ENDPOINTS, endpoints)
        text = ServiceResolver(me.server.context.store).resolve("default", "s", 443)
        assert text == "https://10.0.0.9:9443"


@pytest.mark.parametrize(
    ("spec", "slices", "port", "message"),
    [
        (None, [], 443, 'service "s" not found'),
        ({}, [], 8443, 'no service port 8443 found for service "s"'),
        ({}, [], 443, 'no endpoints available for service "s"'),
        ({}, [endpoint_slice(1, ready=False)], 443, 'no endpoints available for service "s"'),
        ({}, [endpoint_slice(1, name="other")], 443, 'no endpoints available for service "s"'),
    ],
)
async def test_an_unresolvable_service_is_reported(
    spec: Document | None, slices: list[Document], port: int, message: str
) -> None:
    async with plane() as me:
        if spec is not None:
            await me.create(SERVICES, service(**spec))
        for document in slices:
            await me.create(SLICES, document)
        await checked(me, port)
        assert await answer(me) == (500, message)


async def test_configured_service_addresses_precede_stored_services() -> None:
    places: dict[tuple[str, str, int], str] = {}
    async with serving("s.default.svc") as hooks, plane(places) as me:
        places["default", "s", 443] = hooks.base
        hooks.answers["/x"] = allow
        await me.create(SERVICES, service())
        await checked(me)
        assert (await answer(me))[0] == 201
