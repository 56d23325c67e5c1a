"""The creation order of kinds: Namespaces, definitions, storage and identities come first.

Upstream: `util/resource` (SortForCreate), which took it from Helm's order.
"""

from __future__ import annotations

from typing import Final

_FIRST: Final = (
    "Namespace",
    "CustomResourceDefinition",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Secret",
    "ConfigMap",
    "ServiceAccount",
    "LimitRange",
    "Pod",
    "ReplicaSet",
    "Endpoint",
)
_RANKS: Final = {kind: rank for rank, kind in enumerate(_FIRST)}


def creation_rank(kind: str) -> int:
    """Return the rank of a kind; kinds outside the list share the last rank."""
    return _RANKS.get(kind, len(_RANKS))
