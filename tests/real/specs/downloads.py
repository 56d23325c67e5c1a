"""What nodes of the older version have beside what `tests.real_clusters` gives them.

* The image of etcd that its kubeadm has by default: upstream's templates name none.
* kubeadm of the newer version, which a spec lets nodes download from dl.k8s.io, and a program in
  place of curl, which copies it.
"""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path
from typing import Any, Final

from aiodocker import Docker

from kapy.containers import Engine
from tests.real_clusters.image_archive import layer, write_image
from tests.real_clusters.images import node_image
from tests.real_clusters.parts import HERE, NEW, OLD, etcd, kubernetes

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
_LABEL: Final = "kapy.test.completed"


async def complete_image(engine: Engine) -> None:
    """Have the file and the program in the older node image."""
    docker, image = Docker(engine.address), node_image(OLD)
    try:
        labels = (await docker.images.inspect(image))["Config"].get("Labels") or {}
        if labels.get(_LABEL) == _FILE:
            return
        config: dict[str, Any] = {
            "Image": image,
            "Cmd": ["/bin/sh", "/opt/prepare"],
            "Entrypoint": [""],
            "HostConfig": {"NetworkMode": "none"},
        }
        container = await docker.containers.create(config, name="kapy-completes-a-node")
        try:
            with tempfile.TemporaryDirectory() as folder:
                await _put(docker, container.id, _archive(Path(folder)))
            await container.start()
            ended = await container.wait()
            assert ended["StatusCode"] == 0, await container.log(stdout=True, stderr=True)
            repository, _, version = image.rpartition(":")
            changes = f'LABEL {_LABEL}={_FILE}\nENTRYPOINT ["/usr/local/bin/entrypoint"]'
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
    with (folder / "etcd.tar").open("wb") as archive:
        tag = f"registry.k8s.io/etcd:{NEW.etcd}"
        write_image(archive, tag, [layer({"usr/local/bin/etcd": etcd(NEW)})], "etcd")
    with tarfile.open(folder / "files.tar", "w") as made:
        made.add(folder / "etcd.tar", "opt/images/etcd.tar")
        made.add(HERE / "node" / "prepare", "opt/prepare")
        made.add(kubernetes(NEW), _FILE)
        made.add(curl, "usr/local/bin/curl")
    return folder / "files.tar"
