"""Load balancers whose addresses this machine has no route to."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from kapy.apps.transports import with_url_override
from kapy.client.kubeconfig import Kubeconfig
from kapy.containers import Container
from kapy.providers.docker.published import PublishedAddresses, is_near
from tests.providers.docker.setup import DEV, Setup, playing

PUBLISHED = "172.18.0.2", "127.0.0.1"


def balancer(port: str) -> Container:
    ports = {"6443/tcp": port} if port else {}
    return Container(id="1", name="blue-lb", image="i", state="running", ports=ports)


def test_a_published_port_is_used_instead_of_the_address() -> None:
    addresses = PublishedAddresses()
    assert addresses.learn(balancer("32768"), *PUBLISHED)
    assert not addresses.learn(balancer("32768"), *PUBLISHED)
    assert addresses.instead_of("https://172.18.0.2:6443") == "https://127.0.0.1:32768"
    assert addresses.learn(balancer("32770"), *PUBLISHED), "a new start takes another port"
    assert addresses.instead_of("https://172.18.0.2:6443/x") == "https://127.0.0.1:32770/x"
    assert addresses.instead_of("https://172.18.0.2:7000") == ""
    assert not addresses.learn(balancer(""), *PUBLISHED), "of one that is stopped, nothing is known"


def test_ipv6_addresses_are_replaced() -> None:
    addresses = PublishedAddresses()
    addresses.learn(balancer("32768"), "fd00::2", "::1")
    assert addresses.instead_of("https://[fd00::2]:6443") == "https://[::1]:32768"


def test_the_certificate_stays_that_of_the_address() -> None:
    addresses = PublishedAddresses()
    addresses.learn(balancer("32768"), *PUBLISHED)
    access = Kubeconfig("https://172.18.0.2:6443", token="t")
    kubeconfig = with_url_override(addresses.instead_of, access)
    assert (kubeconfig.server, kubeconfig.tls_server_name) == (
        "https://127.0.0.1:32768",
        "172.18.0.2",
    )
    assert kubeconfig.token == "t"
    named = replace(access, tls_server_name="other")
    assert with_url_override(addresses.instead_of, named).tls_server_name == "other"
    elsewhere = Kubeconfig("https://10.0.0.1:6443")
    assert with_url_override(addresses.instead_of, elsewhere) is elsewhere


@pytest.mark.parametrize(
    ("address", "near"),
    [("127.0.0.1", True), ("203.0.113.1", False), ("no address", False), ("::ffff:1", False)],
)
def test_addresses_of_local_networks_are_near(address: str, near: bool) -> None:
    assert is_near(address, ["127.0.0.0/8"]) is near


@pytest.mark.parametrize(("security", "published"), [((), False), (("name=rootless",), True)])
async def test_a_load_balancer_of_a_rootless_engine_is_reached_by_its_published_port(
    security: tuple[str, ...], published: bool
) -> None:
    async with playing(DEV) as setup:
        setup.engine.security = security
        await setup.cluster()
        document = await setup.bench.get(DEV.cluster, "blue")
        assert document is not None
        assert setup.host is not None
        instead_of = setup.host.published.instead_of
        url = f"https://{document['spec']['controlPlaneEndpoint']['host']}:6443"
        assert instead_of(url) == (published_at(setup) if published else "")
        setup.engine.halt("blue-lb")
        await asyncio.sleep(60)
        assert setup.engine.made["blue-lb"].record.is_running
        assert instead_of(url) == (published_at(setup) if published else "")


def published_at(setup: Setup) -> str:
    """The load balancer's port on the engine's machine, which is another after each start."""
    return f"https://127.0.0.1:{setup.engine.made['blue-lb'].record.ports['6443/tcp']}"
