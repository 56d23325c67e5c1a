"""Images from a registry: the program of Debian's package `docker-registry`."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import pytest
import yaml
from aiodocker import Docker

from kapy.containers import Engine
from kapy.containers.errors import ImageUnavailable
from tests.real_clusters.engine import container_engine
from tests.real_clusters.image_archive import layer, write_image
from tests.real_clusters.parts import OLD, kubernetes

_LACKS: Final = [name for name in ("docker-registry", "htpasswd") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.sockets,
    pytest.mark.skipif(
        bool(_LACKS), reason=f"apt-get install docker-registry apache2-utils: {_LACKS}"
    ),
]

_ADDRESS: Final = "127.0.0.1:5000"
_IMAGE: Final = f"{_ADDRESS}/programs/kubernetes:v1"
_LOGIN: Final = {"username": "robot", "password": "sesame"}


async def test_an_image_is_pulled_with_progress_and_with_a_login(tmp_path: Path) -> None:
    async with (
        container_engine(tmp_path, network=False, nodes=False) as engine,
        _registry(tmp_path),
    ):
        await _push(engine, tmp_path)
        lines: list[str] = []
        with pytest.raises(ImageUnavailable, match="no basic auth credentials"):
            await engine.pull(_IMAGE, lines.append)
        await engine.pull(_IMAGE, lines.append, login=_LOGIN)
        assert len(lines) > 1
        assert all(_IMAGE in line for line in lines)
        assert await engine.has_image(_IMAGE)
        missing = f"{_ADDRESS}/programs/kubernetes:v2"
        with pytest.raises(ImageUnavailable, match="manifest unknown"):
            await engine.pull(missing, login=_LOGIN)


@asynccontextmanager
async def _registry(folder: Path) -> AsyncIterator[None]:
    """A registry that asks for a login."""
    configuration = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(folder / "registry")}},
        "http": {"addr": _ADDRESS},
        "auth": {"htpasswd": {"realm": "test", "path": str(_write_passwords(folder))}},
    }
    file = folder / "registry.yaml"
    file.write_text(yaml.safe_dump(configuration))
    with (folder / "registry.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            "docker-registry", "serve", str(file), stdout=log, stderr=log
        )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


def _write_passwords(folder: Path) -> Path:
    path = folder / "htpasswd"
    command = ["htpasswd", "-Bbn", _LOGIN["username"], _LOGIN["password"]]
    path.write_text(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return path


async def _push(engine: Engine, folder: Path) -> None:
    """Put a large image into the registry, and remove it from the engine."""
    archive = folder / "image.tar"
    with archive.open("wb") as target:
        content = layer({"usr/local/bin/kubernetes": kubernetes(OLD)})
        write_image(target, _IMAGE, [content], "kubernetes")
    with archive.open("rb") as source:
        await engine.load(source)
    docker = Docker(engine.address)
    try:
        await docker.images.push(_IMAGE, auth=_LOGIN)
        await docker.images.delete(_IMAGE, force=True)
    finally:
        await docker.close()
