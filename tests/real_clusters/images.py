"""The images of a real cluster, made with a container engine that can pull none."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from aiodocker import Docker

from kapy.apps.docker_sample import NETWORK_FILE
from kapy.providers.docker.load_balancer_config import image_of
from tests.real_clusters.image_archive import layer, write_image
from tests.real_clusters.parts import (
    HERE,
    NODE_PROGRAMS,
    PAUSE,
    RELEASES,
    Release,
    etcd,
    kubernetes,
    program,
    root_file_system,
    tell,
)

COMMON: Final = "kapy.test/node:latest"
BALANCER: Final = image_of("", "")
NETWORK_IMAGE: Final = "kapy.test/network:v1"
PAUSE_IMAGE: Final = f"registry.k8s.io/pause:{PAUSE}"
_LIBRARIES: Final = [
    "libxtables",
    "libmnl",
    "libnftnl",
    "libnfnetlink",
    "libnetfilter_conntrack",
    "libip4tc",
    "libip6tc",
    "libnftables",
    "libjansson",
    "libgmp",
    "libedit",
    "libtinfo",
    "libbsd",
    "libmd",
    "libc",
    "libm",
    "libpthread",
    "libdl",
    "ld-linux",
    "libipset",
]
_IPTABLES: Final = (
    *(f"usr/lib/x86_64-linux-gnu/{name}[.-]*" for name in _LIBRARIES),
    "usr/lib/x86_64-linux-gnu/xtables",
    "usr/lib64",
    "usr/sbin/xtables*",
    "usr/sbin/conntrack",
    "usr/sbin/ipset",
    "usr/sbin/nft",
)
"""What kube-proxy runs, with all libraries of its plugins."""
_LINKS: Final = {"lib": "usr/lib", "lib64": "usr/lib64", "sbin": "usr/sbin"}


async def ensure_images(docker: Docker) -> None:
    """Have the images of nodes and of the load balancer in the engine.

    They share layers: the file system, then what nodes of all versions have, then a version.
    """
    await import_file_system(docker, root_file_system(), BALANCER)
    common = _mark(root_file_system().name, *(program(item).name for item in NODE_PROGRAMS))
    if not await _has(docker, COMMON, common):
        tell("making what the node images share")
        await _prepare(docker, BALANCER, COMMON, common, _common_files)
    for release in RELEASES:
        mark = _mark(common, etcd(release).name, kubernetes(release).name)
        image = node_image(release)
        if not await _has(docker, image, mark):
            tell(f"making the node image of {release.version}")
            await _prepare(docker, COMMON, image, mark, partial(_files_of_release, release))


async def import_file_system(docker: Docker, archive: Path, image: str) -> None:
    """Have a file system as an image."""
    mark = _mark(archive.name)
    if not await _has(docker, image, mark):
        tell(f"taking {archive.name}")
        await _import(docker, archive, image)
        await _tag(docker, image, mark)


def node_image(release: Release) -> str:
    """The node image of a version, as the provider maps it."""
    return f"kindest/node:{release.version}"


def _mark(*names: str) -> str:
    """What images were made from."""
    texts = [path.read_text() for path in sorted((HERE / "node").iterdir())]
    texts += [(HERE / "network.yaml").read_text(), Path(__file__).read_text()]
    return hashlib.sha256("\n".join([*names, *texts]).encode()).hexdigest()[:12]


def _marked(image: str, mark: str) -> str:
    """The tag that says from what an image was made."""
    return f"{image}-made-{mark}"


async def _has(docker: Docker, image: str, mark: str) -> bool:
    return {image, _marked(image, mark)} <= await _tags(docker)


async def _tags(docker: Docker) -> set[str]:
    return {tag for item in await docker.images.list() for tag in item.get("RepoTags") or ()}


def _common_files(folder: Path) -> Mapping[str, Path]:
    node = HERE / "node"
    toml = folder / "containerd.toml"
    toml.write_text((node / "containerd.toml").read_text().replace("@PAUSE@", PAUSE))
    own = {"pause": PAUSE_IMAGE, "network": NETWORK_IMAGE}
    images = {
        name: _image(folder, name, tag, [layer({f"usr/local/bin/{name}": program(name)})])
        for name, tag in own.items()
    }
    dns = [layer({"usr/local/bin/coredns": program("coredns")})]
    for release in RELEASES:
        tag = f"registry.k8s.io/coredns/coredns:{release.coredns}"
        images[f"coredns-{release.coredns}"] = _image(folder, "coredns", tag, dns)
    return {
        NETWORK_FILE.lstrip("/"): HERE / "network.yaml",
        "usr/local/bin/entrypoint": node / "entrypoint",
        "opt/prepare": node / "prepare",
        "etc/containerd/config.toml": toml,
        "etc/systemd/system/kubelet.service": node / "kubelet.service",
        **{f"opt/images/{name}.tar": path for name, path in images.items()},
    }


def _files_of_release(release: Release, folder: Path) -> Mapping[str, Path]:
    """The kubelet, which is kubeadm and kubectl, too, and the images of the control plane: all of
    them have the same layer, so that it is kept and unpacked once."""
    names = ("kube-controller-manager", "kube-scheduler", "kube-proxy")
    binary = kubernetes(release)
    links = {f"usr/local/bin/{name}": "kube-apiserver" for name in names}
    layers = [layer({"usr/local/bin/kube-apiserver": binary}, links)]
    images = {}
    for text in ("kube-apiserver", *names):
        tag = f"registry.k8s.io/{text}:{release.version}"
        more = [layer({}, folder=_iptables(folder))] if text == "kube-proxy" else []
        images[text] = _image(folder, text, tag, [*layers, *more])
    tag = f"registry.k8s.io/etcd:{release.etcd}"
    images["etcd"] = _image(folder, "etcd", tag, [layer({"usr/local/bin/etcd": etcd(release)})])
    tag = f"registry.k8s.io/pause:{release.pause}"
    images["pause"] = _image(
        folder, "pause", tag, [layer({"usr/local/bin/pause": program("pause")})]
    )
    archives = {f"opt/images/{name}.tar": path for name, path in images.items()}
    return {"usr/bin/kubelet": binary, "opt/prepare": HERE / "node" / "prepare", **archives}


def _image(folder: Path, entry: str, tag: str, layers: Sequence[bytes]) -> Path:
    path = folder / f"{tag.replace('/', '_')}.tar"
    with path.open("wb") as target:
        write_image(target, tag, layers, entry)
    return path


def _iptables(folder: Path) -> Path:
    target = folder / "iptables"
    target.mkdir()
    patterns = [f"./{iptable}" for iptable in _IPTABLES]
    subprocess.run(
        ["tar", "xf", root_file_system(), "-C", target, "--wildcards", *patterns],
        check=False,
        capture_output=True,
    )
    for link, to in _LINKS.items():
        (target / link).symlink_to(to)
    for name in ("iptables", "ip6tables"):
        for form in ("", "-save", "-restore"):
            (target / "usr/sbin" / f"{name}{form}").symlink_to("xtables-nft-multi")
    return target


async def _import(docker: Docker, archive: Path, tag: str) -> None:
    """`docker import`, which the library has no method for."""
    repository, _, version = tag.rpartition(":")
    parameters = {"fromSrc": "-", "repo": repository, "tag": version}
    with archive.open("rb") as content:
        async with docker._query(
            "images/create", "POST", params=parameters, data=content
        ) as response:
            text = await response.text()
    assert "error" not in text, text


async def _prepare(
    docker: Docker,
    base: str,
    image: str,
    mark: str,
    files: Callable[[Path], Mapping[str, Path]],
) -> None:
    """Make an image of another one: files are put into a container, which then runs `prepare`."""
    config: dict[str, Any] = {
        "Image": base,
        "Cmd": ["/bin/sh", "/opt/prepare"],
        "Entrypoint": [""],
        "HostConfig": {"NetworkMode": "none"},
    }
    container = await docker.containers.create(config, name="kapy-prepares-a-node")
    try:
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder) / "files"
            with tarfile.open(archive, "w") as result:
                for name, path in files(Path(folder)).items():
                    result.add(path, name)
            await _put(docker, container.id, archive)
        await container.start()
        ended = await container.wait()
        message = "".join(await container.log(stdout=True, stderr=True))
        assert ended["StatusCode"] == 0, message[-2000:]
        changes = 'ENTRYPOINT ["/usr/local/bin/entrypoint"]'
        repository, _, version = image.rpartition(":")
        await container.commit(repository=repository, tag=version, changes=changes)
    finally:
        await container.delete(force=True, v=True)
    await _tag(docker, image, mark)


async def _tag(docker: Docker, image: str, mark: str) -> None:
    """Say from what an image was made, and forget the one that was there before."""
    for tag in await _tags(docker):
        if tag.startswith(_marked(image, "")):
            await docker.images.delete(tag, force=True)
    repository, _, version = _marked(image, mark).rpartition(":")
    await docker.images.tag(image, repository, tag=version)


async def _put(docker: Docker, container: str, archive: Path) -> None:
    """Unpack an archive in a container; the library reads it into memory as a whole."""
    with archive.open("rb") as content:
        async with docker._query(
            f"containers/{container}/archive", "PUT", params={"path": "/"}, data=content
        ) as response:
            assert response.status == 200, await response.text()
