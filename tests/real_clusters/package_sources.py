"""Kubernetes as an archive and as signed Debian packages, from a web server of the test."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import Final

from aiohttp import web

from tests.real_clusters.host_containers import KUBEADM, KUBELET
from tests.real_clusters.parts import Release, kubernetes

_KUBECTL: Final = f'#!/bin/bash\nexec -a kubectl {KUBELET} "$@"\n'
_KEY: Final = "%no-protection\nKey-Type: eddsa\nKey-Curve: ed25519\nName-Real: packages\n%commit\n"
_INSTALLED: Final = "/usr/local/bin/kubelet"
"""The path at which a host puts the kubelet of an archive."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A tar archive of a release. sha256: its checksum in hexadecimal."""

    name: str
    sha256: str


def write_archive(folder: Path, release: Release) -> Archive:
    """Write an archive with kubeadm and kubelet."""
    programs = folder / "archive" / "kubernetes" / "node" / "bin"
    programs.mkdir(parents=True)
    _copy(kubernetes(release), programs / "kubelet")
    _write(programs / "kubeadm", KUBEADM.read_text().replace(KUBELET, _INSTALLED))
    path = folder / f"kubernetes-{release.version}-amd64.tar"
    command = ["tar", "cf", str(path), "-C", str(folder / "archive"), "kubernetes"]
    subprocess.run(command, check=True)
    return Archive(path.name, hashlib.sha256(path.read_bytes()).hexdigest())


def write_repository(folder: Path, release: Release) -> str:
    """Write a repository of packages into `deb`, and return the key that signs it."""
    target = folder / "deb"
    target.mkdir()
    names = ("kubelet", "kubeadm", "kubectl")
    content = "\n".join(_write_package(folder, target, name, release) for name in names)
    (target / "Packages").write_text(content)
    digest = hashlib.sha256(content.encode()).hexdigest()
    date = formatdate(usegmt=True)
    text = f"Date: {date}\nSHA256:\n {digest} {len(content.encode())} Packages\n"
    (target / "Release").write_text(text)
    return _sign(folder / "gpg", target / "Release", target / "InRelease")


def _write_package(folder: Path, target: Path, name: str, release: Release) -> str:
    """Write a package of one program, and return its entry in the list of packages."""
    number = release.version.removeprefix("v")
    root = folder / "packages" / name
    program = root / "usr" / "bin" / name
    program.parent.mkdir(parents=True)
    match name:
        case "kubelet":
            _copy(kubernetes(release), program)
        case "kubeadm":
            _write(program, KUBEADM.read_text())
        case _:
            _write(program, _KUBECTL)
    control = (
        f"Package: {name}\nVersion: {number}-1.1\nArchitecture: amd64\n"
        f"Maintainer: Test <test@example.com>\nDescription: {name} of Kubernetes\n"
    )
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN" / "control").write_text(control)
    path = target / f"{name}_{number}-1.1_amd64.deb"
    subprocess.run(["dpkg-deb", "--build", "-Znone", root, path], check=True, capture_output=True)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"{control}Filename: {path.name}\nSize: {path.stat().st_size}\nSHA256: {digest}\n"


def _sign(home: Path, release: Path, signed: Path) -> str:
    home.mkdir(mode=0o700)
    command = ["gpg", "--homedir", str(home), "--batch", "--yes"]
    subprocess.run(
        [*command, "--generate-key"], input=_KEY, text=True, check=True, capture_output=True
    )
    try:
        sign = ["--clearsign", "--output", str(signed), str(release)]
        subprocess.run([*command, *sign], check=True, capture_output=True)
        exported = subprocess.run(
            [*command, "--armor", "--export"], check=True, capture_output=True, text=True
        )
    finally:
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "gpg-agent"], check=False)
    return exported.stdout


def _copy(program: Path, target: Path) -> None:
    shutil.copyfile(program, target)
    target.chmod(0o755)


def _write(target: Path, text: str) -> None:
    target.write_text(text)
    target.chmod(0o755)


@asynccontextmanager
async def web_server(folder: Path, address: str) -> AsyncIterator[str]:
    """Serve a folder at an address of this machine; the value is its URL."""
    application = web.Application()
    application.router.add_static("/", folder)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, address, 0).start()
        port = runner.addresses[0][1]
        yield f"http://{address}:{port}"
    finally:
        await runner.cleanup()
