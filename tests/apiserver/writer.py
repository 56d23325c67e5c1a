"""A program that writes to a server as fast as it can and says what it tries and what is done.

    python -m tests.apiserver.writer DIRECTORY SEED

`try NAME VALUE` before a write, `done NAME VALUE REVISION` when it was acknowledged; the value of
a deletion is `-`. Each of the four writers has names of its own, and one write at a time.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

from kapy._aio.clock import system_clock
from kapy.apiserver.server import Server
from tests.apiserver.asking import CONFIG_MAPS, Asking, config_map


async def write(directory: Path, seed: int) -> None:
    """Create, change and delete until the process is killed."""
    server = Server.open(directory, clock=system_clock)
    asking = Asking(server)
    if await asking.gone("/api/v1/namespaces/default"):
        await asking.create("/api/v1/namespaces", {"metadata": {"name": "default"}})
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    async with asyncio.TaskGroup() as group:
        for worker in range(4):
            group.create_task(_work(asking, seed, worker))


async def _work(asking: Asking, seed: int, worker: int) -> None:
    rng = random.Random(seed * 10 + worker)
    for number in range(1_000_000):
        name = f"w{worker}-{rng.randrange(20)}"
        path = f"{CONFIG_MAPS}/{name}"
        if rng.random() < 0.2:
            _say(f"try {name} -")
            status, body = await asking.ask("DELETE", path)
            assert status in (200, 404), body
            _say(f"done {name} - {asking.server.store.revision}")
            continue
        value = f"{seed}-{number}"
        _say(f"try {name} {value}")
        if await asking.gone(path):
            document = {**config_map(name), "data": {"v": value}}
            status, body = await asking.ask("POST", CONFIG_MAPS, document)
        else:
            patch = {"data": {"v": value}}
            status, body = await asking.ask("PATCH", path, patch, "application/merge-patch+json")
        assert status in (200, 201), body
        _say(f"done {name} {value} {body['metadata']['resourceVersion']}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), int(sys.argv[2])))
