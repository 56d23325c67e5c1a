"""Faults of the API server and sudden ends of the program: the fleet still becomes what was asked.

Each seed is another sequence of refused, failed and lost requests, and of restarts; KAPY_SEEDS=50
for more of them.
"""

from __future__ import annotations

import os
from random import Random

import pytest

from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.kube.errors import Conflict, ServerError, TooManyRequests, Unreachable
from kapy.kube.http import Request
from tests.core.environment import (
    CONFIGS,
    INFRA_MACHINES,
    Environment,
    core_environment,
    deployment,
    running_cluster,
    templates,
)

SEEDS = int(os.environ.get("KAPY_SEEDS", "3"))


class Trouble:
    """Spoils a share of the controllers' requests, as long as it is switched on."""

    def __init__(self, plane: Environment, seed: int, share: float = 0.2) -> None:
        self._random = Random(seed)
        self._share = share
        self.on = True
        self.spoilt = 0
        plane.controllers.fault = self.fault
        plane.controllers.lose = self.lose

    def fault(self, request: Request) -> Exception | None:
        if request.query.get("watch") or not self._hits():
            return None
        return self._random.choice(
            (
                Unreachable("connection refused"),
                ServerError("the server is on fire"),
                TooManyRequests("too many", retry_after=1),
                Conflict("the object has been modified"),
            )
        )

    def lose(self, _: Request) -> bool:
        return self._hits()

    def _hits(self) -> bool:
        hit = self.on and self._random.random() < self._share
        self.spoilt += hit
        return hit


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_faults_create_no_second_machine(seed: int) -> None:
    async with core_environment(seed) as plane:
        await running_cluster(plane)
        trouble = Trouble(plane, seed)
        await plane.create(*templates(), deployment(4))
        for _ in range(10):
            await plane.settle(3)
            assert len(await plane.story.all(Machine)) <= 4
        trouble.on = False
        assert trouble.spoilt > 10
        await plane.settle(1500)  # the longest back-off is 1,000 seconds

        machines = {machine.metadata.name for machine in await plane.story.all(Machine)}
        assert len(machines) == 4
        assert len(await plane.story.all(MachineSet)) == 1
        for resource in (INFRA_MACHINES, CONFIGS):
            assert {
                document["metadata"]["name"] for document in await plane.all(resource)
            } == machines


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_a_program_that_is_killed_continues_where_it_was(seed: int) -> None:
    """Killed after a random number of writes, a few times over, during create and scale down."""
    random = Random(seed)
    async with core_environment(seed) as plane:
        await running_cluster(plane)
        await plane.create(*templates(), deployment(3))
        for _ in range(6):
            await plane.kill_after(random.randrange(1, 12))
        await plane.settle(10)
        await plane.boot_all()
        await plane.settle(10)
        machines = {machine.metadata.name for machine in await plane.story.all(Machine)}
        assert len(machines) == 3
        assert len(await plane.story.all(MachineSet)) == 1
        for resource in (INFRA_MACHINES, CONFIGS):
            assert {
                document["metadata"]["name"] for document in await plane.all(resource)
            } == machines

        await plane.story.merge(MachineDeployment, "md", {"spec": {"replicas": 1}})
        for _ in range(3):
            await plane.kill_after(random.randrange(1, 8))
        await plane.settle(60)
        (last,) = await plane.story.all(Machine)
        assert last.metadata.name in machines
        for resource in (INFRA_MACHINES, CONFIGS):
            assert len(await plane.all(resource)) == 1
