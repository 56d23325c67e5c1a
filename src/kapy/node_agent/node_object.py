"""The Node object of an agent: this machine's properties and its Ready condition."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from typing import Final

from kapy import __version__
from kapy.kube import Document

MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
FOLDER: Final = "kapy.cluster.x-k8s.io/folder"
"""The annotation with the folder of the plane, for programs on the same machine."""
_MAX_PODS: Final = 110


def capacity() -> Mapping[str, str]:
    """Return the capacity of this machine."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": str(os.cpu_count() or 1),
        "memory": f"{pages // 1024}Ki",
        "pods": str(_MAX_PODS),
    }


def node_object(name: str, address: str, folder: str, now: str) -> Document:
    """Return the Node, with its status."""
    system = platform.system().lower()
    machine = MACHINES.get(platform.machine(), platform.machine())
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": system,
        "kubernetes.io/arch": machine,
        "node-role.kubernetes.io/control-plane": "",
    }
    has = dict(capacity())
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {FOLDER: folder}},
        "spec": {},
        "status": {
            "capacity": has,
            "allocatable": has,
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": name},
            ],
            "conditions": [
                {
                    "type": type_,
                    "status": status,
                    "reason": reason,
                    "message": "the plane runs its Pods",
                    "lastHeartbeatTime": now,
                    "lastTransitionTime": now,
                }
                for type_, status, reason in (
                    ("MemoryPressure", "False", "SufficientMemory"),
                    ("DiskPressure", "False", "NoDiskPressure"),
                    ("PIDPressure", "False", "SufficientPID"),
                    ("Ready", "True", "PlaneReady"),
                )
            ],
            "nodeInfo": {
                "architecture": machine,
                "operatingSystem": system,
                "kernelVersion": platform.release(),
                "osImage": platform.platform(terse=True),
                "kubeletVersion": f"kapy {__version__}",
                "containerRuntimeVersion": "process://",
                "bootID": "", "machineID": "", "systemUUID": "", "kubeProxyVersion": "",
            },
        },
    }  # fmt: skip
