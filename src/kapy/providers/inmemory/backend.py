"""Selects the objects of the in-memory backend, and names the annotations on them."""

from __future__ import annotations

from typing import Final

from kapy.kube import Document

VERSION: Final = "machine.inmemory.infrastructure.cluster.x-k8s.io/version"
FAILURE_DOMAIN: Final = "machine.inmemory.infrastructure.cluster.x-k8s.io/failure-domain"
"""Annotations of a DevMachine of a pool: what it was made for."""


def is_in_memory(document: Document) -> bool:
    """Return whether a DevCluster, DevMachine or DevMachinePool has the in-memory backend."""
    backend = (document.get("spec") or {}).get("backend") or {}
    return backend.get("inMemory") is not None
