"""What an ExtensionConfig offers to those who ask extensions."""

from __future__ import annotations

from typing import Any

from kapy.kube import Document


def offer(config: Document | None) -> Any:
    """Which handlers it has, where they are and for whom; None when it is gone, or goes. Who
    waits for an extension, or was told something by one, has to look again when this changes."""
    if config is None or config["metadata"].get("deletionTimestamp"):
        return None
    return config["spec"], (config.get("status") or {}).get("handlers")
