"""The objects that a kubelet writes for its machine: the Node, and the static pods of a control
plane.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Final

from kapy.kube import Document
from kapy.kube.names import NODES, PODS
from kapy.providers.inmemory.workload.objects import SYSTEM, Objects

CONTROL_PLANE_ROLE: Final = "node-role.kubernetes.io/control-plane"
API_SERVER: Final = "kube-apiserver"
ETCD: Final = "etcd"
CONTROLLER_MANAGER: Final = "kube-controller-manager"
SCHEDULER: Final = "kube-scheduler"
COMPONENTS: Final = (API_SERVER, CONTROLLER_MANAGER, ETCD, SCHEDULER)

_HEALTH: Final = (
    ("Ready", "True", "KubeletReady"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID"),
)
_TAINTS: Final = [{"key": CONTROL_PLANE_ROLE, "effect": "NoSchedule"}]
_CAPACITY: Final = {"cpu": "4", "memory": "8Gi", "pods": "110"}
_UNKNOWN: Final = (
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
)


def ensure_node(
    objects: Objects,
    name: str,
    *,
    uid: str,
    provider_id: str,
    version: str,
    control_plane: bool,
    now: str,
) -> None:
    """Create a ready Node. uid: "" for a generated one. now: RFC 3339."""

    def make() -> Document:
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
        spec: Document = {"providerID": provider_id}
        if control_plane:
            labels[CONTROL_PLANE_ROLE] = ""
            spec["taints"] = _TAINTS
        status = {
            "addresses": [
                {"type": "InternalIP", "address": address_of(name)},
                {"type": "Hostname", "address": name},
            ],
            "conditions": _conditions(now),
            "nodeInfo": _node_info(version),
            "capacity": _CAPACITY,
            "allocatable": _CAPACITY,
        }
        metadata: Document = {"labels": labels} | ({"uid": uid} if uid else {})
        return {"metadata": metadata, "spec": spec, "status": status}

    objects.ensure(NODES, "", name, make)


def drop_node(objects: Objects, name: str) -> None:
    """Delete the Node of a deleted machine."""
    objects.drop(NODES, "", name)


def ensure_static_pod(
    objects: Objects, component: str, node: str, *, version: str, image: str, now: str
) -> None:
    """The mirror of a static pod that runs and is ready."""

    def make() -> Document:
        return {
            "metadata": {
                "labels": _labels(component),
                "annotations": _mirror(component, f"{version} {image}"),
            },
            "spec": {
                "nodeName": node,
                "hostNetwork": True,
                "priorityClassName": "system-node-critical",
                "containers": _containers(component, image),
            },
            "status": {**_pod_status(component, now), "hostIP": address_of(node)},
        }

    objects.ensure(PODS, SYSTEM, f"{component}-{node}", make)


def drop_static_pod(objects: Objects, component: str, node: str) -> None:
    """Remove the static Pod of a component that no longer runs on the node."""
    objects.drop(PODS, SYSTEM, f"{component}-{node}")


def address_of(node: str) -> str:
    """Return an address in 10.0.0.0/8 for a simulated machine, always the same for a name."""
    a, b, c = blake2b(node.encode(), digest_size=3).digest()
    return f"10.{a}.{b}.{c}"


@lru_cache(maxsize=256)
def _conditions(now: str) -> list[Document]:
    return [
        {
            "type": type_,
            "status": status,
            "reason": reason,
            "lastHeartbeatTime": None,
            "lastTransitionTime": now,
        }
        for type_, status, reason in _HEALTH
    ]


@lru_cache(maxsize=64)
def _node_info(version: str) -> Document:
    return {**dict.fromkeys(_UNKNOWN, ""), "kubeletVersion": version}


@lru_cache
def _labels(component: str) -> dict[str, str]:
    return {"component": component, "tier": "control-plane"}


@lru_cache(maxsize=256)
def _mirror(component: str, version: str) -> dict[str, str]:
    """Return the annotation of static pods: a drain does not evict them."""
    digest = blake2b(f"{component} {version}".encode(), digest_size=16).hexdigest()
    return {"kubernetes.io/config.mirror": digest, "kubernetes.io/config.source": "file"}


@lru_cache(maxsize=256)
def _containers(component: str, image: str) -> list[Document]:
    return [{"name": component, "image": image, "command": [component]}]


@lru_cache(maxsize=1024)
def _pod_status(component: str, now: str) -> Document:
    return {
        "phase": "Running",
        "startTime": now,
        "conditions": [
            {"type": type_, "status": "True", "lastTransitionTime": now}
            for type_ in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "name": component,
                "ready": True,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            }
        ],
    }
