"""The handlers that an ExtensionConfig offers to callers."""

from __future__ import annotations

from typing import Any

from kapy.kube import Document


def registered_handlers(config: Document | None) -> Any:
    """Return the spec and handlers of an ExtensionConfig; None if it is deleted or being deleted.

    When this value changes, callers that wait for an extension, or that used its answer, must
    reconcile again.
    """
    if config is None or config["metadata"].get("deletionTimestamp"):
        return None
    return config["spec"], (config.get("status") or {}).get("handlers")
