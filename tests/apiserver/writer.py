"""A program that writes to a server as fast as it can and says what it tries, what is done, and
what a watcher sees meanwhile.

    python -m tests.apiserver.writer DIRECTORY SEED REVISION

`try NAME VALUE` before a write, `done NAME VALUE REVISION` when it was acknowledged; the value of
a deletion is `-`. Each of the four writers has names of its own, and one write at a time.

The watcher goes on from REVISION. It breaks off every now and then and resumes: `list REVISION
NAME=VALUE …` where it had to read everything, `saw REVISION NAME VALUE` for each event.
"""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path
from typing import Any

from kapy._aio.clock import system_clock
from kapy.apiserver.server import Server
from tests.apiserver.requester import CONFIG_MAPS, Asking, config_map


async def write(directory: Path, seed: int, revision: int) -> None:
    """Create, change and delete until the process is killed."""
    server = Server.open(directory, clock=system_clock)
    asking = Asking(server)
    if await asking.gone("/api/v1/namespaces/default"):
        await asking.create("/api/v1/namespaces", {"metadata": {"name": "default"}})
    _say("ready")
    async with asyncio.TaskGroup() as group:
        group.create_task(_watch(asking, random.Random(seed), str(revision)))
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


async def _watch(asking: Asking, rng: random.Random, revision: str) -> None:
    while True:
        async with asking.watching(CONFIG_MAPS, resourceVersion=revision) as stream:
            for _ in range(rng.randrange(1, 30)):
                event = await anext(stream)
                if event["type"] == "ERROR":
                    assert event["object"]["code"] == 410, event
                    revision = await _list(asking)
                    break
                revision = _saw(event)
        await asyncio.sleep(rng.choice((0, 0, 0.002, 0.01)))  # meanwhile others write


async def _list(asking: Asking) -> str:
    config_maps = await asking.get(CONFIG_MAPS)
    revision: str = config_maps["metadata"]["resourceVersion"]
    pairs = [f"{item['metadata']['name']}={item['data']['v']}" for item in config_maps["items"]]
    _say(" ".join(["list", revision, *pairs]))
    return revision


def _saw(event: Any) -> str:
    item = event["object"]
    revision: str = item["metadata"]["resourceVersion"]
    value = "-" if event["type"] == "DELETED" else item["data"]["v"]
    _say(f"saw {revision} {item['metadata']['name']} {value}")
    return revision


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
