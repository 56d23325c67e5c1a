"""A host is used by one machine, whatever is lost, and whoever claims it."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from random import Random

import pytest
from kapy_hosts.kinds import Host, HostMachine
from kapy_hosts.shell import HostFailure
from simulated_hosts.memory_hosts import MemoryDialer
from simulated_hosts.stories import message, setup

from kapy.api.machine import Machine
from kapy.client import Key
from kapy.testing import on_virtual_time


def is_free(host: Host) -> bool:
    return host.spec.claim is None and host.status.state == "Free"


@on_virtual_time
async def test_a_machine_gets_a_host_and_gives_it_back() -> None:
    async with setup() as blue:
        host = await blue.add_host("one", failureDomain="rack-1")
        await blue.add_machine("worker")
        machine = await blue.provisioned("worker")
        assert machine.status.host == "one"
        assert machine.status.failure_domain == "rack-1"
        assert machine.spec.provider_id == f"hosts://{machine.metadata.uid}"
        assert host.claim.split()[0] == machine.metadata.uid
        assert host.boots == [machine.metadata.uid]
        claimed = await blue.state("one", "Claimed")
        assert claimed.spec.claim is not None
        assert (claimed.spec.claim.name, claimed.spec.claim.cluster) == ("worker", "blue")
        assert claimed.spec.host_key == host.host_key
        await blue.plane.client.delete(Machine, Key("default", "worker"))
        free = await blue.state("one", "Free")
        assert (free.spec.claim, free.metadata.finalizers, host.claim) == (None, [], "")
        assert await blue.plane.get(HostMachine, "worker") is None


@pytest.mark.parametrize("seed", range(4))
@on_virtual_time
async def test_connections_lost_at_any_command_cause_no_second_claim(seed: int) -> None:
    random = Random(seed)
    async with setup() as blue:
        for name in ("one", "two", "three"):
            host = await blue.add_host(name)
            host.cut = lambda number: random.choice(["before", "after", *[""] * 8])
        for name in ("a", "b"):
            await blue.add_machine(name)
        machines = [await blue.provisioned(name, within=36000) for name in ("a", "b")]
        booted = [uid for host in blue.hosts.values() for uid in {host.booted} if uid]
        assert sorted(booted) == sorted(machine.metadata.uid for machine in machines)
        for name in ("a", "b"):
            await blue.plane.client.delete(Machine, Key("default", name))
        for name, host in blue.hosts.items():
            await blue.plane.until(Host, name, is_free, within=36000)
            assert host.claim == ""
            assert all("clean" in pair for pair in pairwise(host.boots)), host.boots


@on_virtual_time
async def test_two_planes_share_no_host() -> None:
    dialer = MemoryDialer()
    async with setup(dialer) as blue, setup(dialer) as green:
        for name in ("one", "two"):
            await blue.add_host(name)
            await green.add_host(name)
        await blue.add_machine("of-blue")
        await green.add_machine("of-green")
        first = await blue.provisioned("of-blue")
        second = await green.provisioned("of-green")
        assert {first.status.host, second.status.host} == {"one", "two"}
        assert len([host for host in blue.hosts.values() if host.booted]) == 2
        await green.add_machine("late")
        waiting = await green.plane.until(
            HostMachine, "late", lambda machine: "NoHost" in message(machine, "HostClaimed"), within=900
        )
        assert "is held by default/of-blue" in message(waiting, "HostClaimed")


@on_virtual_time
async def test_a_host_that_is_free_only_in_a_restored_plane_is_not_claimed() -> None:
    async with setup() as blue:
        host = await blue.add_host("one")
        host.claim, host.booted = "a-later-claim plane default/later", "a-later-claim"
        held = await blue.state("one", "Held")
        assert "kapy hosts release one --force" in message(held, "Available")
        await blue.add_machine("worker")
        waiting = await blue.plane.until(
            HostMachine, "worker", lambda machine: "NoHost" in message(machine, "HostClaimed")
        )
        assert "held by default/later" in message(waiting, "HostClaimed")
        assert host.booted == "a-later-claim"


@on_virtual_time
async def test_hosts_that_fail_checks_are_passed_over_with_the_reason() -> None:
    async with setup() as blue:
        (await blue.add_host("a-full")).facts["writable"] = ""
        (await blue.add_host("b-swap")).facts["swap"] = "/dev/sda2"
        (await blue.add_host("c-old")).facts["kubeadm"] = "v1.33.0"
        (await blue.add_host("d-small")).facts["memory"] = "100"
        await blue.add_host("e-elsewhere", failureDomain="rack-2")
        await blue.add_machine("worker", hostSelector={"matchLabels": {"disk": "ssd"}})
        waiting = await blue.plane.until(
            HostMachine, "worker", lambda machine: "NoHost" in message(machine, "HostClaimed")
        )
        assert "a-full: has other labels" in message(waiting, "HostClaimed")
        await blue.add_machine("other")
        other = await blue.provisioned("other")
        assert other.status.host == "e-elsewhere"
        full = await blue.state("a-full", "Unsuitable")
        assert "disk: /var/lib/kapy-hosts cannot be written" in message(full, "Available")
        swap = await blue.state("b-swap", "Unsuitable")
        assert "swap is on: /dev/sda2" in message(swap, "Suitable")
        assert [host.claim for name, host in blue.hosts.items() if name != "e-elsewhere"] == [""] * 4


@on_virtual_time
async def test_a_changed_host_key_is_reported_and_trusted_again_by_the_user() -> None:
    async with setup() as blue:
        host = await blue.add_host("one")
        await blue.state("one", "Free")
        host.host_key = "ssh-ed25519 AAAAother"
        await blue.plane.merge(Host, "one", {"spec": {"port": 2222}})
        changed = await blue.state("one", "Unreachable")
        assert message(changed, "HostKeyTrusted").startswith("HostKeyChanged: ")
        await blue.plane.merge(Host, "one", {"spec": {"hostKey": ""}})
        trusted = await blue.state("one", "Free")
        assert trusted.spec.host_key == host.host_key


@on_virtual_time
async def test_a_host_that_cannot_be_cleaned_is_quarantined_and_its_machine_is_deleted() -> None:
    async with setup() as blue:
        host = await blue.add_host("one")
        await blue.add_machine("worker")
        await blue.provisioned("worker")
        host.left = ["process kubelet", "file /var/lib/etcd/member"]
        await blue.plane.client.delete(Machine, Key("default", "worker"))
        bad = await blue.state("one", "Quarantined")
        assert "left: process kubelet, file /var/lib/etcd/member" in message(bad, "Clean")
        await blue.plane.until(Host, "one", lambda current: current.spec.claim and current.spec.claim.released)
        await blue.add_machine("next")
        waiting = await blue.plane.until(
            HostMachine, "next", lambda machine: "NoHost" in message(machine, "HostClaimed")
        )
        assert "one: is in use by worker" in message(waiting, "HostClaimed")
        assert await blue.plane.get(HostMachine, "worker") is None
        host.left = []
        assert (await blue.provisioned("next")).status.host == "one"


@on_virtual_time
async def test_a_machine_of_a_silent_host_is_deleted_and_the_host_is_cleaned_later() -> None:
    async with setup() as blue:
        host = await blue.add_host("one")
        await blue.add_machine("worker")
        await blue.provisioned("worker")
        host.failure = HostFailure("NoAnswer", "it did not answer within 15 s")
        machine = await blue.plane.until(
            HostMachine, "worker", lambda current: message(current, "HostReachable").startswith("NoAnswer")
        )
        assert machine.status.initialization.provisioned
        await blue.plane.client.delete(Machine, Key("default", "worker"))
        silent = await blue.state("one", "Quarantined")
        assert message(silent, "Clean").startswith("NoAnswer: it could not be cleaned")
        host.failure = None
        await blue.state("one", "Free")
        assert host.claim == host.booted == ""


@on_virtual_time
async def test_restarts_and_changed_addresses_have_their_conditions() -> None:
    async with setup() as blue:
        host = await blue.add_host("one")
        await blue.add_machine("worker")
        await blue.provisioned("worker")
        host.facts["boot_id"] = "boot-2"
        host.address = "10.9.9.9"
        changed = await blue.plane.until(
            Host, "one", lambda current: message(current, "NotRebooted").startswith("Rebooted")
        )
        assert "restarted" in message(changed, "NotRebooted")


@on_virtual_time
async def test_a_failed_boot_says_which_step_and_its_last_lines() -> None:
    async with setup() as blue:
        host = await blue.add_host("one")
        host.outcome = "failed 00000 1\ntimed out waiting, token abcdef.0123456789abcdef"
        await blue.add_machine("worker")
        failed = await blue.plane.until(
            HostMachine, "worker", lambda machine: message(machine, "BootCompleted").startswith("Failed")
        )
        said = message(failed, "BootCompleted")
        assert said == "Failed: runcmd[0] failed (1): timed out waiting, token …"


@on_virtual_time
async def test_a_slow_host_delays_no_other_host() -> None:
    async with setup() as blue:
        slow = await blue.add_host("a-slow")
        slow.delay = 40.0
        await blue.add_host("b-quick")
        await blue.add_machine("worker")
        assert (await blue.provisioned("worker", within=20)).status.host == "b-quick"
        silent = await blue.state("a-slow", "Unreachable", within=60)
        assert message(silent, "Reachable") == "NoAnswer: it did not end a command within 30 s"
        slow.delay = 20.0
        await blue.add_machine("patient")
        assert (await blue.provisioned("patient")).status.host == "a-slow"
        assert len(slow.boots) == 1


@pytest.mark.parametrize("script", ["progress", "claim", "facts", "boot"])
@on_virtual_time
async def test_a_machine_boots_on_one_host_only_despite_a_lost_response(script: str) -> None:
    """A host that is silent before the boot can begin is left; afterwards it may run the machine."""
    async with setup() as blue:
        first = await blue.add_host("a-first")
        await blue.state("a-first", "Free")
        second = await blue.add_host("b-second")
        await blue.state("b-second", "Free")
        first.lost = (script,)
        await blue.add_machine("worker")
        if script == "boot":
            unreachable = await blue.plane.until(
                HostMachine, "worker", lambda current: message(current, "HostReachable").startswith("NoAnswer")
            )
            assert unreachable.status.host == "a-first"
            await asyncio.sleep(3600)
            first.failure = None
        machine = await blue.provisioned("worker")
        assert machine.status.host == ("a-first" if script == "boot" else "b-second")
        assert [*first.boots, *second.boots] == [machine.metadata.uid]


@pytest.mark.parametrize("step", ["claim", "boot"])
@on_virtual_time
async def test_a_host_whose_disk_fills_up_after_the_checks_is_passed_over(step: str) -> None:
    async with setup() as blue:
        full = await blue.add_host("a-full")
        full.full = (step,)
        await blue.state("a-full", "Free")
        await blue.add_machine("worker")
        waiting = await blue.plane.until(
            HostMachine, "worker", lambda machine: "NoHost" in message(machine, "HostClaimed")
        )
        assert f"a-full: the script {step} ended with 1: No space left" in message(waiting, "HostClaimed")
        await blue.add_host("b-roomy")
        assert (await blue.provisioned("worker")).status.host == "b-roomy"
        free = await blue.state("a-full", "Free")
        assert (free.spec.claim, full.claim, full.boots) == (None, "", [])


@on_virtual_time
async def test_a_host_that_refuses_the_key_is_not_used_until_it_has_the_right_one() -> None:
    async with setup() as blue:
        host = await blue.add_host("one")
        host.failure = HostFailure("LoginRefused", "it does not accept the private key")
        refused = await blue.state("one", "Unreachable")
        assert message(refused, "Available") == "LoginRefused: it does not accept the private key"
        await blue.add_machine("worker")
        waiting = await blue.plane.until(
            HostMachine, "worker", lambda machine: "NoHost" in message(machine, "HostClaimed")
        )
        assert "one: it does not accept the private key" in message(waiting, "HostClaimed")
        assert host.commands == 0
        host.failure = None
        assert (await blue.provisioned("worker")).status.host == "one"
