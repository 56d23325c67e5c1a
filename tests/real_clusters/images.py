"""The images of a real cluster, made with a container engine that can pull none."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from aiodocker import Docker

from kapy.apps.docker_sample import NETWORK_FILE
from kapy.providers.docker.load_balancer_config import image_of
from tests.real_clusters.parts import (
    COREDNS,
    ETCD,
    HERE,
    PAUSE,
    VERSION,
    program,
    root_file_system,
    tell,
)

NODE: Final = f"kindest/node:{VERSION}"
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
    """Have the node's and the load balancer's image in the engine."""
    mark = _mark()
    if await _has(docker, f"kapy.test/made:{mark}"):
        return
    tell("making the node image")
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "node.tar"
        _write_node(archive, Path(folder))
        await _import(docker, archive, "kapy.test/unprepared:latest")
    await _prepare(docker, mark)
    await _import(docker, root_file_system(), BALANCER)


def _mark() -> str:
    names = [program(one).name for one in ("kubernetes", "etcd", "coredns", "pause", "network")]
    texts = [one.read_text() for one in sorted((HERE / "node").iterdir())]
    texts.append((HERE / "network.yaml").read_text())
    said = "\n".join([*names, root_file_system().name, Path(__file__).read_text(), *texts])
    return hashlib.sha256(said.encode()).hexdigest()[:12]


async def _has(docker: Docker, image: str) -> bool:
    found = await docker.images.list()
    return any(image in (one.get("RepoTags") or ()) for one in found)


def _write_node(archive: Path, folder: Path) -> None:
    """The root file system with the node's files and the archives of the Pods' images in it."""
    with root_file_system().open("rb") as source, archive.open("wb") as target:
        while piece := source.read(1 << 22):
            target.write(piece)
    with tarfile.open(archive, "a") as made:
        node, kubernetes = HERE / "node", program("kubernetes")
        made.add(kubernetes, "usr/bin/kubelet")
        made.add(HERE / "network.yaml", NETWORK_FILE.lstrip("/"))
        made.add(node / "entrypoint", "usr/local/bin/entrypoint")
        made.add(node / "prepare", "opt/prepare")
        made.add(node / "kubelet.service", "etc/systemd/system/kubelet.service")
        toml = (node / "containerd.toml").read_text().replace("@PAUSE@", PAUSE).encode()
        entry = tarfile.TarInfo("opt/containerd.toml")
        entry.size = len(toml)
        made.addfile(entry, io.BytesIO(toml))
        for name, path in _pod_images(folder).items():
            made.add(path, f"opt/images/{name}.tar")


def _pod_images(folder: Path) -> Mapping[str, Path]:
    kubernetes, made = program("kubernetes"), dict[str, Path]()

    def image(name: str, tag: str, binary: Path, entry: str, more: Path | None = None) -> None:
        made[name] = folder / f"{name}.image.tar"
        with made[name].open("wb") as target:
            _write_image(target, tag, {f"usr/local/bin/{entry}": binary}, entry, more)

    for one in ("kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        image(one, f"registry.k8s.io/{one}:{VERSION}", kubernetes, one)
    proxy = f"registry.k8s.io/kube-proxy:{VERSION}"
    image("kube-proxy", proxy, kubernetes, "kube-proxy", _iptables(folder))
    image("etcd", f"registry.k8s.io/etcd:{ETCD}", program("etcd"), "etcd")
    image("coredns", f"registry.k8s.io/coredns/coredns:{COREDNS}", program("coredns"), "coredns")
    image("pause", PAUSE_IMAGE, program("pause"), "pause")
    image("network", NETWORK_IMAGE, program("network"), "network")
    return made


def _iptables(folder: Path) -> Path:
    target = folder / "iptables"
    target.mkdir()
    patterns = [f"./{one}" for one in _IPTABLES]
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


def _write_image(
    target: BinaryIO, tag: str, files: Mapping[str, Path], entry: str, more: Path | None
) -> None:
    """An archive of an image with one layer, as `docker save` writes it."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as made:
        for name, path in files.items():
            made.add(path, name)
        if more is not None:
            for one in sorted(more.iterdir()):
                made.add(one, one.name)
    content = layer.getvalue()
    digest = hashlib.sha256(content).hexdigest()
    paths = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": [f"/usr/local/bin/{entry}"], "Env": [f"PATH={paths}"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "history": [{}],
        }
    ).encode()
    identity = hashlib.sha256(config).hexdigest()
    manifest = [
        {"Config": f"{identity}.json", "RepoTags": [tag], "Layers": [f"{digest}/layer.tar"]}
    ]
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in (
            (f"{identity}.json", config),
            (f"{digest}/layer.tar", content),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


async def _import(docker: Docker, archive: Path, tag: str) -> None:
    """`docker import`, which the library has no method for."""
    repository, _, version = tag.rpartition(":")
    parameters = {"fromSrc": "-", "repo": repository, "tag": version}
    with archive.open("rb") as content:
        async with docker._query(
            "images/create", "POST", params=parameters, data=content
        ) as response:
            said = await response.text()
    assert "error" not in said, said


async def _prepare(docker: Docker, mark: str) -> None:
    config: dict[str, Any] = {
        "Image": "kapy.test/unprepared:latest",
        "Cmd": ["/bin/sh", "/opt/prepare"],
        "HostConfig": {"NetworkMode": "none"},
    }
    container = await docker.containers.create(config, name="kapy-prepares-a-node")
    try:
        await container.start()
        ended = await container.wait()
        said = "".join(await container.log(stdout=True, stderr=True))
        assert ended["StatusCode"] == 0, said[-2000:]
        changes = 'ENTRYPOINT ["/usr/local/bin/entrypoint"]'
        repository, _, version = NODE.rpartition(":")
        await container.commit(repository=repository, tag=version, changes=changes)
    finally:
        await container.delete(force=True, v=True)
    await docker.images.tag(NODE, "kapy.test/made", tag=mark)
    await docker.images.delete("kapy.test/unprepared:latest", force=True)
