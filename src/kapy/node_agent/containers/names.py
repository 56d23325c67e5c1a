"""Names and labels of the containers of a plane. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec

from kapy.kube import Document

PLANE: Final = "cluster.x-k8s.io/kapy-plane"
"""The label with the folder of the plane."""
POD_UID: Final = "io.kubernetes.pod.uid"
POD_NAME: Final = "io.kubernetes.pod.name"
POD_NAMESPACE: Final = "io.kubernetes.pod.namespace"
CONTAINER: Final = "io.kubernetes.container.name"
RESTARTS: Final = "io.kubernetes.container.restartCount"
SPEC: Final = "cluster.x-k8s.io/kapy-container-spec"
"""The label with the digest of the container's specification."""
JOINED: Final = "cluster.x-k8s.io/kapy-network-of"
"""The label with the id of the container whose network another container uses."""

_OTHERS: Final = re.compile(r"[^a-zA-Z0-9_.-]+")
_POD_FIELDS: Final = ("securityContext", "hostNetwork", "hostPID", "hostAliases", "volumes")


def plane_digest(folder: Path) -> str:
    """Names the plane of a folder in few characters."""
    return blake2b(str(folder).encode(), digest_size=4).hexdigest()


def network_name(folder: Path) -> str:
    """Return the name of a plane's network and of its bridge."""
    return f"kapy-{plane_digest(folder)}"


def container_name(folder: Path, pod: Document, container: str, restarts: int) -> str:
    """Return the name of a container, unique for its plane, Pod and start."""
    meta = pod["metadata"]
    text = f"{folder}\0{meta['uid']}\0{container}\0{restarts}"
    digest = blake2b(text.encode(), digest_size=5).hexdigest()
    readable = _OTHERS.sub("-", f"{meta['namespace']}-{meta['name']}-{container}")
    return f"kapy-{readable[:150]}-{digest}"


def labels_of(
    folder: Path, pod: Document, container: str, restarts: int, spec: str
) -> dict[str, str]:
    """Return the labels of a container."""
    meta = pod["metadata"]
    return {
        PLANE: str(folder),
        POD_UID: meta["uid"],
        POD_NAME: meta["name"],
        POD_NAMESPACE: meta["namespace"],
        CONTAINER: container,
        RESTARTS: str(restarts),
        SPEC: spec,
    }


def spec_digest(
    pod: Document, container: Document, server: tuple[str, int] | None, address: str = ""
) -> str:
    """Return a digest of the settings that cannot change while a container runs: its specification,
    the address of the API server, and the address of the Pod.

    Secrets and ConfigMaps in variables are not part of it: as with a kubelet, their changes do not
    restart a container.
    """
    spec: Mapping[str, Any] = pod["spec"]
    result = [container, [spec.get(field) for field in _POD_FIELDS], server, address]
    encoded = msgspec.json.encode(result, order="deterministic")
    return blake2b(encoded, digest_size=8).hexdigest()
