"""Which DevClusters and DevMachines are made of memory; others may serve the rest."""

from __future__ import annotations

from kapy.kube import Document


def is_in_memory(document: Document) -> bool:
    """Whether a DevCluster or DevMachine has the in-memory backend."""
    backend = (document.get("spec") or {}).get("backend") or {}
    return backend.get("inMemory") is not None
