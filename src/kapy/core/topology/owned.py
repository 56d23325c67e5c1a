"""What a topology made, and nobody else."""

from __future__ import annotations

from kapy.api.names import Label
from kapy.kube import Document


def is_owned(document: Document) -> bool:
    """Whether a topology made it."""
    return Label.TOPOLOGY_OWNED in (document["metadata"].get("labels") or {})
