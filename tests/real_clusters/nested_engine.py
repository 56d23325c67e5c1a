"""A container engine in a container of another one, as in a CI job with Docker in Docker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from aiodocker import Docker

from kapy.containers import Engine, EngineUnreachable
from tests.real_clusters.engine import RUNTIME
from tests.real_clusters.images import BALANCER, node_image
from tests.real_clusters.parts import HERE, NEW, tell

_NAME: Final = "engine"
_PORT: Final = 2375
_CONFIG: Final = "/etc/nested.json"
_START: Final = 60.0


@asynccontextmanager
async def nested_engine(outer: Engine, folder: Path) -> AsyncIterator[Engine]:
    """An engine in a privileged container, with the images of the newest nodes.

    It has the programs of this machine, and a volume for its data: overlayfs does not work on
    overlayfs.
    """
    settings = {
        "runtimes": {RUNTIME: {"path": str(HERE / "runtime.py")}},
        "default-runtime": RUNTIME,
        "storage-driver": "overlay2",
    }
    file = folder / "nested.json"
    file.write_text(json.dumps(settings))
    binds = ["/usr:/usr:ro", f"{HERE}:{HERE}:ro", f"{file}:{_CONFIG}:ro"]
    command = ["dockerd", "--config-file", _CONFIG, "--host", f"tcp://0.0.0.0:{_PORT}"]
    config = {
        "Image": BALANCER,
        "Entrypoint": [""],
        "Cmd": [*command, "--tls=false", "--bip", "10.89.0.1/24"],
        "Volumes": {"/var/lib/docker": {}},
        "HostConfig": {"Privileged": True, "Binds": binds},
    }
    await outer.create(_NAME, config)
    await outer.start(_NAME)
    try:
        address = await _address(outer)
        inner = Engine(f"tcp://{address}:{_PORT}")
        try:
            await _until_answers(inner, outer)
            await _copy_images(outer, inner, [BALANCER, node_image(NEW)], folder)
            yield inner
        finally:
            await inner.close()
    finally:
        await outer.remove(_NAME)


async def _address(outer: Engine) -> str:
    docker = Docker(outer.address)
    try:
        shown = await (await docker.containers.get(_NAME)).show()
    finally:
        await docker.close()
    networks = shown["NetworkSettings"]["Networks"].values()
    return str(next(iter(networks))["IPAddress"])


async def _until_answers(inner: Engine, outer: Engine) -> None:
    deadline = asyncio.get_running_loop().time() + _START
    while True:
        try:
            await inner.info()
        except EngineUnreachable as error:
            if asyncio.get_running_loop().time() > deadline:
                docker = Docker(outer.address)
                lines = await (await docker.containers.get(_NAME)).log(stdout=True, stderr=True)
                await docker.close()
                raise AssertionError("".join(lines)[-3000:]) from error
            await asyncio.sleep(0.5)  # nothing tells when it listens
        else:
            return


async def _copy_images(outer: Engine, inner: Engine, names: Sequence[str], folder: Path) -> None:
    """Copy images, in one archive: the layers that they share are there once."""
    tell("copying images into the nested engine")
    archive = folder / "images.tar"
    docker = Docker(outer.address)
    try:
        query = urlencode([("names", name) for name in names])
        async with docker._query(f"images/get?{query}") as response:
            with archive.open("wb") as target:
                async for part in response.content.iter_chunked(1 << 20):
                    target.write(part)
    finally:
        await docker.close()
    with archive.open("rb") as content:
        await inner.load(content)
    archive.unlink()
