"""The API version of kubeadm's configuration that a Kubernetes version reads."""

from __future__ import annotations

from typing import Final

from kapy.kube.errors import KapyError
from kapy.kube.version import parse_tolerant

V1BETA3: Final = "kubeadm.k8s.io/v1beta3"
V1BETA4: Final = "kubeadm.k8s.io/v1beta4"


class UnsupportedVersion(KapyError):
    """No kubeadm configuration is known for this Kubernetes version."""


def kubeadm_api_version(kubernetes_version: str) -> str:
    """`kubeadm.k8s.io/v1beta3` from v1.22 on, `v1beta4` from v1.31 on (pre-releases too).

    Raises UnsupportedVersion, and what `parse_tolerant` raises for text that is no version.
    """
    version = parse_tolerant(kubernetes_version)
    release = (version.major, version.minor)
    if release < (1, 22):
        raise UnsupportedVersion(
            "the bootstrap provider for kubeadm doesn't support Kubernetes version lower than"
            " v1.22.0"
        )
    return V1BETA3 if release < (1, 31) else V1BETA4
