"""DevMachines that change after they were created, as an Update Extension changes them in place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from kapy.api.dev_machine import DevMachine
from kapy.api.features import FeatureGates
from kapy.api.validation.infrastructure import dev_machine_errors
from kapy.kube.meta import read
from kapy.testing.provider_bench import key
from tests.providers.inmemory.plane import (
    MACHINES,
    UPSTREAM,
    Plane,
    conditions,
    dev_machine,
    in_memory_plane,
)

SLOWER = {"spec": {"backend": {"inMemory": {"vm": {"provisioning": {"startupDuration": "10m"}}}}}}


@pytest_asyncio.fixture
async def plane() -> AsyncIterator[Plane]:
    async with in_memory_plane() as result:
        yield result


async def test_a_machine_that_is_changed_in_place_does_not_start_anew(plane: Plane) -> None:
    await plane.cluster("blue")
    await plane.machine("blue", "cp", dev_machine(UPSTREAM), control_plane=True)
    begun = asyncio.get_running_loop().time()
    before = await plane.bench.until(
        MACHINES,
        "cp",
        lambda document: conditions(document).get("VMProvisioned", ("", ""))[0] == "True",
    )
    after = await plane.bench.client.patch(MACHINES, key("cp"), SLOWER)
    assert after["metadata"]["generation"] > before["metadata"]["generation"]
    await plane.ready("cp")
    assert round(asyncio.get_running_loop().time() - begun) == 14  # as if nothing had changed
    machine = await plane.bench.get(MACHINES, "cp")
    assert machine is not None
    assert machine["spec"]["providerID"] == "in-memory://cp"


def test_validation_lets_a_machine_change() -> None:
    before = read(dev_machine(UPSTREAM), DevMachine)
    after = read(dev_machine({**UPSTREAM, "vm": "10m"}), DevMachine)
    assert dev_machine_errors(after, before, FeatureGates()) == []
