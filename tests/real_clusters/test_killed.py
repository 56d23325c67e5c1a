"""`kill -9` of a plane, or of its managers, while they create, scale and delete a real cluster.

The moments are random, with a seed; KAPY_REAL_KILLS says how many there are in each phase (one,
unless said otherwise), KAPY_REAL_SEED which.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import pytest

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.names import ConditionType
from kapy.client import kubeconfig_files
from kapy.client.client import Client
from kapy.client.https import ApiTransport
from kapy.client.kinds import Kinds
from kapy.client.kubeconfig import KubeconfigError
from kapy.clusterctl.machine_targets import machine_target
from kapy.conditions import is_true
from kapy.containers import Engine
from kapy.kube import Key
from kapy.kube.errors import ApiError, Unreachable
from kapy.kube.names import CONFIG_MAPS
from kapy.kube.yaml import load_all
from kapy.providers.docker.boot_log import PATH
from kapy.providers.docker.console import ContainerConsole
from kapy.providers.docker.containers import CLUSTER_LABEL, load_balancer_container
from kapy.sdk.console import CommandStreams, LogRequest, MachineTarget
from tests.real_clusters.engine import container_engine
from tests.real_clusters.growing import manifest, network
from tests.real_clusters.images import BALANCER
from tests.real_clusters.parts import OLD, tell

pytestmark = pytest.mark.sockets
CLUSTER: Final = Key("default", "real")
WORKERS: Final = Key("default", "workers")
KILLS: Final = int(os.environ.get("KAPY_REAL_KILLS") or 1)
SEED: Final = int(os.environ.get("KAPY_REAL_SEED") or 21)
PATIENCE: Final = 900.0
LOOK: Final = 0.5
MANAGERS: Final = ("core", "bootstrap-kubeadm", "control-plane-kubeadm", "infrastructure-dev")
OTHER: Final = "somebody-elses"
"""A container that has nothing to do with clusters."""


class Program:
    """A command that is killed and started again."""

    def __init__(self, *command: str, folder: Path, engine: Engine) -> None:
        self.name = " ".join(command[:2])
        self._command = command
        self._folder = folder
        self._engine = engine
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start the command again, with what is on disk."""
        with (self._folder / "log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "kapy.cli.main", *self._command),
                env={
                    **os.environ,
                    "DOCKER_HOST": self._engine.address,
                    "HOME": str(self._folder),
                },
                stdout=log,
                stderr=log,
            )

    async def kill(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            await self._process.wait()


class Killed:
    """A plane, and managers of which each has a process: one of them is killed now and then.

    managers: names of those with a process of their own. Without any, the plane is killed.
    """

    def __init__(self, folder: Path, engine: Engine, managers: Sequence[str] = ()) -> None:
        self._folder = folder
        self._engine = engine
        self.port = 7443  # of the network namespace of the test
        self.seen: Counter[str] = Counter()
        kubeconfig = str(folder / "kubeconfig")
        program = partial(Program, folder=folder, engine=engine)
        without = [word for name in managers for word in ("--without", name)]
        data = ("--data-dir", str(folder / "plane"), "--port", str(self.port))
        self._plane = program("up", *data, "--kubeconfig", kubeconfig, *without)
        options = ("--kubeconfig", kubeconfig, "--health-addr", "0", "--diagnostics-address", "0")
        commands = [("manager", name, *options) for name in managers]
        self._managers = [program(*command) for command in commands]

    async def start(self) -> None:
        """Start the plane, then the managers."""
        await self._plane.start()
        if self._managers:
            await self.until(_is_up)
        for manager in self._managers:
            await manager.start()

    async def end(self) -> None:
        """Kill them all."""
        for program in (*self._managers, self._plane):
            await program.kill()

    async def kill_one(self, random: Random) -> str:
        """Kill a process and start it again; its name."""
        victim = random.choice(self._managers or [self._plane])
        await victim.kill()
        await victim.start()
        return victim.name

    async def ask(self, question: Callable[[Client], Awaitable[object]]) -> object:
        """An answer of the plane; None where it does not run just now."""
        transport = None
        try:
            access = kubeconfig_files.load([self._folder / "kubeconfig"], "")
            transport = ApiTransport(access)
            return await question(Client(transport, field_manager="test"))
        except (ApiError, KubeconfigError, Unreachable):
            return None
        finally:
            if transport is not None:
                await transport.aclose()

    async def until(self, holds: Callable[[Client], Awaitable[object]]) -> None:
        """Wait for a state of the plane, and look at the containers meanwhile."""
        async with asyncio.timeout(PATIENCE):
            while not await self.ask(holds):
                await self.check_containers()
                await asyncio.sleep(LOOK)

    async def check_containers(self) -> None:
        """Each Machine has one container at most: none has another name than a Machine's."""
        machines = await self.ask(_machines)
        names = [container.name for container in await self._engine.containers({CLUSTER_LABEL: ""})]
        assert len(names) == len(set(names))
        if isinstance(machines, set):
            own = {_container(machine) for machine in machines} | {load_balancer_container("real")}
            for name in {*names} - own:
                self.seen[name] += 1  # a Machine that came or went between both answers
                assert self.seen[name] < 60, f"container {name} has no Machine"


async def look_into(engine: Engine, targets: Sequence[MachineTarget]) -> None:
    """Logs of the machines, and commands in them, beside the plane's process."""
    assert len(targets) == 3
    async with ContainerConsole(lambda: Engine(engine.address)) as console:
        for target in targets:
            for source in console.sources:
                wanted = LogRequest(source=source, tail=200)
                log = b"".join([data async for data in console.logs(target, wanted)])
                assert len(log.splitlines()) > 5, f"{target.name}: {source} is {log!r}"
            wanted = LogRequest(source="kubelet", follow=True, tail=1)
            assert await anext(console.logs(target, wanted))
            out = bytearray()
            command = ["sh", "-c", "cat; pgrep -c journalctl; exit 7"]
            streams = CommandStreams(output=out.extend, errors=out.extend, input=_typed())
            assert await console.execute(target, command, streams) == 7
            assert bytes(out).startswith(b"typed\n")


async def _typed() -> AsyncGenerator[bytes, None]:
    yield b"typed\n"


async def _targets(client: Client) -> list[MachineTarget]:
    names = sorted(await _machines(client))
    return [await machine_target(client, Key("default", name)) for name in names]


async def _machines(client: Client) -> set[str]:
    resource = await client.list(Machine.RESOURCE, "default")
    return {str(document["metadata"]["name"]) for document in resource.items}


def _container(machine: str) -> str:
    return machine if machine.startswith("real") else f"real-{machine}"


@asynccontextmanager
async def killing(plane: Killed, random: Random, longest: float) -> AsyncIterator[None]:
    """Kill a process at random moments while the context is open, and start it again."""

    async def kill() -> None:
        for _ in range(KILLS):
            moment = random.uniform(0.5, longest)
            await asyncio.sleep(moment)
            name = await plane.kill_one(random)
            tell(f"killed {name} after {moment:.1f} s")

    async with asyncio.TaskGroup() as group:
        killer = group.create_task(kill())
        yield
        await killer


@pytest.mark.parametrize("managers", [(), MANAGERS], ids=["the plane", "a manager"])
async def test_a_killed_manager_leaves_no_remnants_or_duplicates(
    managers: Sequence[str], tmp_path: Path
) -> None:
    random = Random(SEED)
    async with container_engine(tmp_path) as engine:
        await engine.create(OTHER, {"Image": BALANCER, "Cmd": ["true"]})
        plane = Killed(tmp_path, engine, managers)
        try:
            await plane.start()
            await _live(plane, engine, random)
        finally:
            await plane.end()


async def _live(plane: Killed, engine: Engine, random: Random) -> None:
    await plane.until(_create)
    async with killing(plane, random, 45.0):
        await plane.until(_is_available)
    await plane.until(_is_available)  # the last kill may have come after it
    tell("created")
    async with killing(plane, random, 20.0):
        await plane.until(_scale)
        await plane.until(_is_scaled)
    await plane.until(_is_scaled)
    tell("scaled")
    for container in await engine.containers({CLUSTER_LABEL: "real"}):
        if container.name != load_balancer_container("real"):
            log = (await engine.read_file(container.name, PATH)).decode()
            assert (
                log.count("Kubernetes control-plane has initialized successfully!")
                + log.count("This node has joined the cluster")
                == 1
            ), log
    machine_targets: list[MachineTarget] = []

    async def targets(client: Client) -> bool:
        machine_targets[:] = await _targets(client)
        return True

    await plane.until(targets)
    await look_into(engine, machine_targets)
    tell("looked into")
    async with killing(plane, random, 6.0):
        await plane.until(_delete)
        await plane.until(_is_gone)
    await plane.until(_is_gone)
    tell("deleted")
    assert [item.name for item in await engine.containers()] == [OTHER]


async def _is_up(client: Client) -> bool:
    await client.list(Cluster.RESOURCE, "default")
    return True


async def _create(client: Client) -> bool:
    """Asked again until all are there."""
    kinds = Kinds(client)
    for document in (network(), *load_all(manifest(OLD))):
        await client.apply(await kinds.of(document), document)
    return bool(await client.get(CONFIG_MAPS, Key("default", "network")))


async def _is_available(client: Client) -> bool:
    cluster = await client.get(Cluster, CLUSTER)
    return is_true(cluster.status.conditions, ConditionType.AVAILABLE)


async def _scale(client: Client) -> bool:
    await client.patch(MachineDeployment.RESOURCE, WORKERS, {"spec": {"replicas": 2}})
    return True


async def _is_scaled(client: Client) -> bool:
    machine_deployment = await client.get(MachineDeployment, WORKERS)
    return machine_deployment.status.replicas == machine_deployment.status.available_replicas == 2


async def _delete(client: Client) -> bool:
    await client.delete(Cluster.RESOURCE, CLUSTER)
    return True


async def _is_gone(client: Client) -> bool:
    clusters = await client.list(Cluster.RESOURCE, "default")
    return not clusters.items and not await _machines(client)
