"""The fields of a KubeadmControlPlane that may change after its creation.

The rest would have to change in a running control plane, or in all of its machines at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, forbidden
from kapy.kube.meta import to_document
from kapy.kube.patch.merge_patch import difference

_CONFIG: Final = "spec.kubeadmConfigSpec"

# A listed field may be changed, added and removed, including all fields in it.
_ALLOWED: Final = frozenset(
    (
        "metadata",
        *(
            f"{_CONFIG}.clusterConfiguration.{name}"
            for name in (
                "etcd",
                "dns",
                "imageRepository",
                "featureGates",
                "apiServer",
                "controllerManager",
                "scheduler",
                "certificateValidityPeriodDays",
                "encryptionAlgorithm",
            )
        ),
        *(
            f"{_CONFIG}.initConfiguration.{name}"
            for name in (
                "nodeRegistration",
                "patches",
                "skipPhases",
                "bootstrapTokens",
                "localAPIEndpoint",
                "timeouts",
            )
        ),
        *(
            f"{_CONFIG}.joinConfiguration.{name}"
            for name in (
                "nodeRegistration",
                "patches",
                "skipPhases",
                "caCertPath",
                "controlPlane",
                "discovery",
                "timeouts",
            )
        ),
        *(
            f"{_CONFIG}.{name}"
            for name in (
                "bootCommands",
                "preKubeadmCommands",
                "postKubeadmCommands",
                "files",
                "verbosity",
                "users",
                "ntp",
                "ignition",
                "diskSetup",
                "format",
                "mounts",
            )
        ),
        "spec.machineTemplate.metadata",
        "spec.machineTemplate.spec",
        "spec.replicas",
        "spec.version",
        "spec.remediation",
        "spec.machineNaming",
        "spec.rollout",
    )
)


def forbidden_changes(old: KubeadmControlPlane, new: KubeadmControlPlane) -> list[FieldError]:
    """Return an error for each changed field that is immutable."""
    changed = _disallowed_paths("", difference(to_document(old), to_document(new)))
    return [forbidden(path, "cannot be modified") for path in sorted(changed)]


def _disallowed_paths(path: str, patch: Document) -> Iterator[str]:
    for name, value in patch.items():
        here = f"{path}.{name}" if path else name
        if here in _ALLOWED:
            continue
        if isinstance(value, dict):
            yield from _disallowed_paths(here, value)
        else:
            yield here
