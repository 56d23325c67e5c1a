"""Gives the Docker provider's manager Pod the container engine of its node.

Access to an engine's socket means root on that machine. The Pod runs as root, because root owns the
socket; it has no capabilities all the same.
"""

from __future__ import annotations

from typing import Final

from kapy.apps.components.objects import with_labels
from kapy.kube import Document

MOUNTED: Final = "/var/run/docker.sock"
"""The path of the socket in the Pod."""
_ROOT: Final = {"runAsNonRoot": False, "runAsUser": 0, "runAsGroup": 0}
_PRIVILEGED: Final = {
    f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("audit", "enforce", "warn")
}
"""The Pod Security labels of upstream's Namespace: stricter levels refuse a socket of the node."""
_VOLUME: Final = "engine"


def with_engine(one: Document, socket: str) -> Document:
    """The object of the manager's components with the changes for the engine's socket."""
    if one["kind"] == "Namespace":
        return with_labels(one, _PRIVILEGED)
    if one["kind"] != "Deployment":
        return one
    pod = one["spec"]["template"]["spec"]
    source = {"path": socket, "type": "Socket"}
    changed = {
        **pod,
        "containers": [_mounting(container) for container in pod["containers"]],
        "securityContext": {**pod["securityContext"], **_ROOT},
        "volumes": [*pod["volumes"], {"name": _VOLUME, "hostPath": source}],
    }
    template = {**one["spec"]["template"], "spec": changed}
    return {**one, "spec": {**one["spec"], "template": template}}


def _mounting(container: Document) -> Document:
    mounts = [*container["volumeMounts"], {"mountPath": MOUNTED, "name": _VOLUME}]
    return {
        **container,
        "env": [*container["env"], {"name": "DOCKER_HOST", "value": f"unix://{MOUNTED}"}],
        "securityContext": {**container["securityContext"], **_ROOT},
        "volumeMounts": mounts,
    }
