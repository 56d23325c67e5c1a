"""Recognize objects that a topology created."""

from __future__ import annotations

from kapy.api.names import Label
from kapy.kube import Document


def is_owned(document: Document) -> bool:
    """Return whether a topology created the object."""
    return Label.TOPOLOGY_OWNED in (document["metadata"].get("labels") or {})
