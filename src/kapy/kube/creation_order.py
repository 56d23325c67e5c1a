"""What others depend on is created first: Namespaces, definitions, storage, identities.

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
    """Where a kind stands; those that nothing depends on stand together at the end."""
    return _RANKS.get(kind, len(_RANKS))
