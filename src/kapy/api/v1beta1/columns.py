"""What `kubectl get` shows of each of our kinds when it asks for v1beta1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kapy.api.columns import AGE, CLUSTER, PHASE, Column, version

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "Machine": (
        CLUSTER,
        Column("NodeName", ".status.nodeRef.name", "The Node that the Machine became"),
        Column("ProviderID", ".spec.providerID", "The infrastructure's name of the machine"),
        PHASE,
        AGE,
        version(".spec.version"),
    ),
}
