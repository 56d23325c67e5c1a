"""Containers that stand for machines of one's own: node images with OpenSSH."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from aiodocker import Docker

from kapy.containers import Engine
from kapy.kube import Key
from kapy.providers.docker.containers import WORKER, Wanted
from kapy.providers.docker.host import Host as ContainerHost
from tests.real_clusters import images
from tests.real_clusters.parts import (
    HERE,
    NEW,
    OLD,
    Release,
    debian_file_system,
    kubernetes,
    root_file_system,
)

PACKAGES: Final = "openssh-server,sudo,curl"
_LEFT_OUT: Final = ("./var/", "./usr/share/doc/", "./usr/share/locale/", "./usr/share/man/")
KUBEADM: Final = HERE / "host-kubeadm"
"""kubeadm of a host. It runs the kubelet at KUBELET, whose program is all of Kubernetes."""
KUBELET: Final = "/usr/bin/kubelet"


def ssh_file_system() -> Path:
    """The archive of a file system with OpenSSH, made if the cache has it not."""
    return debian_file_system("ssh", PACKAGES)


async def ensure_image(engine: Engine, release: Release) -> str:
    """Have the image of a host with Kubernetes of a release.

    That of the old release has the new one, too: its container images, and its programs in
    /opt/kubernetes/VERSION, beside those of the old one.
    """
    name = f"kapy.test/host:{release.version}"
    more = NEW if release is OLD else None
    mark = images._mark(
        ssh_file_system().name,
        images.node_image(release),
        (HERE / "prepare-host").read_text(),
        KUBEADM.read_text(),
        kubernetes(release).name,
        "" if more is None else kubernetes(more).name,
    )
    docker = Docker(engine.address)
    try:
        if not await images._has(docker, name, mark):
            files = partial(_files, more)
            await images._prepare(docker, images.node_image(release), name, mark, files)
    finally:
        await docker.close()
    return name


def _files(more: Release | None, folder: Path) -> Mapping[str, Path]:
    ssh_files = _files_of_ssh(folder)
    if more is None:
        return ssh_files
    added = dict(images._files_of_release(more, folder))
    program = f"opt/kubernetes/{more.version}/kubelet"
    return {program: added.pop("usr/bin/kubelet"), **added, **ssh_files}


def _files_of_ssh(folder: Path) -> Mapping[str, Path]:
    """The files of the packages that a node lacks, and what prepares the image."""
    target = folder / "ssh"
    target.mkdir()
    names = _names(ssh_file_system()) - _names(root_file_system())
    wanted = sorted(name for name in names if not name.startswith(_LEFT_OUT))
    (folder / "names").write_text("".join(f"{name}\n" for name in wanted))
    subprocess.run(
        [
            *("tar", "xpf", ssh_file_system(), "-C", target, "--no-recursion"),
            "-T",
            folder / "names",
        ],
        check=True,
        capture_output=True,
    )
    files = {
        str(path.relative_to(target)): path
        for path in sorted(target.rglob("*"))
        if path.is_symlink() or path.is_file()
    }
    return {**files, "opt/prepare": HERE / "prepare-host", "opt/kubeadm": KUBEADM}


def _names(archive: Path) -> set[str]:
    listed = subprocess.run(["tar", "tf", archive], check=True, capture_output=True, text=True)
    return set(listed.stdout.splitlines())


async def start_hosts(
    engine: Engine, names: Sequence[str], public_key: str, release: Release = OLD
) -> dict[str, str]:
    """Start hosts, and return the address of each as soon as SSH answers."""
    image = await ensure_image(engine, release)
    host = ContainerHost(lambda: engine, {})
    cluster = Key("default", "machines-of-ones-own")
    addresses = {}
    for name in names:
        await host.make(Wanted(name=name, cluster=cluster, role=WORKER, image=image))
        await _until(engine, name, "systemctl is-active --quiet containerd")
        folder = "/root/.ssh"
        keys = f"umask 077; mkdir -p {folder}; echo '{public_key}' > {folder}/authorized_keys"
        await _until(engine, name, f"{keys}; systemctl disable --quiet --now haproxy")
        await _until(engine, name, "systemctl start ssh")
        said = await engine.run(
            name, ["/bin/sh", "-c", "ip -4 -o address show dev eth0 | awk '{print $4}'"]
        )
        addresses[name] = said.stdout.split("/")[0].strip()
    return addresses


async def _until(engine: Engine, name: str, script: str) -> None:
    async with asyncio.timeout(300):
        while True:
            if not (await engine.run(name, ["/bin/sh", "-c", script])).exit_code:
                return
            await asyncio.sleep(0.5)  # nothing tells when a service runs


async def traces(engine: Engine, name: str) -> str:
    """Return the traces of a cluster on a host that its user would look for; "" for none."""
    script = r"""
for one in kubelet kube-apiserver kube-controller kube-scheduler kube-proxy etcd haproxy; do
    pgrep -x "$one" >/dev/null && echo "process $one"
done
ls -d /etc/kubernetes/*.conf /etc/kubernetes/manifests/* /var/lib/etcd/* /var/lib/kubelet/* \
    /etc/cni/net.d/* /var/lib/kapy-hosts/claim /var/lib/kapy-hosts/boot 2>/dev/null
iptables-save 2>/dev/null | grep -E 'KUBE|CNI-' | head -n 3
ip -o link | grep -oE '(veth[0-9a-f]{8}|cni0)' | head -n 3
ctr -n k8s.io containers ls -q
true"""
    return (await engine.run(name, ["/bin/sh", "-c", script])).stdout.strip()


async def import_image(engine: Engine, name: str, archive: Path) -> None:
    """Give a host an image that it cannot pull."""
    docker = Docker(engine.address)
    try:
        with tarfile.open(archive.with_suffix(".wrapped"), "w") as target:
            target.add(archive, "opt/image.tar")
        await images._put(docker, name, archive.with_suffix(".wrapped"))
    finally:
        await docker.close()
    command = ["ctr", "-n", "k8s.io", "images", "import", "/opt/image.tar"]
    done = await engine.run(name, command)
    assert not done.exit_code, done


async def holders(engine: Engine, names: Sequence[str], address: str) -> list[str]:
    """Return the names of the hosts that have an address on their network interface."""
    holding = []
    for name in names:
        done = await engine.run(name, ["ip", "-4", "-o", "address", "show", "dev", "eth0"])
        if f" {address}/" in done.stdout:
            holding.append(name)
    return holding


async def set_cable(engine: Engine, name: str, state: str) -> None:
    """Set the far end of a host's network cable "up" or "down": what is sent is lost."""
    said = await engine.run(name, ["cat", "/sys/class/net/eth0/iflink"])
    await asyncio.to_thread(_set_link, int(said.stdout), state)


def _set_link(index: int, state: str) -> None:
    links = json.loads(subprocess.check_output(["ip", "-json", "link"]))
    name = next(link["ifname"] for link in links if link["ifindex"] == index)
    subprocess.run(["ip", "link", "set", "dev", name, state], check=True)
