"""Two planes claim from one pool of hosts: cut, slow and full ones, and such with wrong keys."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final

import asyncssh
import pytest
from kapy_hosts import PROVIDER, provider
from kapy_hosts.hosts import CHECK
from kapy_hosts.kinds import Host, HostMachine
from simulated_hosts.memory_hosts import MemoryDialer
from simulated_hosts.stories import Setup, cluster_documents, message

from kapy.api.machine import Machine
from kapy.containers import Engine
from kapy.kube import Document, Key
from kapy.sdk import Runtime
from kapy.testing import plane
from tests.real_clusters.engine import container_engine
from tests.real_clusters.host_containers import start_hosts, traces
from tests.real_clusters.host_setup import KEY, host_document, named, public_key
from tests.real_clusters.life import PATIENCE, eventually
from tests.real_clusters.parts import OLD, tell
from tests.real_clusters.unreliable_hosts import SCRIPTS, CutDialer, cut_dialer

pytestmark = pytest.mark.sockets

HOSTS: Final = tuple(f"pool-{number}" for number in range(1, 7))
SLOW, FULL, LOCKED, STRANGE = HOSTS[2:]
BOOTS: Final = "/root/boots"
"""The file of a host to which each machine adds a line at the begin and the end of its commands."""
BOOT_DATA: Final = f"""## template: jinja
#cloud-config
write_files:
- path: /etc/kapy-test/machine
  content: a machine
