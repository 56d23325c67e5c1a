"""The tutorial of a real cluster, followed to the letter: what its blocks say is typed."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest

from kapy.containers import Engine
from kapy.providers.docker.containers import CLUSTER_LABEL, load_balancer_container
from tests.real_clusters.engine import container_engine, leftovers
from tests.real_clusters.images import PAUSE_IMAGE
from tests.real_clusters.life import PATIENCE
from tests.real_clusters.parts import VERSION, tell

pytestmark = pytest.mark.sockets
TUTORIAL: Final = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "real-cluster.md"
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CLUSTER: Final = "capybara"


async def test_the_tutorial_leads_from_nothing_to_a_pod(tmp_path: Path) -> None:
    async with container_engine(tmp_path, network=False) as engine:
        await follow(engine, tmp_path)


async def follow(engine: Engine, folder: Path) -> None:
    """Type all commands of the tutorial; nothing of it is left in the engine."""
    first, *others = BLOCK.findall(TUTORIAL.read_text(encoding="utf-8"))
    assert len(others) == 3
    async with _typed(_with_version_and_port(first), engine, folder) as quickstart:
        await _until(quickstart, "is Available")
        await _provide_images(engine, re.findall(r"--image (\S+)", "".join(others)))
        for number, block in enumerate(others, 1):
            began = time.monotonic()
            async with _typed(block, engine, folder) as commands:
                message = await _end(commands)
                assert commands.returncode == 0, message
                tell(f"block {number} of the tutorial: {time.monotonic() - began:.0f} s")
        quickstart.send_signal(signal.SIGINT)
        message = await _end(quickstart)
        assert "containers are gone" in message, message
    assert await leftovers(engine) == []


def _with_version_and_port(command: str) -> str:
    """The version whose node image is here: this machine pulls none."""
    return f"exec {command.strip()} --kubernetes-version {VERSION} --port 0\n"


@asynccontextmanager
async def _typed(
    commands: str, engine: Engine, home: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A shell that runs commands; both outputs are one."""
    own = Path(sys.executable).parent
    process = await asyncio.create_subprocess_exec(
        *("bash", "-e", "-o", "pipefail", "-c", commands),
        cwd=home,
        env={
            **os.environ,
            "DOCKER_HOST": engine.address,
            "HOME": str(home),
            "PATH": f"{own}{os.pathsep}{os.environ['PATH']}",
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _until(process: asyncio.subprocess.Process, words: str) -> None:
    """Read what a process prints until it says so."""
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        result = []
        while line := (await process.stdout.readline()).decode():
            result.append(line)
            if words in line:
                return
    raise AssertionError("".join(result))


async def _end(process: asyncio.subprocess.Process) -> str:
    """All that a process prints before it ends."""
    async with asyncio.timeout(2 * PATIENCE):
        data, _ = await process.communicate()
    return data.decode()


async def _provide_images(engine: Engine, images: list[str]) -> None:
    """Give the workers another name for an image that they have, as they can pull none."""
    assert images
    tag = ("ctr", "-n", "k8s.io", "images", "tag", "--force", PAUSE_IMAGE)
    for node in await engine.containers({CLUSTER_LABEL: CLUSTER}):
        if node.name != load_balancer_container(CLUSTER):
            for image in images:
                done = await engine.run(node.name, [*tag, f"docker.io/library/{image}"])
                assert done.exit_code == 0, done
