"""Finds extensions that may update Machines in place, which a plan counts as replaced.

A plan does not know whether the InPlaceUpdates gate will be open, nor the extension's final answer.
So it shows the replacement, and lists the extensions that could avoid it.
"""

from __future__ import annotations

from kapy.api.extension_config import ExtensionConfig
from kapy.apps.plan.snapshot import Objects


def updating_handlers(objects: Objects, hook: str) -> list[str]:
    """Return the names of the handlers that decide on a kind of in-place update."""
    return sorted(
        handler.name
        for config in objects.all(ExtensionConfig)
        for handler in config.status.handlers
        if handler.request_hook.hook == hook
    )
