"""Additions to the node images of `tests.real_clusters`.

Of the older version: the image of etcd that its kubeadm has by default, as upstream's templates
name none. Of both:

* kubeadm of the newer version, which a spec lets nodes download from dl.k8s.io, and a program in
  place of curl, which copies it;
* kube-proxy's image under the other version. Nodes of both have the control plane's. It is the
  same program: both have the same source. Without it, a node whose version differs from the
  control plane's has no Pod network.
"""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from aiodocker import Docker

from kapy.containers import Engine
from tests.real.specs import conformance
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
[ ! -e /opt/images ] || sh /opt/prepare
containerd > /tmp/containerd.log 2>&1 &
pid=$!
until ctr version > /dev/null 2>&1; do sleep 0.2; done
for pair in "{OLD.version} {NEW.version}" "{NEW.version} {OLD.version}"; do
    set -- $pair
    ctr -n k8s.io images tag {_PROXY}:$1 {_PROXY}:$2 || true  # it has one of them
done
[ "$(ctr -n k8s.io images ls -q | grep -c '^{_PROXY}:v')" -ge 2 ]
kill $pid
wait $pid || true
rm -rf /tmp/* /run/containerd
"""
_MARK: Final = f"{OLD.version}-{NEW.version}-2"
"""The mark of a completed image; its number goes up when the added files change."""
TESTS: Final = "-tests"
_LABEL: Final = "kapy.test.completed"


async def complete_images(engine: Engine, *, tests: bool = False) -> None:
    """Have all of this in the node images. tests: and the images of Kubernetes' tests."""
    docker = Docker(engine.address)
    try:
        for release in (OLD, NEW):
            archive = partial(_archive, etcd_image=release is OLD, tests=tests)
            await _complete(docker, node_image(release), archive, f"{_MARK}{TESTS * tests}")
    finally:
        await docker.close()


async def _complete(docker: Docker, image: str, files: Callable[[Path], Path], mark: str) -> None:
    """Put files into an image and prepare them there, unless it was done before."""
    labels = (await docker.images.inspect(image))["Config"].get("Labels") or {}
    if labels.get(_LABEL) in (mark, f"{_MARK}{TESTS}"):
        return
    settings: dict[str, Any] = {
        "Image": image,
        "Entrypoint": [""],
        "Cmd": ["/bin/sh", "-ec", _TAG],
        "HostConfig": {"NetworkMode": "none"},
    }
    container = await docker.containers.create(settings, name="kapy-completes-a-node")
    try:
        with tempfile.TemporaryDirectory() as folder:
            await _put(docker, container.id, files(Path(folder)))
        await container.start()
        ended = await container.wait()
        assert ended["StatusCode"] == 0, await container.log(stdout=True, stderr=True)
        repository, _, version = image.rpartition(":")
        changes = f'LABEL {_LABEL}={mark}\nENTRYPOINT ["/usr/local/bin/entrypoint"]'
        await container.commit(repository=repository, tag=version, changes=changes)
    finally:
        await container.delete(force=True, v=True)


async def _put(docker: Docker, container: str, archive: Path) -> None:
    query, parameters = f"containers/{container}/archive", {"path": "/"}
    with archive.open("rb") as content:
        async with docker._query(query, "PUT", params=parameters, data=content) as response:
            assert response.status == 200, await response.text()


def _archive(folder: Path, *, etcd_image: bool, tests: bool) -> Path:
    curl = folder / "curl"
    curl.write_text(_CURL)
    curl.chmod(0o755)
    with tarfile.open(folder / "files.tar", "w") as result:
        if etcd_image:
            with (folder / "etcd.tar").open("wb") as archive:
                tag = f"registry.k8s.io/etcd:{NEW.etcd}"
                write_image(archive, tag, [layer({"usr/local/bin/etcd": etcd(NEW)})], "etcd")
            result.add(folder / "etcd.tar", "opt/images/etcd.tar")
        for name, path in (conformance.archives(folder) if tests else {}).items():
            result.add(path, f"opt/images/{name}")
        if etcd_image or tests:
            result.add(HERE / "node" / "prepare", "opt/prepare")
        result.add(kubernetes(NEW), _FILE)
        result.add(curl, "usr/local/bin/curl")
    return folder / "files.tar"
