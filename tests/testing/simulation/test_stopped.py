"""A stopped process stands still as with SIGSTOP, and goes on with what it had begun."""

from __future__ import annotations

import asyncio

from kapy.testing.simulation.event_loop import PROCESS, SimulationLoop


class Stopped:
    stopped_until = -1.0


def test_nothing_of_a_stopped_process_runs_meanwhile() -> None:
    process = Stopped()
    steps: list[tuple[str, float]] = []

    async def work(name: str, owner: Stopped | None) -> None:
        PROCESS.set(owner)
        loop = asyncio.get_running_loop()
        for _ in range(3):
            await asyncio.sleep(1.0)
            steps.append((name, round(loop.time())))

    async def wake(event: asyncio.Event) -> None:
        PROCESS.set(process)
        await event.wait()
        steps.append(("woken", round(asyncio.get_running_loop().time())))

    async def play() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulationLoop)
        event = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(work("stopped", process))
            group.create_task(work("other", None))
            group.create_task(wake(event))
            await asyncio.sleep(1.5)
            loop.stop_process(process, 60.0)
            event.set()

    with asyncio.Runner(loop_factory=SimulationLoop) as runner:
        runner.run(play())
    assert sorted(steps) == [
        ("other", 1),
        ("other", 2),
        ("other", 3),
        ("stopped", 1),
        ("stopped", 60),
        ("stopped", 61),
        ("woken", 60),
    ]
