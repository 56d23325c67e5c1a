"""What nodes of containers download: kubeadm of the version after an upgrade, from dl.k8s.io.

The older node image gets that file, and a program in place of curl, which copies it.
"""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path
from typing import Final

from aiodocker import Docker

from kapy.containers import Engine
from tests.real_clusters.images import node_image
from tests.real_clusters.parts import NEW, OLD, kubernetes

_FILE: Final = f"opt/dl.k8s.io/release/{NEW.version}/bin/linux/amd64/kubeadm"
_CURL: Final = """\
#!/bin/sh
# curl -o FILE [OPTION]... https://dl.k8s.io/PATH, without a network.
while [ $# -gt 0 ]; do
    case $1 in
        -o) file=$2; shift ;;
        https://*) path=/opt/${1#https://} ;;
    esac
    shift
done
exec cp "$path" "$file"
"""
_LABEL: Final = "kapy.test.downloads"


async def complete_image(engine: Engine) -> None:
    """Have the file and the program in the older node image."""
    docker, image = Docker(engine.address), node_image(OLD)
    try:
        labels = (await docker.images.inspect(image))["Config"].get("Labels") or {}
        if labels.get(_LABEL) == _FILE:
            return
        container = await docker.containers.create({"Image": image}, name="kapy-adds-downloads")
        try:
            with tempfile.TemporaryDirectory() as folder:
                await _put(docker, container.id, _archive(Path(folder)))
            repository, _, version = image.rpartition(":")
            changes = f"LABEL {_LABEL}={_FILE}"
            await container.commit(repository=repository, tag=version, changes=changes)
        finally:
            await container.delete(force=True, v=True)
    finally:
        await docker.close()


async def _put(docker: Docker, container: str, archive: Path) -> None:
    query, parameters = f"containers/{container}/archive", {"path": "/"}
    with archive.open("rb") as content:
        async with docker._query(query, "PUT", params=parameters, data=content) as response:
            assert response.status == 200, await response.text()


def _archive(folder: Path) -> Path:
    curl = folder / "curl"
    curl.write_text(_CURL)
    curl.chmod(0o755)
    with tarfile.open(folder / "files.tar", "w") as made:
        made.add(kubernetes(NEW), _FILE)
        made.add(curl, "usr/local/bin/curl")
    return folder / "files.tar"