runcmd:
- echo begin {{{{ ds.meta_data.instance_id }}}} >> {BOOTS}
- sleep 2
- echo end {{{{ ds.meta_data.instance_id }}}} >> {BOOTS}
""".encode()
_COUNTER: Final = count()
_FILL: Final = """
mkdir -p /var/lib/kapy-hosts
mount -t tmpfs -o size=24k tmpfs /var/lib/kapy-hosts
"""
"""A claim has room there, and boot data have none."""


async def test_two_planes_share_a_pool_of_unreliable_hosts(tmp_path: Path) -> None:
    async with container_engine(tmp_path) as engine:
        addresses = await start_hosts(engine, HOSTS, public_key())
        await _run(engine, FULL, _FILL)
        async with (
            _plane(addresses, Random(7)) as (blue, of_blue),
            _plane(addresses, Random(8)) as (green, of_green),
        ):
            planes = {"a": blue, "b": blue, "c": green, "d": green}
            for name, setup in planes.items():
                await setup.add_machine(name)
            late = await _last_of(planes)
            await _is_refused(planes[late], late)
            await _run(engine, FULL, "mount -o remount,size=1m /var/lib/kapy-hosts")
            machine = await planes[late].provisioned(late, within=PATIENCE)
            assert machine.status.host == FULL
            tell(f"{late} has the host whose disk was full")
            other = next(name for name, setup in planes.items() if setup is not planes[late])
            machines = [await setup.provisioned(name) for name, setup in planes.items()]
            machines.append(await _hand_over(planes.pop(other), other, planes[late], "e"))
            planes["e"] = planes[late]
            assert {machine.status.host for machine in machines} == set(HOSTS[:4])
            await _each_has_booted_once(engine, machines)
            for name, setup in planes.items():
                await setup.plane.client.delete(Machine, Key("default", name))
            for host in HOSTS[:4]:
                for setup in (blue, green):
                    await _is_free(setup, host)
                assert await traces(engine, host) == ""
                assert await _run(engine, host, "ls /etc/kapy-test 2>/dev/null; true") == ""
            for dialer in (of_blue, of_green):
                assert {name for _, name in dialer.cuts} == set(SCRIPTS)


@asynccontextmanager
async def _plane(
    addresses: Mapping[str, str], random: Random
) -> AsyncIterator[tuple[Setup, CutDialer]]:
    """A plane with all hosts, whose connections are cut. It has a wrong key for one, and trusts
    the wrong key of another one."""
    async with cut_dialer(addresses, random, {SLOW: 0.3}) as (dialer, ports):

        def add_to(runtime: Runtime) -> Any:
            return provider.add_to(runtime, dialer)

        async with plane(providers=[replace(PROVIDER, add_to=add_to)]) as running:
            other = asyncssh.generate_private_key("ssh-ed25519")
            await running.apply(
                [*cluster_documents(), _secret("key", KEY), _secret("other-key", other)]
            )
            for name, port in ports.items():
                access = {"privateKeySecretRef": {"name": "key"}, "port": port}
                if name == LOCKED:
                    access["privateKeySecretRef"] = {"name": "other-key"}
                if name == STRANGE:
                    access["hostKey"] = " ".join(other.export_public_key().decode().split()[:2])
                await running.apply([host_document(name, "127.0.0.1", access)])
            for name, reason in ((LOCKED, "LoginRefused"), (STRANGE, "HostKeyChanged")):
                await running.until(Host, name, _is_unreachable(reason), within=PATIENCE)
            yield Setup(running, MemoryDialer(), OLD.version, BOOT_DATA), dialer
        tell(f"cuts: {sorted(dialer.cuts.items())}")


def _is_unreachable(reason: str) -> Callable[[Host], bool]:
    return lambda host: message(host, "Reachable").startswith(reason)


def _secret(name: str, key: asyncssh.SSHKey) -> Document:
    data = {"ssh-privatekey": b64encode(key.export_private_key()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": named(name), "data": data}


async def _last_of(planes: Mapping[str, Setup]) -> str:
    """Wait until all machines but one are provisioned; return the name of the other."""

    async def look() -> str | None:
        machines = {
            name: await setup.plane.get(HostMachine, name) for name, setup in planes.items()
        }
        waiting = [
            name
            for name, machine in machines.items()
            if machine is None or not machine.status.initialization.provisioned
        ]
        return waiting[0] if len(waiting) == 1 else None

    last = await eventually(look, lambda: "no three machines are provisioned")
    tell(f"all but {last} are provisioned")
    return last


async def _is_refused(setup: Setup, name: str) -> None:
    """A machine waits, and its condition has the reason for each host."""
    reasons = (
        f"{FULL}: the script boot ended with",
        "No space left on device",
        "accepts no key of its Secret",
        "is not the host that is trusted",
        "is held by default/",
    )

    def holds(machine: HostMachine) -> bool:
        text = message(machine, "HostClaimed")
        return text.startswith("NoHost") and all(reason in text for reason in reasons)

    await setup.plane.until(HostMachine, name, holds, within=PATIENCE)


async def _hand_over(giver: Setup, name: str, taker: Setup, new: str) -> HostMachine:
    """A machine of one plane is deleted, and its host gets one of the other plane."""
    machine = await giver.provisioned(name)
    host = machine.status.host
    assert host is not None
    await taker.add_machine(new)
    await taker.plane.until(
        HostMachine,
        new,
        lambda claimant: "NoHost" in message(claimant, "HostClaimed"),
        within=PATIENCE,
    )
    await giver.plane.client.delete(Machine, Key("default", name))
    await _is_free(giver, host)
    await _is_free(taker, host, or_claimed=True)
    machine = await taker.provisioned(new, within=PATIENCE)
    assert machine.status.host == host
    tell(f"{host} went from one plane to the other")
    return machine


async def _is_free(setup: Setup, host: str, *, or_claimed: bool = False) -> None:
    """Wait until a host is free on a plane. It is looked at again: nobody tells of other planes."""
    states = {"Free", "Claimed"} if or_claimed else {"Free"}

    async def look() -> Host | None:
        current = await setup.plane.get(Host, host)
        if current is not None and current.status.state in states:
            return current
        annotations = {CHECK: str(next(_COUNTER))}
        await setup.plane.merge(Host, host, {"metadata": {"annotations": annotations}})
        await asyncio.sleep(5)
        return None

    await eventually(look, lambda: f"{host} does not become free")


async def _each_has_booted_once(engine: Engine, machines: Iterable[HostMachine]) -> None:
    """The commands of each machine ran on its host, once and as a whole, and nowhere else."""
    lines = {host: (await _run(engine, host, f"cat {BOOTS} || true")).split("\n") for host in HOSTS}
    booted: dict[str, list[str]] = {}
    for host, output in lines.items():
        begun = [line.removeprefix("begin ") for line in output if line.startswith("begin ")]
        ended = [line.removeprefix("end ") for line in output if line.startswith("end ")]
        assert begun == ended, lines
        for uid in begun:
            booted.setdefault(uid, []).append(host)
    assert booted == {machine.metadata.uid: [machine.status.host] for machine in machines}, lines


async def _run(engine: Engine, host: str, command: str) -> str:
    done = await engine.run(host, ["/bin/sh", "-c", command])
    assert not done.exit_code, done
    return done.stdout.strip()
