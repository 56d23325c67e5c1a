"""The images of a cluster's own Pods: kubeadm's own, or those that a ClusterConfiguration names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kapy.kube.yaml import YamlError, load
from kapy.providers.inmemory.workload.addons import minor

REPOSITORY: Final = "registry.k8s.io"
_ETCD: Final = {
    29: "3.5.10-0",
    30: "3.5.12-0",
    31: "3.5.15-0",
    32: "3.5.16-0",
    33: "3.5.21-0",
    34: "3.6.5-0",
    35: "3.6.6-0",
    36: "3.6.8-0",
}
_NAMES_IMAGES: Final = re.compile(
    r"imageTag:|imageRepository: (?!registry\.k8s\.io$)", re.MULTILINE
)


class Images(NamedTuple):
    """The repositories and tags of images. etcd_tag, dns_tag: "" for kubeadm's default."""

    repository: str = REPOSITORY
    etcd_repository: str = REPOSITORY
    etcd_tag: str = ""
    dns_repository: str = f"{REPOSITORY}/coredns"
    dns_tag: str = ""

    def of(self, component: str, version: str) -> str:
        """Return the image of a component in a Kubernetes version (with its `v`)."""
        if component == "etcd":
            return f"{self.etcd_repository}/etcd:{self.etcd_tag or etcd_tag(version)}"
        return f"{self.repository}/{component}:{version.replace('+', '_')}"

    def coredns(self, tag: str) -> str:
        """Return the image of CoreDNS. tag: kubeadm's own."""
        return f"{self.dns_repository}/coredns:{self.dns_tag or tag}"


USUAL: Final = Images()


def etcd_tag(version: str) -> str:
    """Return the etcd version of kubeadm for a Kubernetes version, or the nearest known one."""
    number = minor(version)
    return _ETCD[min(max(number, min(_ETCD)), max(_ETCD))]


@lru_cache(maxsize=1024)
def images_of(configuration: str) -> Images:
    """Return the images that a ClusterConfiguration names. Most name none, and are not parsed."""
    if not _NAMES_IMAGES.search(configuration):
        return USUAL
    try:
        result = load(configuration)
    except YamlError:
        return USUAL
    repository = _text(result, "imageRepository") or REPOSITORY
    local, dns = _part(_part(result, "etcd"), "local"), _part(result, "dns")
    # The official image of CoreDNS is a folder deeper than the others.
    usual = USUAL.dns_repository if repository == REPOSITORY else repository
    return Images(
        repository=repository,
        etcd_repository=_text(local, "imageRepository") or repository,
        etcd_tag=_text(local, "imageTag"),
        dns_repository=_text(dns, "imageRepository") or usual,
        dns_tag=_text(dns, "imageTag"),
    )


def _part(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: Any, name: str) -> str:
    result = _part(value, name)
    return result if isinstance(result, str) else ""
