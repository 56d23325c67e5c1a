"""Addresses of Pods that run as containers: known before they start, one for each, found again."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from kapy.kube import Document
from kapy.node_agent.containers.addresses import NAME, Addresses, NoAddress
from kapy.node_agent.containers.network import (
    MOST,
    fitting_subnets,
    host_networks,
    network_config,
)
from kapy.node_agent.runtime import StartFailed
from tests.node_agent.test_containers import IMAGE, Setup, pod

GATEWAY = "10.0.0.1"
SMALL = IPv4Network("10.0.0.0/29")
HEADER = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setup:
    monkeypatch.setattr("kapy.node_agent.containers.network.ROUTES", tmp_path / "routes")
    return Setup(tmp_path)


def other(uid: str) -> Document:
    document = pod()
    document["metadata"] |= {"uid": uid, "name": f"pod-{uid}"}
    return document


def test_each_pod_has_an_address_of_its_own_until_none_is_left(tmp_path: Path) -> None:
    addresses = Addresses(tmp_path)
    allots = [addresses.allot(f"u-{number}", SMALL, GATEWAY) for number in range(5)]
    assert allots == [f"10.0.0.{number}" for number in range(2, 7)]
    assert addresses.allot("u-3", SMALL, GATEWAY) == "10.0.0.5", "the same again"
    with pytest.raises(NoAddress, match=r"subnet 10\.0\.0\.0/29 .* delete Pods"):
        addresses.allot("u-9", SMALL, GATEWAY)
    addresses.free({"u-1", "u-unknown"})
    assert addresses.allot("u-9", SMALL, GATEWAY) == "10.0.0.3"


def test_an_address_that_is_free_again_is_not_the_next_one(tmp_path: Path) -> None:
    addresses = Addresses(tmp_path)
    assert addresses.allot("a", SMALL, GATEWAY) == "10.0.0.2"
    addresses.free({"a"})
    assert addresses.allot("b", SMALL, GATEWAY) == "10.0.0.3"


def test_addresses_are_found_again_and_change_with_the_subnet_only(tmp_path: Path) -> None:
    first = Addresses(tmp_path)
    messages = {uid: first.allot(uid, SMALL, GATEWAY) for uid in "abc"}
    again = Addresses(tmp_path)
    assert {uid: again.allot(uid, SMALL, GATEWAY) for uid in "cba"} == messages
    assert again.allot("a", IPv4Network("10.1.0.0/24"), "10.1.0.1") == "10.1.0.2"
    assert again.allot("b", SMALL, messages["b"]) != messages["b"], "the gateway is the plane's"


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"a": "x"}', '{"a": 1}', '{"a": "10.0.0.9", "b": "10.0.0.9"}', "{" * 9999],
)
def test_a_file_that_cannot_be_read_gives_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).write_text(content)
    assert Addresses(tmp_path).pods == set()


def test_addresses_of_pods_created_meanwhile_are_not_released(tmp_path: Path) -> None:
    addresses = Addresses(tmp_path)
    for uid in ("gone", "there", "new"):
        addresses.allot(uid, SMALL, GATEWAY)
    addresses.free_others({"gone", "there"}, {"there"})
    assert addresses.pods == {"there", "new"}


def routes(path: Path, *lines: str) -> None:
    (path / "routes").write_text(HEADER + "".join(f"{line}\n" for line in lines))


def test_networks_of_the_machine_are_read_from_its_routes(setup: Setup, tmp_path: Path) -> None:
    assert host_networks() == [], "a machine that tells none"
    routes(
        tmp_path,
        "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0",
        "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0",
        "tun0\t000010AC\t0100000A\t0003\t0\t0\t0\t0000F0FF\t0\t0\t0",
        "kapy\t000012AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0",
        "down\t0000A8C0\t00000000\t0000\t0\t0\t0\t0000FFFF\t0\t0\t0",
        "odd",
    )
    networks = [str(network) for network in host_networks(but="kapy")]
    assert networks == ["10.0.0.0/24", "172.16.0.0/12"]


def test_subnets_that_are_taken_are_left_out() -> None:
    wanted = IPv4Network("172.20.0.0/16")
    assert next(fitting_subnets(wanted, [], 1)) == wanted
    entries = [IPv4Network("172.16.0.0/12")]
    results = list(fitting_subnets(wanted, entries, 1))
    assert len(results) == len(set(results)) == MOST // 2
    assert all(item.is_private and item.prefixlen == 24 for item in results)
    assert list(fitting_subnets(wanted, [IPv4Network("0.0.0.0/1"), *entries], 1)) == []


@pytest.mark.parametrize("start", [0, 1, 4095, 65535, 40503, 123456789])
@pytest.mark.parametrize("half", ["10.0.0.0/9", "10.128.0.0/9"])
def test_a_free_half_of_a_range_is_found_from_any_start(start: int, half: str) -> None:
    entries = [IPv4Network("172.16.0.0/12"), IPv4Network(half)]
    assert len(list(fitting_subnets(entries[0], entries, start))) > 5


async def test_a_pod_has_its_address_before_its_first_container(setup: Setup) -> None:
    runtime = setup.runtime()
    config = await setup.config(runtime)
    assert not setup.engine.made
    assert config.address == "172.20.0.2"
    running = await runtime.start(config)
    assert running.address == setup.one.record.address()[0] == config.address
    assert setup.engine.diary[:2] == ["network None", "network 172.20.0.0/16"], (
        "the engine chooses, but gives fixed addresses in configured subnets only"
    )


async def test_a_plane_that_was_killed_gives_a_pod_the_same_address(setup: Setup) -> None:
    runtime = setup.runtime()
    await setup.config(runtime, other("u-0"))
    first = await runtime.start(await setup.config(runtime))
    again = setup.runtime()
    config = await setup.config(again)
    assert config.address == first.address == "172.20.0.3"
    running = await again.find(config)
    assert running is not None
    assert running.identity == first.identity


async def test_a_container_with_another_address_is_started_again(setup: Setup) -> None:
    runtime = setup.runtime()
    await setup.config(runtime, other("u-0"))
    await runtime.start(await setup.config(runtime))
    (setup.agent / NAME).unlink()
    again = setup.runtime()
    config = await setup.config(again)
    assert config.address == "172.20.0.2"
    assert await again.find(config) is None
    assert (await again.start(config)).address == "172.20.0.2"


async def test_an_address_is_free_when_the_containers_are_removed(setup: Setup) -> None:
    setup.engine.chosen = "172.20.0.0/30"  # the plane, and one Pod
    runtime = setup.runtime()
    await runtime.start(await setup.config(runtime))
    with pytest.raises(StartFailed, match="belong to Pods") as caught:
        await setup.config(runtime, other("u-2"))
    assert caught.value.reason == "NoAddress"
    setup.engine.down = True
    await runtime.forget(pod())
    setup.engine.down = False
    with pytest.raises(StartFailed, match="belong to Pods"):
        await setup.config(runtime, other("u-2"))
    await runtime._tidy({"u-2"})
    assert (await setup.config(runtime, other("u-2"))).address == "172.20.0.2"
    await runtime.forget(other("u-2"))
    assert (await setup.config(runtime)).address == "172.20.0.2"


async def test_an_address_in_use_is_awaited_and_reported(setup: Setup) -> None:
    runtime = setup.runtime()
    strange = await runtime.start(await setup.config(runtime, other("u-0")))
    (setup.agent / NAME).unlink()
    again = setup.runtime()
    config = await setup.config(again)
    assert config.address == strange.address
    with pytest.raises(StartFailed, match="docker network inspect") as caught:
        await again.start(config)
    assert caught.value.reason == "NoAddress"
    assert len(setup.engine.made) == 1, "nothing is left of the try"
    setup.engine.end(setup.one)
    assert (await again.start(config)).address == config.address


PODMAN_WORDS = {
    "CNI": 'plugin type="bridge" failed (add): failed to allocate for range 0: requested IP '
    "address 172.20.0.2 is not available in range set 172.20.0.1-172.20.255.254",
    "netavark": "IPAM error: requested ip address 172.20.0.2 is already allocated to container",
}


@pytest.mark.parametrize("words", PODMAN_WORDS.values(), ids=PODMAN_WORDS)
async def test_a_killed_container_of_podman_gives_up_its_address(setup: Setup, words: str) -> None:
    setup.engine.podman = words
    runtime, both = setup.runtime(), pod("first", "beside")
    for number in range(4):
        first = await runtime.start(await setup.config(runtime, both, restarts=number))
        beside = await setup.config(runtime, both, index=1, restarts=number)
        assert (await runtime.start(beside)).address == first.address == "172.20.0.2"
        for fake_container in setup.engine.running():
            setup.engine.end(fake_container, 137)
        assert await first.ended()


async def test_an_init_container_of_podman_gives_up_its_address(setup: Setup) -> None:
    setup.engine.podman = PODMAN_WORDS["CNI"]
    initial = {"name": "init", "image": IMAGE, "imagePullPolicy": "IfNotPresent"}
    runtime, document = setup.runtime(), pod(initContainers=[initial])
    config = await setup.config(runtime, document)
    await runtime.start(replace(config, container=initial))
    setup.engine.end(setup.one, 0)
    assert (await runtime.start(config)).address == "172.20.0.2"


async def test_the_subnet_is_one_that_neither_the_machine_nor_the_engine_has(
    setup: Setup, tmp_path: Path
) -> None:
    routes(tmp_path, "tun0\t000010AC\t0100000A\t0003\t0\t0\t0\t0000F0FF\t0\t0\t0")
    setup.engine.overlapping = ["10.0.0.0/9"]
    runtime = setup.runtime()
    config = await setup.config(runtime)
    (network,) = setup.engine.networks.values()
    subnet = IPv4Network(network.subnets[0])
    assert subnet.subnet_of(IPv4Network("10.128.0.0/9"))
    assert IPv4Network(f"{config.address}/32").subnet_of(subnet)


async def test_a_missing_free_subnet_is_reported_in_one_sentence(setup: Setup) -> None:
    setup.engine.overlapping = ["10.0.0.0/8", "172.16.0.0/12"]
    with pytest.raises(StartFailed, match="docker network prune"):
        await setup.config(setup.runtime())


async def test_the_network_of_an_earlier_release_is_made_anew(setup: Setup) -> None:
    runtime = setup.runtime()
    await runtime.start(await setup.config(runtime))
    name = runtime._network.name
    record = setup.one.record
    await setup.engine.remove(record.id)
    await setup.engine.remove_network(name)
    await setup.engine.create_network(name, network_config(setup.plane))
    wanted = {"Labels": dict(record.labels), "Image": "x", "HostConfig": {"NetworkMode": name}}
    await setup.engine.start(await setup.engine.create("before", wanted))
    config = await setup.config(setup.runtime())
    assert not setup.engine.made
    assert (await runtime.start(config)).address == config.address


async def test_a_pod_of_the_hosts_network_has_the_address_of_the_machine(setup: Setup) -> None:
    runtime = setup.runtime()
    document = pod(hostNetwork=True)
    await setup.config(runtime, document)
    assert runtime.address(document) == "127.0.0.1"
    assert not (setup.agent / NAME).exists()
