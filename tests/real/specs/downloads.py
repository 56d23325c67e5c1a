"""What nodes have beside what `tests.real_clusters` gives them.

Of the older version:

* the image of etcd that its kubeadm has by default: upstream's templates name none;
* kubeadm of the newer version, which a spec lets nodes download from dl.k8s.io, and a program in
  place of curl, which copies it.

Of the newer version: kube-proxy's image under the older version, which a node has until the
control plane is upgraded. It is the newer one: both have the same source. Without it, a cluster
that manages itself has no Pod network on its new node, where its managers are to go.
"""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from aiodocker import Docker

from kapy.containers import Engine
from tests.real_clusters.image_archive import layer, write_image
from tests.real_clusters.images import node_image
from tests.real_clusters.parts import HERE, NEW, OLD, etcd, kubernetes

_FILE: Final = f"opt/dl.k8s.io/release/{NEW.version}/bin/linux/amd64/kubeadm"
_PROXY: Final = "registry.k8s.io/kube-proxy"
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
_TAG: Final = f"""\
containerd > /tmp/containerd.log 2>&1 &
pid=$!
until ctr version > /dev/null 2>&1; do sleep 0.2; done
ctr -n k8s.io images tag {_PROXY}:{NEW.version} {_PROXY}:{OLD.version}
kill $pid
wait $pid || true
rm -rf /tmp/* /run/containerd
"""
_MARK: Final = f"{OLD.version}-{NEW.version}"
_LABEL: Final = "kapy.test.completed"


async def complete_images(engine: Engine) -> None:
    """Have all of this in the node images."""
    docker = Docker(engine.address)
    try:
        await _complete(docker, node_image(OLD), {"Cmd": ["/bin/sh", "/opt/prepare"]}, _archive)
        await _complete(docker, node_image(NEW), {"Cmd": ["/bin/sh", "-ec", _TAG]}, None)
    finally:
        await docker.close()


async def _complete(
    docker: Docker, image: str, command: dict[str, Any], files: Callable[[Path], Path] | None
) -> None:
    """Run a command in an image, with files, unless it was done before."""
    labels = (await docker.images.inspect(image))["Config"].get("Labels") or {}
    if labels.get(_LABEL) == _MARK:
        return
    settings = {"Image": image, "Entrypoint": [""], "HostConfig": {"NetworkMode": "none"}}
    container = await docker.containers.create(settings | command, name="kapy-completes-a-node")
    try:
        if files is not None:
            with tempfile.TemporaryDirectory() as folder:
                await _put(docker, container.id, files(Path(folder)))
        await container.start()
        ended = await container.wait()
        assert ended["StatusCode"] == 0, await container.log(stdout=True, stderr=True)
        repository, _, version = image.rpartition(":")
        changes = f'LABEL {_LABEL}={_MARK}\nENTRYPOINT ["/usr/local/bin/entrypoint"]'
        await container.commit(repository=repository, tag=version, changes=changes)
    finally:
        await container.delete(force=True, v=True)


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
