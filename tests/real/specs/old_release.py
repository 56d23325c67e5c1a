"""Old releases of upstream, as github.com has them: made from their sources."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from typing import Final

from kapy.kube import Document
from kapy.kube.yaml import dump_all
from tests.real.specs import parts

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
_KINDS: Final = {"certificates": "Certificate", "issuers": "Issuer"}


def build(minor: str) -> None:
    """Have the programs of a minor version."""
    version = next(item for item in VERSIONS if item.startswith(f"{minor}."))
    parts.clusterctl(version)
    for name in parts.MANAGERS:
        parts.manager(name, version)


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
    whole = rf"\g<1>registry.k8s.io/cluster-api/{image}:{version}"
    return re.sub(r"(\n *image: )\S+", whole, process.stdout).encode()


def _cert_manager() -> list[Document]:
    """The kinds of cert-manager that releases use; `management` does its work."""
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
