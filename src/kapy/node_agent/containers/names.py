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
"""The label with the digest of all that a container was made from."""
JOINED: Final = "cluster.x-k8s.io/kapy-network-of"
"""The label with the id of the container whose network another container uses."""

_OTHERS: Final = re.compile(r"[^a-zA-Z0-9_.-]+")
_POD_FIELDS: Final = ("securityContext", "hostNetwork", "hostPID", "hostAliases", "volumes")


def plane_digest(folder: Path) -> str:
    """Names the plane of a folder in few characters."""
    return blake2b(str(folder).encode(), digest_size=4).hexdigest()


def network_name(folder: Path) -> str:
    """The network of a plane, which is the name of its bridge, too."""
    return f"kapy-{plane_digest(folder)}"


def container_name(folder: Path, pod: Document, container: str, restarts: int) -> str:
    """The name of a container. Another plane, Pod or start has another one."""
    meta = pod["metadata"]
    text = f"{folder}\0{meta['uid']}\0{container}\0{restarts}"
    digest = blake2b(text.encode(), digest_size=5).hexdigest()
    readable = _OTHERS.sub("-", f"{meta['namespace']}-{meta['name']}-{container}")
    return f"kapy-{readable[:150]}-{digest}"


def labels_of(
    folder: Path, pod: Document, container: str, restarts: int, spec: str
) -> dict[str, str]:
    """The labels of a container."""
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
    """Names all that a running container cannot take in: its specification, where the plane is, and
    the address of the Pod.

    Secrets and ConfigMaps in variables are no part of it: like a kubelet, nobody ends a container
    because one of them has changed.
    """
    spec: Mapping[str, Any] = pod["spec"]
    result = [container, [spec.get(field) for field in _POD_FIELDS], server, address]
    encoded = msgspec.json.encode(result, order="deterministic")
    return blake2b(encoded, digest_size=8).hexdigest()
