"""Gives the Docker provider's manager Pod the container engine of its node.

Access to an engine's socket means root on that machine. The Pod runs as root, because root owns the
socket; it has no capabilities all the same.
"""

from __future__ import annotations

from typing import Final

from kapy.apps.components.objects import with_labels
from kapy.kube import Document

MOUNT_PATH: Final = "/var/run/docker.sock"
"""The path of the socket in the Pod."""
_ROOT: Final = {"runAsNonRoot": False, "runAsUser": 0, "runAsGroup": 0}
_PRIVILEGED: Final = {
    f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("audit", "enforce", "warn")
}
"""The Pod Security labels of upstream's Namespace: stricter levels refuse a socket of the node."""
_VOLUME: Final = "engine"


def with_engine(document: Document, socket: str) -> Document:
    """The object of the manager's components with the changes for the engine's socket."""
    if document["kind"] == "Namespace":
        return with_labels(document, _PRIVILEGED)
    if document["kind"] != "Deployment":
        return document
    pod = document["spec"]["template"]["spec"]
    source = {"path": socket, "type": "Socket"}
    changed = {
        **pod,
        "containers": [_with_socket_mount(container) for container in pod["containers"]],
        "securityContext": {**pod["securityContext"], **_ROOT},
        "volumes": [*pod["volumes"], {"name": _VOLUME, "hostPath": source}],
    }
    template = {**document["spec"]["template"], "spec": changed}
    return {**document, "spec": {**document["spec"], "template": template}}


def _with_socket_mount(container: Document) -> Document:
    mounts = [*container["volumeMounts"], {"mountPath": MOUNT_PATH, "name": _VOLUME}]
    return {
        **container,
        "env": [*container["env"], {"name": "DOCKER_HOST", "value": f"unix://{MOUNT_PATH}"}],
        "securityContext": {**container["securityContext"], **_ROOT},
        "volumeMounts": mounts,
    }
