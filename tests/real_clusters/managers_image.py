"""kapy's own image, built by `make image` without a network, as its managers' Pods run it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

from aiodocker import Docker

from kapy.containers import Engine
from tests.real_clusters.images import import_file_system
from tests.real_clusters.parts import ROOT, python_file_system, wheels

IMAGE: Final = "localhost/kapy:of-this-checkout"
_BASE: Final = "kapy.test/python:3.11"


async def build_image(engine: Engine) -> None:
    """`make image`, on a base of Debian packages, with Python packages of the cache."""
    docker = Docker(engine.address)
    try:
        await import_file_system(docker, python_file_system(), _BASE)
        await _make(engine)
        async with docker._query("images/prune", "POST") as response:  # of builds before
            assert response.status == 200, await response.text()
    finally:
        await docker.close()
    assert await engine.has_image(IMAGE)


async def _make(engine: Engine) -> None:
    async with _serving() as packages:
        build_arguments = {"PIP_FIND_LINKS": packages, "PIP_NO_INDEX": "1"}
        arguments = ["--network", "host"]
        for entry in build_arguments.items():
            arguments += ["--build-arg", "=".join(entry)]
        make = await asyncio.create_subprocess_exec(
            *("make", "image", f"IMAGE={IMAGE}", f"BASE={_BASE}", f"ARGS={' '.join(arguments)}"),
            cwd=ROOT,
            env={**os.environ, "DOCKER_HOST": engine.address, "DOCKER_BUILDKIT": "0"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        data, _ = await make.communicate()
    assert make.returncode == 0, data.decode()[-3000:]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@asynccontextmanager
async def _serving() -> AsyncIterator[str]:
    """A list of packages on the loopback interface, for pip in a build."""
    handler = partial(_Quiet, directory=str(wheels()))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
