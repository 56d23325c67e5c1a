"""A Pod with minimal privileges, and with probes."""

from __future__ import annotations

from typing import Final

from kapy.kube import Document

_NON_ROOT_UID: Final = 65532
_RUN_AS: Final = {"runAsNonRoot": True, "runAsUser": _NON_ROOT_UID, "runAsGroup": _NON_ROOT_UID}
POD: Final[Document] = {**_RUN_AS, "seccompProfile": {"type": "RuntimeDefault"}}
"""Security context of the pod."""
CONTAINER: Final[Document] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "privileged": False,
    "readOnlyRootFilesystem": True,
    **_RUN_AS,
}
"""Security context of its container."""
TOLERATIONS: Final = [
    {"effect": "NoSchedule", "key": f"node-role.kubernetes.io/{item}"}
    for item in ("master", "control-plane")
]
HEALTH: Final = "healthz"
SELECTOR_LABELS: Final = {"control-plane": "controller-manager"}
"""Labels of managers' pods and Deployments, beside that of their provider."""


def port(name: str, number: int) -> Document:
    """Return a port that the container listens on."""
    return {"containerPort": number, "name": name, "protocol": "TCP"}


def probe(path: str) -> Document:
    """Return a probe for kubelets."""
    return {"httpGet": {"path": path, "port": HEALTH}}


def probes() -> Document:
    """Liveness and readiness probes, as fields of a container."""
    return {"livenessProbe": probe("/healthz"), "readinessProbe": probe("/readyz")}
