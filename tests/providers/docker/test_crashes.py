"""A program that is killed at any request to the engine, or whose requests or answers get lost.

A whole life (a creation, a scale-out, a deletion) is lived with one fault in it: at each request in
turn, before, while and after the engine carries it out. Each machine has one container at a time,
kubeadm runs once in it, the end is the same as without a fault, nothing is left, and what others
made is as it was. A few of the faults are tried in each run, all of them with KAPY_ALL_CRASHES.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final, Literal

import pytest

from kapy.containers import EngineUnreachable
from kapy.engine.runtime import Runtime
from kapy.providers.docker.containers import CLUSTER_LABEL, NAMESPACE_LABEL, ROLE_LABEL
from kapy.testing.provider_bench import key
from kapy.testing.simulation.fake_engine import FakeContainer, FakeEngine
from tests.providers.docker.setup import DEV, Setup, controllers, is_provisioned, playing, status

Fault = Literal["killed before", "killed meanwhile", "killed after", "not sent", "not answered"]
FAULTS: Final[tuple[Fault, ...]] = (
    "killed before",
    "killed meanwhile",
    "killed after",
    "not sent",
    "not answered",
)
REQUESTS: Final = 140
"""More requests than the life without a fault has; a test holds it."""
SOME: Final = 15
MEANWHILE: Final = 1.0
"""Seconds after which a program is killed that waits for an answer."""
_ALL: Final = [(fault, number) for fault in FAULTS for number in range(1, REQUESTS + 1)]
CHOSEN: Final = _ALL if os.environ.get("KAPY_ALL_CRASHES") else Random(21).sample(_ALL, SOME)
OTHERS: Final = {
    "no-cluster": {},
    "blue-other": {CLUSTER_LABEL: "blue", NAMESPACE_LABEL: "elsewhere", ROLE_LABEL: "worker"},
    "other-lb": {CLUSTER_LABEL: "other", ROLE_LABEL: "external-load-balancer"},
}
"""Containers that somebody else has made, and their labels."""


class Faulty(FakeEngine):
    """An engine to which one request goes wrong. fatal: its number."""

    def __init__(self, fault: Fault = "not sent", fatal: int = 0) -> None:
        super().__init__()
        self.killed = asyncio.Event()
        self.requests = 0
        self._fault = fault
        self._fatal = fatal

    async def request(self, carried_out: Callable[[], Awaitable[Any]]) -> Any:
        """One request and its answer."""
        self.requests += 1
        if self.requests != self._fatal:
            return await carried_out()
        if self._fault == "not sent":
            raise EngineUnreachable("no container engine answers")
        if self._fault == "killed before":
            await self._die()
        if self._fault == "killed meanwhile":
            try:
                async with asyncio.timeout(MEANWHILE):
                    await carried_out()
            except TimeoutError:
                pass  # the engine goes on with it
            await self._die()
        answer = await carried_out()
        if self._fault == "not answered":
            raise EngineUnreachable("the connection was lost")
        await self._die()
        return answer

    async def _die(self) -> None:
        self.killed.set()
        await asyncio.get_running_loop().create_future()


def _faulty(name: str) -> Callable[..., Awaitable[Any]]:
    inner = getattr(FakeEngine, name)

    async def call(self: Faulty, *arguments: Any, **more: Any) -> Any:
        return await self.request(partial(inner, self, *arguments, **more))

    return call


for _name in (
    *("info", "containers", "container", "create", "start", "kill", "remove", "put_files", "run"),
    *("has_image", "pull", "network", "create_network", "remove_network"),
):
    setattr(Faulty, _name, _faulty(_name))


@asynccontextmanager
async def killed_once(setup: Setup) -> AsyncIterator[None]:
    """The controllers of a program, and those of the next one when the first was killed."""
    engine = setup.engine
    assert isinstance(engine, Faulty)

    async def programs() -> None:
        async with controllers(setup):
            await engine.killed.wait()
        bench = setup.bench
        bench.runtime = Runtime.on(
            bench.transport, clock=bench.clock, field_manager="provider", random=Random(8)
        )
        async with controllers(setup):
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(programs())
        yield
        task.cancel()


async def live(engine: Faulty) -> None:
    """A creation, a scale-out and a deletion beside containers of others."""
    others: dict[str, FakeContainer] = {}
    async with playing(engine=engine, follow=killed_once) as setup:
        for name, labels in OTHERS.items():
            engine.put(name, labels)
            others[name] = replace(engine.made[name])
        await setup.cluster()
        await create(setup, "cp-0", control_plane=True)
        await create(setup, "worker-0")
        await create(setup, "worker-1")
        ours = ["blue-cp-0", "blue-lb", "blue-worker-0", "blue-worker-1"]
        assert engine.names() == sorted([*ours, *OTHERS])
        assert setup.balancer.count("  server blue-") == 1
        for name in ("worker-1", "worker-0", "cp-0"):
            await setup.delete_machine(name)
        for name in ("cp-0", "worker-0", "worker-1"):
            await setup.bench.until_gone(DEV.machine, name)
        await setup.bench.client.delete(DEV.cluster, key("blue"))
        await setup.bench.until_gone(DEV.cluster, "blue")
        assert engine.names() == sorted(OTHERS)
        assert {name: engine.made[name] for name in OTHERS} == others
        assert engine.networks.keys() == {"kind"}  # others have containers in it


async def create(setup: Setup, name: str, *, control_plane: bool = False) -> None:
    """A machine, until its boot data has been carried out."""
    await setup.machine(name, control_plane=control_plane)
    document = await setup.booted(name)
    assert is_provisioned(document)
    container = setup.engine.made[f"blue-{name}"]
    assert sum("kubeadm init" in text for text in container.ran) == 1
    document = await setup.until(name, lambda value: status(value, "Ready") == "True")
    assert document["spec"]["providerID"] == f"docker:////blue-{name}"


@pytest.mark.parametrize(("fault", "number"), CHOSEN)
async def test_a_fault_does_not_change_the_end_state(fault: Fault, number: int) -> None:
    await live(Faulty(fault, number))


async def test_every_request_of_the_life_gets_a_fault() -> None:
    engine = Faulty()
    await live(engine)
    assert 80 < engine.requests < REQUESTS


async def test_the_network_is_removed_with_the_last_cluster() -> None:
    engine = Faulty()
    async with playing(engine=engine, follow=killed_once) as setup:
        await setup.cluster()
        assert engine.networks.keys() == {"kind"}
        await setup.bench.client.delete(DEV.cluster, key("blue"))
        await setup.bench.until_gone(DEV.cluster, "blue")
        assert not engine.made
        assert not engine.networks
