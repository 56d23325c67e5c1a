"""Coverage of random runs: which faults happened in which states of the controllers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from kapy.kube import Document

_KINDS: Final = ("Cluster", "KubeadmControlPlane", "MachineDeployment", "MachinePool")
_TYPES: Final = (
    "Available",
    "Deleting",
    "Remediating",
    "RollingOut",
    "ScalingDown",
    "ScalingUp",
    "TopologyReconciled",
)
_NAMES: Final = re.compile(r"(/namespaces/)[^/]+|(/(?!v\d|apis|api\b)[a-z]+)/[^/]*[0-9-][^/]*")


def state_of(documents: Callable[[str], Iterable[Document]]) -> str:
    """Return the state of the controllers: the reasons of the conditions that tell their work.

    documents: returns the stored objects of a kind.
    """
    parts = set()
    for kind in _KINDS:
        for document in documents(kind):
            for condition in (document.get("status") or {}).get("conditions") or ():
                if condition["type"] in _TYPES:
                    parts.add(f"{kind}.{condition['type']}={condition.get('reason')}")
    return " ".join(sorted(parts))


def pair_of(fault: str, manager: str, request: str, state: str) -> str:
    """Return a pair of a fault, at a request without its names, and a state."""
    plain = _NAMES.sub(lambda match: f"{match[1] or match[2] + '/'}*", request)
    return f"{fault} {manager} {plain} | {state}"
