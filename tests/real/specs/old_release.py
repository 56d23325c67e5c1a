"""Old releases of upstream, as github.com has them: made from their sources."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from kapy.containers import Engine
from kapy.kube import Document
from kapy.kube.yaml import dump_all
from tests.real.specs import parts
from tests.real_clusters.image_archive import Start, layer, write_image

VERSIONS: Final = ("v1.11.1", "v1.12.1", "v1.13.0")
"""Releases of the minor versions that the specs look for, whichever of them runs."""
CERT_MANAGER: Final = "cert-manager.yaml"
_COMPONENTS: Final = {
    "core-components.yaml": ("core/config/default", "cluster-api-controller"),
    "bootstrap-components.yaml": (
        "bootstrap/kubeadm/config/default",
        "kubeadm-bootstrap-controller",
    ),
    "control-plane-components.yaml": (
        "controlplane/kubeadm/config/default",
        "kubeadm-control-plane-controller",
    ),
    "infrastructure-components-development.yaml": (
        "test/infrastructure/docker/config/default",
        "capd-manager",
    ),
}
"""The base of each file, and its image."""
MANAGERS: Final = {
    "cluster-api-controller": "core",
    "kubeadm-bootstrap-controller": "bootstrap-kubeadm",
    "kubeadm-control-plane-controller": "control-plane-kubeadm",
    "capd-manager": "infrastructure-dev",
}
"""kapy's names of upstream's images."""
_REGISTRY: Final = "registry.k8s.io/cluster-api"
_KINDS: Final = {"certificates": "Certificate", "issuers": "Issuer"}


def build(minor: str) -> None:
    """Have the programs of a minor version."""
    parts.clusterctl(_version(minor))
    for name in parts.MANAGERS:
        parts.manager(name, _version(minor))


def image_names(minor: str) -> list[str]:
    """The names of the managers' images of a minor version."""
    return [f"{_REGISTRY}/{image}:{_version(minor)}" for image in MANAGERS]


async def load_images(engine: Engine, minor: str, folder: Path) -> None:
    """Have these images in an engine: each is a program alone."""
    path = folder / "manager.tar"
    for tag, name in zip(image_names(minor), MANAGERS.values(), strict=True):
        program = parts.manager(name, _version(minor))
        with path.open("wb") as target:
            write_image(target, tag, [layer({"manager": program})], Start(("/manager",)))
        with path.open("rb") as content:
            await engine.load(content)
    path.unlink()


def _version(minor: str) -> str:
    return next(item for item in VERSIONS if item.startswith(f"{minor}."))


@cache
def file(version: str, name: str) -> bytes | None:
    """A file of a release; None where there is none."""
    if name == CERT_MANAGER:
        return dump_all(_cert_manager()).encode()
    if name == "metadata.yaml":
        return (parts.source() / name).read_bytes()
    if name.startswith("clusterctl-"):
        return parts.clusterctl(version).read_bytes()
    return _components(version, *_COMPONENTS[name]) if name in _COMPONENTS else None


def _components(version: str, base: str, image: str) -> bytes:
    source = parts.source(version)
    folder = source / base
    if not folder.exists():
        folder = source / "config" / "default"  # of core, before v1.14
    command = [str(parts.kustomize()), "build", "--load-restrictor", "LoadRestrictionsNone"]
    process = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=True)
    whole = rf"\g<1>{_REGISTRY}/{image}:{version}"
    text = re.sub(r"(\n *image: )\S+", whole, process.stdout)
    return text.replace("imagePullPolicy: Always", "imagePullPolicy: IfNotPresent").encode()


def _cert_manager() -> list[Document]:
    """The kinds of cert-manager that releases use; `certificates` does its work."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    namespace: Document = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "cert-manager"},
    }
    return [
        namespace,
        *(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{plural}.cert-manager.io"},
                "spec": {
                    "group": "cert-manager.io",
                    "scope": "Namespaced",
                    "names": {"plural": plural, "kind": kind},
                    "versions": [version],
                },
            }
            for plural, kind in _KINDS.items()
        ),
    ]
